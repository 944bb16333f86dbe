import * as z from 'zod'

/** The reason why an event of Knative's is ignored. */
export type Ignored = { ignored: string }

/** The data of one of our events, and the name of the function it is for. */
export type Translated = { name: string; data: { application: unknown } & Record<string, unknown> }

/** The fields read of a Pod, a Lease or a ConfigMap; all others are unchecked. */
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
