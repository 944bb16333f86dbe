import { REQUESTED_BY } from '../policies/requested-by.ts'
import { type AuthorizationPolicy, authorizationPolicy } from './authorization-policy.ts'
import type { RawPolicy } from './config.ts'
import type { StaticOwner } from './static.ts'

/** Builds the policies that a person wrote, by default in the owner's namespace. */
export const rawPolicies = (owner: StaticOwner, policies: readonly RawPolicy[]): AuthorizationPolicy[] =>
  policies.map(({ metadata, spec = {} }) =>
    authorizationPolicy({
      metadata: {
        name: metadata.name,
        namespace: metadata.namespace ?? owner.namespace,
        labels: { ...metadata.labels, ...owner.labels },
        annotations: { ...metadata.annotations, [REQUESTED_BY]: `config of ${owner.namespace}/${owner.application}` },
      },
      spec,
    }),
  )
