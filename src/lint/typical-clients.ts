import type { Identity } from '../authorization/evaluate/request-context.ts'
import { matchRule } from '../authorization/evaluate/rule.ts'
import { canonicalHash } from '../base/canonical-hash.ts'
import type { AuthorizationPolicy, Rule } from '../istio/authorization-policy.ts'
import { valuesIn } from '../istio/rule-values.ts'
import type { MeshProxy } from './proxies.ts'

/**
 * One client for each class of those that the sources of the policies tell apart, whoever is there; undefined in it is one without an identity.
 * Undefined where they tell apart too many.
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
  const named = rules.flatMap(({ rule, home }) => accountsIn(rule, home, trustDomain))
  const clients = clientsOf(named, trustDomain)
  return clients && [...new Map([...clients, undefined].toReversed().map((one) => [classOf(one), one])).values()]
}

/** The parts of a client as a value says them: a name or a pattern, or nothing. */
type Account = { readonly [part in keyof Identity]?: string | undefined }

const MOST_CLIENTS = 2_000

/**
 * Lists a client for each set of these values that one may match together: a value matches one by its parts alone, and for each part there are all
 * names, and something for each beginning together with each end.
 */
const clientsOf = (named: readonly Account[], own: string): Identity[] | undefined => {
  const isWhole = ({ namespace, serviceAccount }: Account) => isName(namespace) && isName(serviceAccount)
  const [whole, open] = [named.filter(isWhole), named.filter((one) => !isWhole(one))]
  // no beginning and end say what a value with several wildcards matches
  if (named.some(({ namespace = '' }) => namespace.split('*').length > 2)) return undefined
  const domains = namesIn([{ trustDomain: own }, ...named], 'trustDomain')
  const [namespaces, accounts] = [namesIn(open, 'namespace'), namesIn(open, 'serviceAccount')]
  if (!(domains && namespaces && accounts)) return undefined
  if (domains.length * (namespaces.length * accounts.length + whole.length) > MOST_CLIENTS) return undefined
  const pairs = namespaces.flatMap((namespace) =>
    accounts.map((serviceAccount): Account => ({ namespace, serviceAccount })),
  )
  return [...whole, ...pairs].flatMap(({ trustDomain, namespace = '', serviceAccount = '' }) =>
    (isName(trustDomain) ? [...new Set([trustDomain, own])] : domains).map((domain) => ({
      ...{ trustDomain: domain, namespace, serviceAccount },
    })),
  )
}

const isPattern = (part: string): boolean => part.includes('*')

const isName = (part: string | undefined): part is string => part !== undefined && !isPattern(part)

/** Stands for whatever a pattern leaves open. No name has it, so that no other pattern matches it by chance. */
const OTHER = '~'

/** Lists the names of a part, and one for each beginning and end of its patterns; undefined where these are too many. */
const namesIn = (accounts: readonly Account[], part: keyof Account): string[] | undefined => {
  const values = accounts.flatMap((one) => one[part] ?? [])
  const patterns = values.filter(isPattern)
  const beginnings = new Set(['', ...patterns.map((pattern) => pattern.slice(0, pattern.indexOf('*')))])
  const ends = new Set(['', ...patterns.map((pattern) => pattern.slice(pattern.lastIndexOf('*') + 1))])
  if (beginnings.size * ends.size > MOST_CLIENTS) return undefined
  const others = [...beginnings].flatMap((beginning) => [...ends].map((end) => `${beginning}${OTHER}${end}`))
  return [...new Set([...values.filter(isName), ...others])]
}

const accountsIn = (rule: Rule, home: string, own: string): Account[] =>
  valuesIn(rule).flatMap(({ of, values }): Account[] => {
    if (of === 'source.principal') return values.map((pattern) => accountOf(pattern, own))
    if (of === 'source.namespace') return values.map((namespace) => ({ namespace }))
    if (of === 'source.trustDomain') return values.map((trustDomain) => ({ trustDomain }))
    if (of !== 'source.serviceAccount') return []
    return values.map((value) => {
      const [serviceAccount = '', namespace = home] = value.split('/').toReversed()
      return { namespace, serviceAccount }
    })
  })

const PIECES = 5

/** Reads what a principal says, `TRUST_DOMAIN/ns/NAMESPACE/sa/ACCOUNT`, or a pattern of them, of which the rest is open. */
const accountOf = (pattern: string, own: string): Account => {
  const pieces = pattern.split('/').slice(-PIECES)
  // what begins with a wildcard is known from its end
  const before = pattern.startsWith('*') ? Array.from({ length: PIECES - pieces.length }, () => '*') : []
  const [trustDomain, , namespace, , serviceAccount] = [...before, ...pieces]
  return { trustDomain: trustDomain === 'cluster.local' ? own : trustDomain, namespace, serviceAccount }
}
