import type { ClusterSnapshot } from '../../../../src/ask/authorization/evaluate.ts'
import type { AuthorizationPolicy, Condition, Rule } from '../../../../src/mesh/istio/authorization-policy.ts'
import {
  certain,
  EITHER,
  every,
  type Lists,
  lists,
  NO,
  not,
  type Outcomes,
  runAddress,
  some,
  union,
  type Wire,
  YES,
} from './outcomes.ts'
import { identityParts, runsDry, simple } from './ztunnel.ts'

class HttpOnly extends Error {}

export type Carrier = 'http' | 'tcp'

const envoyText = (pattern: string, text: string | undefined): Outcomes =>
  text === undefined ? EITHER : certain(simple(pattern, text))

const glob = (pattern: string): RegExp =>
  new RegExp(
    `^${pattern
      .split('*')
      .map((piece) => piece.replace(/[.\\+?^$()|[\]{}]/g, '\\$&'))
      .join('.*')}$`,
  )

const template = (pattern: string): RegExp =>
  new RegExp(
    `^${pattern
      .split(/(\{\*\*?\})/)
      .map((piece) => ({ '{*}': '[^/]+', '{**}': '.*' })[piece] ?? piece.replace(/[.\\+?^$()|[\]{}*]/g, '\\$&'))
      .join('')}$`,
  )

const envoyPath = (pattern: string, path: string | undefined): Outcomes => {
  if (path === undefined) return EITHER
  return /\{\*\*?\}/.test(pattern) ? certain(template(pattern).test(path)) : certain(simple(pattern, path))
}

/** The principals that istiod writes down in the place of one, by the mesh's trust domain and its aliases. */
const migrated = (pattern: string, domains: readonly string[]): string[] => {
  const parts = pattern.split('/')
  const [named = '', ...rest] = parts
  if (parts.length !== 5 || named.startsWith('*')) return [pattern]
  const isLocal = named === 'cluster.local' || domains.some((domain) => simple(named, domain))
  return isLocal ? domains.map((domain) => [domain, ...rest].join('/')) : [pattern]
}

type EnvoyContext = {
  wire: Wire
  carrier: Carrier
  action: string
  namespace: string
  domains: readonly (readonly string[])[]
}

/** One that nobody knows of may be any that a policy names, or none of them. */
const domainsOf = ({ trustDomain, trustDomainAliases: aliases = [] }: ClusterSnapshot): (readonly string[])[] =>
  aliases === 'unknown'
    ? [[trustDomain], [trustDomain, 'example.org', 'example.net', 'cluster.local']]
    : [[trustDomain, ...aliases]]

/** An atom that needs HTTP: on TCP it fails an ALLOW, and any other goes on without it. */
const http = ({ carrier }: EnvoyContext, outcome: () => Outcomes): Outcomes => {
  if (carrier === 'tcp') throw new HttpOnly()
  return outcome()
}

/** One pair of lists; values that cannot be generated are left out, unless that fails the rule. */
const envoyField = (
  context: EnvoyContext,
  { values = [], notValues = [] }: Lists,
  matches: (value: string) => Outcomes,
): Outcomes => {
  const generate = (value: string): Outcomes[] => {
    try {
      return [matches(value)]
    } catch (error) {
      if (context.action === 'ALLOW' || !(error instanceof HttpOnly)) throw error
      return []
    }
  }
  const positive = values.flatMap(generate)
  const negative = notValues.flatMap(generate)
  return every([positive.length === 0 ? YES : some(positive), negative.length === 0 ? YES : not(some(negative))])
}

const authenticated = (wire: Wire, test: (spiffe: string) => boolean): Outcomes =>
  wire.isUnknown ? EITHER : certain(wire.spiffe !== undefined && test(wire.spiffe))

const byPrincipal =
  ({ wire, domains }: EnvoyContext) =>
  (pattern: string): Outcomes => {
    const inOne = (some: readonly string[]) => (spiffe: string) =>
      migrated(pattern, some).some((one) => simple(one, spiffe.slice('spiffe://'.length)))
    return union(domains.map((some) => authenticated(wire, inOne(some))))
  }
const byNamespace =
  ({ wire }: EnvoyContext) =>
  (pattern: string): Outcomes =>
    authenticated(wire, (spiffe) => new RegExp(`^.*/ns/${pattern.split('*').join('.*')}/.*$`).test(spiffe))
const byAccount =
  ({ wire, namespace }: EnvoyContext) =>
  (name: string): Outcomes => {
    const [space = '', account = ''] = name.includes('/') ? name.split('/') : [namespace, name]
    return authenticated(wire, (spiffe) => glob(`spiffe://*/ns/${space}/sa/${account}`).test(spiffe))
  }
