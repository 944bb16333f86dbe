import * as z from 'zod'
import { REQUESTED_BY } from '../../core/policies/requested-by.ts'
import { configRequester } from '../../core/relations/requester-names.ts'
import { Namespace, ObjectName } from '../../platform/base/names.ts'
import { type AuthorizationPolicy, AuthorizationPolicySpec, authorizationPolicy } from './authorization-policy.ts'
import type { PolicyOwner } from './beacon-policies.ts'

/** An AuthorizationPolicy as a person writes it. Its default namespace is the application's. */
export const RawPolicy = z.strictObject({
  apiVersion: z.literal('security.istio.io/v1'),
  kind: z.literal('AuthorizationPolicy', 'expected AuthorizationPolicy, which is the only supported kind'),
  metadata: z.strictObject({
    name: ObjectName,
    namespace: Namespace.optional(),
    labels: z.record(z.string(), z.string()).optional(),
    annotations: z.record(z.string(), z.string()).optional(),
  }),
  spec: AuthorizationPolicySpec.optional(),
})
export type RawPolicy = z.infer<typeof RawPolicy>

/** Builds the policies that a person wrote. Their default namespace is the owner's. */
export const rawPolicies = (owner: PolicyOwner, policies: readonly RawPolicy[]): AuthorizationPolicy[] =>
  policies.map(({ metadata, spec = {} }) =>
    authorizationPolicy({
      metadata: {
        name: metadata.name,
        namespace: metadata.namespace ?? owner.namespace,
        labels: { ...metadata.labels, ...owner.labels },
        annotations: { ...metadata.annotations, [REQUESTED_BY]: configRequester(owner) },
      },
      spec,
    }),
  )
