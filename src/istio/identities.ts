import { at } from '../base/own-value.ts'
import type { MeshConfig } from './config.ts'
import type { Owner } from './grant.ts'
import { trustDomainsOf } from './trust-domains.ts'

/** The keys of a config that say how callers are identified. */
export type IdentityConfig = {
  readonly trustDomain?: string | undefined
  readonly mesh?: MeshConfig | undefined
  readonly serviceAccounts?: Readonly<Record<string, string>> | undefined
}

/** The mesh that a config describes; the trust domain may be said for the application as a whole. */
export const meshIn = ({
  trustDomain = 'cluster.local',
  mesh,
}: IdentityConfig): MeshConfig & { trustDomain: string } => ({
  trustDomain,
  ...mesh,
})

/** How the callers of the application's own policies are identified. */
export const identitiesIn = (
  config: IdentityConfig = {},
): Pick<Owner, 'trustDomain' | 'trustDomains' | 'serviceAccount'> => ({
  trustDomain: meshIn(config).trustDomain,
  trustDomains: (namespace) => trustDomainsOf(meshIn(config), namespace),
  serviceAccount: (namespace, application) => at(config.serviceAccounts, `${namespace}/${application}`) ?? application,
})
