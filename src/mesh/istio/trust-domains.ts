import { ownValue } from '../../platform/base/own-value.ts'
import type { MeshConfig } from './beacon-config.ts'

/** Lists the trust domains of a namespace's identities: those that are configured for it, else the mesh's own and its aliases. */
export const findTrustDomains = (
  { trustDomain = 'cluster.local', trustDomainAliases = [], trustDomains }: MeshConfig,
  namespace: string,
): string[] => {
  const own = ownValue(trustDomains, namespace)
  return [...new Set(own === undefined ? [trustDomain, ...trustDomainAliases] : [own].flat())]
}
