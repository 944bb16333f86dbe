import type { EnforcementPoint } from '../authorization/evaluate/enforcement-point.ts'
import type { Identity } from '../authorization/evaluate/request-context.ts'
import { matchRule } from '../authorization/evaluate/rule.ts'
import { canonicalHash } from '../base/canonical-hash.ts'
import type { AuthorizationPolicy, Rule } from '../istio/authorization-policy.ts'
import { principalsIn } from '../istio/policy-mistakes.ts'
import { portsIn, witnessesOf } from '../preview/witnesses.ts'
import type { MeshProxy } from './proxies.ts'

/** One request for each class of clients, ports, hosts, methods and paths that the policies tell apart at a proxy, whoever is there. */
export function* typicalRequests(
  policies: readonly AuthorizationPolicy[],
  proxy: MeshProxy,
): Generator<EnforcementPoint, undefined> {
  const { hosts, methods, paths } = witnessesOf(policies)
  const named = proxy.at === 'ztunnel' ? portsIn(policies).map((port) => ({ port, protocol: undefined })) : []
  const requests = [...proxy.ports, ...named].flatMap(({ port, protocol }) =>
    hosts.flatMap(({ value: host }) =>
      methods.flatMap(({ value: method }) =>
        paths.map(({ value: path }) => ({ protocol, context: { port, host, method, path } })),
      ),
    ),
  )
  for (const identity of clientsOf(policies, proxy))
    for (const { context, protocol } of requests) yield proxy.point({ identity, ...context }, protocol)
}

/** One client for each class of those that the sources of the policies tell apart; undefined is one without an identity. */
const clientsOf = (
  policies: readonly AuthorizationPolicy[],
  { trustDomain, point }: MeshProxy,
): (Identity | undefined)[] => {
  const rules = policies.flatMap(({ spec, metadata }) =>
    (spec.rules ?? []).map((rule) => ({ rule, home: metadata.namespace })),
  )
  const named = rules.flatMap(({ rule, home }) => identitiesIn(rule, home, trustDomain))
  const anybody = { trustDomain, namespace: OTHER, serviceAccount: OTHER }
  const classOf = (identity: Identity | undefined): string => {
    const { context } = point({ identity, port: 80 })
    return canonicalHash(
      rules.flatMap(({ rule: { from = [], when = [] }, home }) => [
        matchRule({ from }, context, home).is,
        matchRule({ when: when.filter(({ key }) => key.startsWith('source.')) }, context, home).is,
      ]),
    )
  }
  return [...new Map([...named, anybody, undefined].toReversed().map((one) => [classOf(one), one])).values()]
}

/** Somebody that a pattern leaves open. */
const OTHER = 'none-of-the-others'

const identitiesIn = (rule: Rule, home: string, trustDomain: string): Identity[] => {
  const sources = (rule.from ?? []).flatMap(({ source }) => source ?? [])
  const filled = (pattern: string | undefined) => (pattern ?? '').replaceAll('*', OTHER) || OTHER
  return [
    ...principalsIn(rule).flatMap((pattern) => {
      const [, domain, namespace, account] = /^(?:(.*)\/)?ns\/([^/]*)(?:\/sa\/(.*))?$/.exec(pattern) ?? []
      if (namespace === undefined) return []
      const isOwn = domain === undefined || domain === '' || domain.includes('*') || domain === 'cluster.local'
      return [
        { trustDomain: isOwn ? trustDomain : domain, namespace: filled(namespace), serviceAccount: filled(account) },
      ]
    }),
    ...sources.flatMap(({ namespaces = [], notNamespaces = [], serviceAccounts = [], notServiceAccounts = [] }) => [
      ...[...namespaces, ...notNamespaces].map((one) => ({
        ...{ trustDomain, namespace: filled(one), serviceAccount: OTHER },
      })),
      ...[...serviceAccounts, ...notServiceAccounts].map((one) => {
        const [account = '', space = home] = one.split('/').toReversed()
        return { trustDomain, namespace: space, serviceAccount: account }
      }),
    ]),
  ]
}
