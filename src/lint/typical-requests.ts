import type { EnforcementPoint } from '../authorization/evaluate/enforcement-point.ts'
import type { Identity } from '../authorization/evaluate/request-context.ts'
import { matchRule } from '../authorization/evaluate/rule.ts'
import { canonicalHash } from '../base/canonical-hash.ts'
import type { AuthorizationPolicy, Rule } from '../istio/authorization-policy.ts'
import { valuesIn } from '../istio/rule-values.ts'
import { portsIn, witnessesOf } from '../preview/witnesses.ts'
import type { MeshProxy } from './proxies.ts'

/**
 * One request for each class of clients, ports, hosts, methods and paths that the policies tell apart at a proxy, whoever is there. Undefined
 * where they name more paths or clients that cross one another than are told apart, so that nothing can be concluded of all requests.
 */
export const typicalRequests = (
  policies: readonly AuthorizationPolicy[],
  proxy: MeshProxy,
): Iterable<EnforcementPoint> | undefined => {
  const { hosts, methods, paths, isWhole } = witnessesOf(policies)
  const clients = clientsOf(policies, proxy)
  if (!isWhole || clients === undefined) return undefined
  const named = proxy.at === 'ztunnel' ? portsIn(policies).map((port) => ({ port, protocol: undefined })) : []
  const requests = [...proxy.ports, ...named].flatMap(({ port, protocol }) =>
    hosts.flatMap(({ value: host }) =>
      methods.flatMap(({ value: method }) =>
        paths.map(({ value: path }) => ({ protocol, context: { port, host, method, path } })),
      ),
    ),
  )
  return pointsOf(clients, requests, proxy)
}

type Request = { readonly protocol?: 'http' | 'tcp' | undefined; readonly context: EnforcementPoint['context'] }

function* pointsOf(
  clients: readonly (Identity | undefined)[],
  requests: readonly Request[],
  { point }: MeshProxy,
): Generator<EnforcementPoint, undefined> {
  for (const identity of clients)
    for (const { context, protocol } of requests) yield point({ identity, ...context }, protocol)
}

/** One client for each class of those that the sources of the policies tell apart; undefined in it is one without an identity. */
const clientsOf = (
  policies: readonly AuthorizationPolicy[],
  { trustDomain, point }: MeshProxy,
): (Identity | undefined)[] | undefined => {
  const rules = policies.flatMap(({ spec, metadata }) =>
    (spec.rules ?? []).map((rule) => ({ rule, home: metadata.namespace })),
  )
  const named = rules.flatMap(({ rule, home }) => accountsIn(rule, home, trustDomain))
  const crossed = crossing(named, trustDomain)
  const classOf = (identity: Identity | undefined): string => {
    const { context } = point({ identity, port: 80 })
    return canonicalHash(
      rules.flatMap(({ rule: { from = [], when = [] }, home }) => [
        matchRule({ from }, context, home).is,
        matchRule({ when: when.filter(({ key }) => key.startsWith('source.')) }, context, home).is,
      ]),
    )
  }
  const clients = crossed && [...crossed, undefined]
  return clients && [...new Map(clients.toReversed().map((one) => [classOf(one), one])).values()]
}

/** The parts of a client that a value says. */
type Account = { readonly [part in keyof Identity]?: string | undefined }

/** Somebody that a pattern leaves open. */
const OTHER = 'none-of-the-others'

const MOST_CROSSED = 2_000

/** The clients that values name, also several together where each leaves something open; undefined where these are too many. */
const crossing = (named: readonly Account[], own: string): Identity[] | undefined => {
  const isOpen = ({ namespace, serviceAccount }: Account) => namespace === undefined || serviceAccount === undefined
  const open = named.filter(isOpen)
  const valuesOf = (accounts: readonly Account[], part: keyof Identity) => [
    ...new Set([OTHER, ...accounts.flatMap((one) => one[part] ?? [])]),
  ]
  const foreign = named.flatMap(({ trustDomain = own }) => (trustDomain === own ? [] : trustDomain))
  const domains = foreign.length === 0 ? [own] : [...new Set([own, OTHER, ...foreign])]
  const [namespaces, accounts] = [valuesOf(open, 'namespace'), valuesOf(open, 'serviceAccount')]
  const whole = named.filter((one) => !isOpen(one))
  const pairs = namespaces.length * accounts.length
  if (domains.length * (pairs + whole.length) > MOST_CROSSED) return undefined
  const spaces = namespaces.flatMap((namespace) => accounts.map((serviceAccount) => ({ namespace, serviceAccount })))
  return [...whole, ...spaces].flatMap((one: Account) =>
    (one.trustDomain === undefined ? domains : [one.trustDomain]).map((trustDomain) => ({
      trustDomain,
      namespace: one.namespace ?? OTHER,
      serviceAccount: one.serviceAccount ?? OTHER,
    })),
  )
}

const filled = (pattern: string): string => pattern.replaceAll('*', OTHER)

const accountsIn = (rule: Rule, home: string, own: string): Account[] =>
  valuesIn(rule).flatMap(({ of, values }): Account[] => {
    if (of === 'source.principal') return values.map((pattern) => accountOf(pattern, own))
    if (of === 'source.namespace') return values.map((pattern) => ({ namespace: filled(pattern) }))
    if (of === 'source.trustDomain') return values.map((pattern) => ({ trustDomain: filled(pattern) }))
    if (of !== 'source.serviceAccount') return []
    return values.map((value) => {
      const [serviceAccount = '', namespace = home] = value.split('/').toReversed()
      return { namespace, serviceAccount }
    })
  })

/** Reads what a principal or a pattern of principals says; a part that is `*` is open. */
const accountOf = (pattern: string, own: string): Account => {
  const pieces = pattern.split('/')
  const space = pieces.indexOf('ns')
  const name = pieces.indexOf('sa', space < 0 ? 0 : space + 2)
  const part = (index: number): string | undefined => {
    const text = pieces[index]
    return text === undefined || text === '' || text === '*' ? undefined : filled(text)
  }
  // nothing before a wildcard at the start says what it begins with
  if (space < 0 && name < 0)
    return pattern.startsWith('*') ? { serviceAccount: part(pieces.length - 1) } : { trustDomain: part(0) }
  const domain = space > 0 ? part(space - 1) : undefined
  return {
    trustDomain: domain === 'cluster.local' ? own : domain,
    namespace: part(space < 0 ? name - 1 : space + 1),
    serviceAccount: name < 0 ? undefined : part(name + 1),
  }
}
