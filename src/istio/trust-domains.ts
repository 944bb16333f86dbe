import { ownValue } from '../base/own-value.ts'
import type { MeshConfig } from './config.ts'

/** The trust domains that an identity of `namespace` may be of: those configured for it, else the mesh's own and its aliases. */
export const findTrustDomains = (
  { trustDomain = 'cluster.local', trustDomainAliases = [], trustDomains }: MeshConfig,
  namespace: string,
): string[] => {
  const own = ownValue(trustDomains, namespace)
  return [...new Set(own === undefined ? [trustDomain, ...trustDomainAliases] : [own].flat())]
}