/** istiod writes all names of the mesh in the place of one. */
const byTrustDomain =
  ({ wire, domains }: EnvoyContext) =>
  (pattern: string): Outcomes => {
    const inOne = (some: readonly string[]) => (spiffe: string) =>
      (some.includes(pattern) ? some : [pattern]).some((one) => simple(one, identityParts(spiffe).trustDomain))
    return union(domains.map((some) => authenticated(wire, inOne(some))))
  }

const isForPrincipal = (key: string): boolean =>
  key.startsWith('source.') || key.startsWith('request.') || key === 'remote.ip'

const envoyCondition = (context: EnvoyContext, { key, values, notValues }: Condition): Outcomes => {
  const { wire } = context
  const pair = lists(values, notValues)
  const header = /^request\.headers\[(.*)\]$/.exec(key)?.[1]
  if (key === 'source.ip') return runAddress(pair, wire.ip)
  const atoms: Record<string, (value: string) => Outcomes> = {
    'source.principal': byPrincipal(context),
    'source.namespace': byNamespace(context),
    'source.serviceAccount': byAccount(context),
    'source.trustDomain': byTrustDomain(context),
    'destination.port': (port) => certain(Number(port) === wire.port),
  }
  const atom = Object.hasOwn(atoms, key) ? atoms[key] : undefined
  if (atom) return envoyField(context, pair, atom)
  if (header === ':method')
    return envoyField(context, pair, (value) => http(context, () => envoyText(value, wire.method)))
  if (header === ':authority')
    return envoyField(context, pair, (value) => http(context, () => envoyText(value, wire.host)))
  if (key.startsWith('request.')) return envoyField(context, pair, () => http(context, () => EITHER))
  return envoyField(context, pair, () => EITHER)
}

const runEnvoyRule = ({ from = [], to = [], when = [] }: Rule, context: EnvoyContext): Outcomes => {
  const { wire } = context
  const principals = (from.length > 0 ? from : [{}]).map(({ source: s = {} }) =>
    every([
      envoyField(context, lists(s.principals, s.notPrincipals), byPrincipal(context)),
      envoyField(context, lists(s.requestPrincipals, s.notRequestPrincipals), () => http(context, () => EITHER)),
      envoyField(context, lists(s.serviceAccounts, s.notServiceAccounts), byAccount(context)),
      envoyField(context, lists(s.trustDomains, s.notTrustDomains), byTrustDomain(context)),
      envoyField(context, lists(s.namespaces, s.notNamespaces), byNamespace(context)),
      envoyField(context, lists(s.remoteIpBlocks, s.notRemoteIpBlocks), () => EITHER),
      runAddress(lists(s.ipBlocks, s.notIpBlocks), wire.ip),
      ...when.filter(({ key }) => isForPrincipal(key)).map((condition) => envoyCondition(context, condition)),
    ]),
  )
  const permissions = (to.length > 0 ? to : [{}]).map(({ operation: o = {} }) =>
    every([
      envoyField(context, lists(o.hosts, o.notHosts), (value) =>
        http(context, () => envoyText(value.toLowerCase(), wire.host?.toLowerCase())),
      ),
      envoyField(context, lists(o.methods, o.notMethods), (value) =>
        http(context, () => envoyText(value, wire.method)),
      ),
      envoyField(context, lists(o.paths, o.notPaths), (value) => http(context, () => envoyPath(value, wire.path))),
      envoyField(context, lists(o.ports, o.notPorts), (value) => certain(Number(value) === wire.port)),
      ...when.filter(({ key }) => !isForPrincipal(key)).map((condition) => envoyCondition(context, condition)),
    ]),
  )
  return every([some(principals), some(permissions)])
}

const runEnvoyPolicy = (
  { metadata, spec }: AuthorizationPolicy,
  where: Omit<EnvoyContext, 'action' | 'namespace'>,
): Outcomes => {
  const context = { ...where, action: spec.action ?? 'ALLOW', namespace: metadata.namespace }
  return some(
    (spec.rules ?? []).map((rule) => {
      try {
        return runEnvoyRule(rule, context)
      } catch (error) {
        if (error instanceof HttpOnly) return NO
        throw error
      }
    }),
  )
}

/** A rule is any of its principals and any of its permissions; on TCP what is HTTP alone cannot be generated. */
export const runEnvoy = (
  policies: readonly AuthorizationPolicy[],
  wire: Wire,
  carrier: Carrier,
  world: ClusterSnapshot,
): Outcomes => {
  const of = (action: string) =>
    policies
      .filter((policy) => (policy.spec.action ?? 'ALLOW') === action)
      .filter((policy) => action === 'CUSTOM' || world.enforcesDryRuns || !runsDry(policy))
  const ask = (action: string) =>
    of(action).map((one) => runEnvoyPolicy(one, { wire, carrier, domains: domainsOf(world) }))
  const authorizer = every(ask('CUSTOM').map((matches) => (matches.has(true) ? EITHER : YES)))
  return every([authorizer, not(some(ask('DENY'))), of('ALLOW').length === 0 ? YES : some(ask('ALLOW'))])
}
