import * as z from 'zod'

/** The reason why an event of Knative's is ignored. */
export type Ignored = { ignored: string }

/** The data of an event of meshstep, and the name of its function. */
export type Translated = { name: string; data: { application: unknown } & Record<string, unknown> }

/** The relevant fields of a Pod, a Lease or a ConfigMap. Other fields are not checked. */
export const Resource = z.object({
  kind: z.string(),
  metadata: z.object({
    name: z.string(),
    namespace: z.string().min(1),
    uid: z.string().optional(),
    creationTimestamp: z.string().optional(),
    deletionTimestamp: z.string().optional(),
    labels: z.record(z.string(), z.string()).optional(),
    annotations: z.record(z.string(), z.string()).optional(),
    ownerReferences: z
      .array(z.object({ kind: z.string(), name: z.string(), controller: z.boolean().optional() }))
      .optional(),
  }),
  spec: z
    .object({ holderIdentity: z.string().optional(), leaseTransitions: z.int().optional() })
    .optional()
    .catch(undefined),
  status: z.object({ phase: z.string().optional() }).optional().catch(undefined),
  data: z.record(z.string(), z.string()).optional(),
})
export type Resource = z.infer<typeof Resource>
