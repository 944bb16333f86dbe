import { ownValue } from '../../platform/base/own-value.ts'
import type { MeshConfig } from './beacon-config.ts'
import type { PolicyOwner } from './grant.ts'
import { findTrustDomains } from './trust-domains.ts'

/** The config keys that determine the identities of callers. */
export type IdentityConfig = {
  readonly trustDomain?: string | undefined
  readonly mesh?: MeshConfig | undefined
  readonly serviceAccounts?: Readonly<Record<string, string>> | undefined
}

/** Resolves the mesh config. The trust domain may also be set for the whole application. */
export const resolveMeshConfig = ({
  trustDomain = 'cluster.local',
  mesh,
}: IdentityConfig): MeshConfig & { trustDomain: string } => ({
  trustDomain,
  ...mesh,
})

/** Resolves the identities of the callers in the application's own policies. */
export const resolveIdentities = (
  config: IdentityConfig = {},
): Pick<PolicyOwner, 'trustDomain' | 'trustDomains' | 'serviceAccount'> => ({
  trustDomain: resolveMeshConfig(config).trustDomain,
  trustDomains: (namespace) => findTrustDomains(resolveMeshConfig(config), namespace),
  serviceAccount: (namespace, application) =>
    ownValue(config.serviceAccounts, `${namespace}/${application}`) ?? application,
})
