import type { AuthorizationPolicy } from '../../mesh/istio/authorization-policy.ts'
import { canonicalHash } from '../../platform/base/canonical-hash.ts'
import type { Identity } from '../authorization/evaluate/request-context.ts'
import { matchRule } from '../authorization/evaluate/rule.ts'
import { accountsIn, isName, type NamedAccounts, typicalNames } from '../authorization/typical-accounts.ts'
import type { MeshProxy } from './proxies.ts'

/**
 * Lists one client for each class of clients that the sources of the policies distinguish, whether or not such a client exists. An undefined entry is a
 * client without an identity. Returns undefined if there are too many classes.
 */
export const typicalClients = (
  policies: readonly AuthorizationPolicy[],
  { trustDomain, point }: MeshProxy,
): (Identity | undefined)[] | undefined => {
  const rules = policies.flatMap(({ spec, metadata }) =>
    (spec.rules ?? []).map((rule) => ({ rule, home: metadata.namespace })),
  )
  const classOf = (identity: Identity | undefined): string => {
    const { context } = point({ identity, port: 80 })
    return canonicalHash(
      rules.flatMap(({ rule: { from = [], when = [] }, home }) => [
        matchRule({ from }, context, home).is,
        matchRule({ when: when.filter(({ key }) => key.startsWith('source.')) }, context, home).is,
      ]),
    )
  }
  const named = rules.flatMap(({ rule, home }) => accountsIn(rule, home))
  const clients = clientsOf(named, trustDomain)
  return clients && [...new Map([...clients, undefined].toReversed().map((one) => [classOf(one), one])).values()]
}

const MOST_CLIENTS = 2_000

/** Lists one client for each set of these values that one client may match. Each part of a value is matched separately. */
const clientsOf = (said: readonly NamedAccounts[], own: string): Identity[] | undefined => {
  const named = said.map((one) => (one.trustDomain === 'cluster.local' ? { ...one, trustDomain: own } : one))
  const isWhole = ({ namespace, serviceAccount }: NamedAccounts) => isName(namespace) && isName(serviceAccount)
  const [whole, open] = [named.filter(isWhole), named.filter((one) => !isWhole(one))]
  const namesOf = (accounts: readonly NamedAccounts[], part: keyof NamedAccounts) =>
    typicalNames(accounts.flatMap((one) => one[part] ?? []))
  const domains = namesOf([{ trustDomain: own }, ...named], 'trustDomain')
  const [namespaces, accounts] = [namesOf(open, 'namespace'), namesOf(open, 'serviceAccount')]
  if (!(domains && namespaces && accounts)) return undefined
  if (domains.length * (namespaces.length * accounts.length + whole.length) > MOST_CLIENTS) return undefined
  const pairs = namespaces.flatMap((namespace) =>
    accounts.map((serviceAccount): NamedAccounts => ({ namespace, serviceAccount })),
  )
  return [...whole, ...pairs].flatMap(({ trustDomain, namespace = '', serviceAccount = '' }) =>
    (isName(trustDomain) ? [...new Set([trustDomain, own])] : domains).map((domain) => ({
      ...{ trustDomain: domain, namespace, serviceAccount },
    })),
  )
}
