import { at } from '../base/own-value.ts'
import type { MeshConfig } from './config.ts'

/** The trust domains that an identity of `namespace` may be of: those configured for it, else the mesh's own and its aliases. */
export const trustDomainsOf = (
  { trustDomain = 'cluster.local', trustDomainAliases = [], trustDomains }: MeshConfig,
  namespace: string,
): string[] => {
  const own = at(trustDomains, namespace)
  return [...new Set(own === undefined ? [trustDomain, ...trustDomainAliases] : [own].flat())]
}
