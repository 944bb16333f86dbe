import type { AuthorizationPolicy, Condition, Rule } from '../../../../src/mesh/istio/authorization-policy.ts'
import {
  certain,
  EITHER,
  every,
  isFilled,
  type Lists,
  lists,
  NO,
  not,
  type Outcomes,
  run,
  runAddress,
  some,
  type Wire,
  YES,
} from './outcomes.ts'

export type Match = {
  sourceIps: Lists
  ports: Lists
  serviceAccounts: Lists
  principals: Lists
  namespaces: Lists
  destinationIps: Lists
}
/** A policy of a ztunnel: any of its rules, all clauses of a rule, any match of a clause. */
export type Authorization = { deny: boolean; rules: Match[][][] }

export const emptyMatch = (): Match => ({
  sourceIps: {},
  ports: {},
  serviceAccounts: {},
  principals: {},
  namespaces: {},
  destinationIps: {},
})

const L4_KEYS = ['source.ip', 'source.namespace', 'source.principal', 'destination.ip', 'destination.port']

const hasL7 = ({ from = [], to = [], when = [] }: Rule): boolean =>
  to.some(({ operation: o }) =>
    [o?.hosts, o?.notHosts, o?.methods, o?.notMethods, o?.paths, o?.notPaths].some((list) => list?.length),
  ) ||
  from.some(({ source: s }) =>
    [s?.remoteIpBlocks, s?.notRemoteIpBlocks, s?.requestPrincipals, s?.notRequestPrincipals].some(
      (list) => list?.length,
    ),
  ) ||
  when.some(({ key }) => !L4_KEYS.includes(key))

const whenMatch = ({ key, values, notValues }: Condition): Match => {
  const field = {
    'source.ip': 'sourceIps',
    'source.namespace': 'namespaces',
    'source.principal': 'principals',
    'destination.ip': 'destinationIps',
    'destination.port': 'ports',
  }[key]
  return field === undefined ? emptyMatch() : { ...emptyMatch(), [field]: lists(values, notValues) }
}

const qualify = (names: readonly string[] | undefined, namespace: string): string[] | undefined =>
  names?.map((name) => (name.includes('/') ? name : `${namespace}/${name}`))

const clausesOf = (rule: Rule, namespace: string): Match[][] => {
  const to = (rule.to ?? []).map(({ operation }) => ({
    ...emptyMatch(),
    ports: lists(operation?.ports, operation?.notPorts),
  }))
  const from = (rule.from ?? []).map(({ source }) => ({
    ...emptyMatch(),
    sourceIps: lists(source?.ipBlocks, source?.notIpBlocks),
    namespaces: lists(source?.namespaces, source?.notNamespaces),
    serviceAccounts: lists(qualify(source?.serviceAccounts, namespace), qualify(source?.notServiceAccounts, namespace)),
    principals: lists(source?.principals, source?.notPrincipals),
  }))
  return [
    ...(to.length > 0 ? [to] : []),
    ...(from.length > 0 ? [from] : []),
    ...(rule.when ?? []).map((one) => [whenMatch(one)]),
  ]
}

const PARSE_BOOL = /^(1|t|T|TRUE|true|True)$/
export const runsDry = ({ metadata }: AuthorizationPolicy): boolean =>
  PARSE_BOOL.test(metadata.annotations?.['istio.io/dry-run'] ?? '')

export const referencesOf = ({ spec }: AuthorizationPolicy) =>
  spec.targetRefs?.length ? spec.targetRefs : spec.targetRef ? [spec.targetRef] : []

export const toZtunnel = (policy: AuthorizationPolicy): Authorization[] => {
  const { spec, metadata } = policy
  const { action = 'ALLOW', rules = [] } = spec
  if (runsDry(policy) || referencesOf(policy).length > 0 || (action !== 'ALLOW' && action !== 'DENY')) return []
  const kept = action === 'ALLOW' ? rules.filter((rule) => !hasL7(rule)) : rules
  return [{ deny: action === 'DENY', rules: kept.map((rule) => clausesOf(rule, metadata.namespace)) }]
}

/** What a ztunnel makes of a text pattern. */
export const simple = (pattern: string, text: string): boolean => {
  if (pattern === '*') return text !== ''
  if (pattern.startsWith('*')) return text.endsWith(pattern.slice(1))
  return pattern.endsWith('*') ? text.startsWith(pattern.slice(0, -1)) : text === pattern
}

export const identityParts = (spiffe: string | undefined) => {
  const [, trustDomain = '', namespace = '', account = ''] =
    /^spiffe:\/\/([^/]+)\/ns\/([^/]+)\/sa\/(.+)$/.exec(spiffe ?? '') ?? []
  return { trustDomain, namespace, account }
}

const runMatch = (match: Match, wire: Wire): Outcomes => {
  if (!Object.values(match).some(isFilled)) return NO
  const { namespace, account } = identityParts(wire.spiffe)
  return every([
    isFilled(match.destinationIps) ? EITHER : YES,
    isFilled(match.sourceIps) ? runAddress(match.sourceIps, wire.ip) : YES,
    run(match.ports, (port) => certain(Number(port) === wire.port)),
    run(match.serviceAccounts, (name) => certain(wire.spiffe !== undefined && name === `${namespace}/${account}`)),
    run(match.principals, (pattern) =>
      certain(wire.spiffe !== undefined && simple(pattern, wire.spiffe.slice('spiffe://'.length))),
    ),
    run(match.namespaces, (pattern) => certain(simple(pattern, namespace))),
  ])
}

const runAuthorization = ({ rules }: Authorization, wire: Wire): Outcomes =>
  some(
    rules.map((rule) =>
      every(rule.map((clause) => (clause.length === 0 ? YES : some(clause.map((one) => runMatch(one, wire)))))),
    ),
  )

export const runZtunnel = (authorizations: readonly Authorization[], wire: Wire): Outcomes => {
  const denies = authorizations.filter(({ deny }) => deny)
  const allows = authorizations.filter(({ deny }) => !deny)
  const denied = some(denies.map((one) => runAuthorization(one, wire)))
  return every([not(denied), allows.length === 0 ? YES : some(allows.map((one) => runAuthorization(one, wire)))])
}
