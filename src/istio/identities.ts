import { ownValue } from '../base/own-value.ts'
import type { MeshConfig } from './config.ts'
import type { PolicyOwner } from './grant.ts'
import { findTrustDomains } from './trust-domains.ts'

/** The keys of a config that say how callers are identified. */
export type IdentityConfig = {
  readonly trustDomain?: string | undefined
  readonly mesh?: MeshConfig | undefined
  readonly serviceAccounts?: Readonly<Record<string, string>> | undefined
}

/** The mesh that a config describes; the trust domain may be said for the application as a whole. */
export const resolveMeshConfig = ({
  trustDomain = 'cluster.local',
  mesh,
}: IdentityConfig): MeshConfig & { trustDomain: string } => ({
  trustDomain,
  ...mesh,
})

/** How the callers of the application's own policies are identified. */
export const resolveIdentities = (
  config: IdentityConfig = {},
): Pick<PolicyOwner, 'trustDomain' | 'trustDomains' | 'serviceAccount'> => ({
  trustDomain: resolveMeshConfig(config).trustDomain,
  trustDomains: (namespace) => findTrustDomains(resolveMeshConfig(config), namespace),
  serviceAccount: (namespace, application) =>
    ownValue(config.serviceAccounts, `${namespace}/${application}`) ?? application,
})
