import { waypointPolicies, ztunnelPolicies } from '../authorization/evaluate/attachment.ts'
import type { ClusterSnapshot } from '../authorization/evaluate/cluster-snapshot.ts'
import {
  actionOf,
  type EnforcementPoint,
  ignoreReason,
  matchPolicy,
  policyName,
} from '../authorization/evaluate/enforcement-point.ts'
import type { Identity, RequestContext } from '../authorization/evaluate/request-context.ts'
import { matchRule } from '../authorization/evaluate/rule.ts'
import { gatewayName, isOnMesh, podLabels, serviceAccountName } from '../authorization/pods.ts'
import { detectProtocol, type ServicePortSpec } from '../authorization/protocol.ts'
import { findWaypoint } from '../authorization/waypoint.ts'
import { canonicalHash } from '../base/canonical-hash.ts'
import { type AuthorizationPolicy, type Rule, readAuthorizationPolicy } from '../istio/authorization-policy.ts'
import { principalsIn } from '../istio/effect.ts'
import { principal } from '../istio/names.ts'
import { portsIn, witnessesOf } from '../preview/witnesses.ts'
import type { Cluster } from './cluster.ts'
import { type Found, foundIn } from './finding.ts'

/** A proxy, and what is behind it. */
type Target = {
  readonly at: 'waypoint' | 'ztunnel'
  readonly of: string
  readonly policies: readonly AuthorizationPolicy[]
  readonly ports: readonly { readonly port: number; readonly protocol?: 'http' | 'tcp' | undefined }[]
}

/**
 * ALLOW policies that a DENY policy of the same proxy refuses something of, or that one which lets in everybody makes idle. It is asked for each
 * proxy, of the clients and requests that its policies tell apart, whoever is there.
 */
export const shadowingFindings = (cluster: Cluster): Found[] => {
  const found = targetsIn(cluster).flatMap((target) => findingsAt(target, cluster))
  return [...new Map(found.map((one) => [`${one.rule} ${one.about} ${one.message}`, one])).values()]
}

const snapshotOf = ({ policies, rootPolicies, istio }: Cluster): ClusterSnapshot => ({
  policies: [...policies, ...rootPolicies].flatMap((object) => {
    const read = readAuthorizationPolicy(object)
    return 'policy' in read ? [read.policy] : []
  }),
  ...{ rootNamespace: istio.rootNamespace, istioVersion: istio.version },
  ...{ trustDomain: istio.trustDomains?.own ?? 'cluster.local', trustDomainAliases: istio.trustDomains?.aliases ?? [] },
  ...{ services: [], workloads: [] },
})

const targetsIn = (cluster: Cluster): Target[] => {
  const { namespace, home, services, gateways, pods } = cluster
  const snapshot = snapshotOf(cluster)
  const atServices = services.flatMap((service): Target[] => {
    const { name } = service.metadata
    const { waypoint } = findWaypoint(service, home?.metadata ?? {}, gateways)
    if (waypoint === undefined) return []
    const { policies } = waypointPolicies(snapshot, { namespace, name }, waypoint)
    const ports = ((service.spec?.ports ?? []) as ServicePortSpec[]).map((one) => ({
      port: one.port,
      protocol: detectProtocol(one) ?? ('http' as const),
    }))
    return [{ at: 'waypoint', of: `Service ${namespace}/${name}`, policies, ports }]
  })
  const enrolled = pods.filter((pod) => isOnMesh(pod, home?.metadata.labels ?? {}) && gatewayName(pod) === undefined)
  const atPods = enrolled.map((pod): Target => {
    const workload = { namespace, name: pod.metadata.name, labels: podLabels(pod), onMesh: true }
    const { policies } = ztunnelPolicies(snapshot, workload)
    return { at: 'ztunnel', of: `the pods of ${namespace}/${serviceAccountName(pod)}`, policies, ports: [{ port: 80 }] }
  })
  const distinct = new Map(
    [...atServices, ...atPods].map((one) => [[one.of, ...one.policies.map(policyName)].join(' '), one]),
  )
  return [...distinct.values()]
}

const findingsAt = (target: Target, cluster: Cluster): Found[] => {
  const { trustDomains } = cluster.istio
  const envoy = { trustDomain: trustDomains?.own ?? 'cluster.local', aliases: trustDomains?.aliases ?? [] }
  const point = (context: RequestContext, protocol?: 'http' | 'tcp'): EnforcementPoint => ({
    ...{ at: target.at, name: target.of, protocol, policies: [], perhaps: [], unreadable: [] },
    context: target.at === 'waypoint' ? { ...context, envoy } : context,
  })
  const active = target.policies.filter((policy) => ignoreReason(policy, point({ port: 80 })) === undefined)
  const of = (action: string) => active.filter((policy) => actionOf(policy) === action)
  const [allows, denies] = [of('ALLOW'), of('DENY')]
  const open = allows.find(isForEverybody)
  return [
    ...allows.flatMap((allow): Found[] =>
      open === undefined || isForEverybody(allow) || (allow.spec.rules ?? []).length === 0
        ? []
        : [
            foundIn(
              allow,
              'policy-shadowed',
              `at ${target.of} it restricts nobody, as ${policyName(open)} lets in everybody`,
            ),
          ],
    ),
    ...allows.flatMap((allow) => denies.flatMap((deny) => hiddenBy(deny, allow, target, point, envoy.trustDomain))),
  ]
}

const isForEverybody = ({ spec: { rules = [] } }: AuthorizationPolicy): boolean =>
  rules.some(({ from = [], to = [], when = [] }) => from.length + to.length + when.length === 0)

const hiddenBy = (
  deny: AuthorizationPolicy,
  allow: AuthorizationPolicy,
  target: Target,
  point: (context: RequestContext, protocol?: 'http' | 'tcp') => EnforcementPoint,
  trustDomain: string,
): Found[] => {
  const both = [allow, deny]
  const { hosts, methods, paths } = witnessesOf(both)
  const ports = [
    ...target.ports,
    ...(target.at === 'ztunnel' ? portsIn(both).map((port) => ({ port, protocol: undefined })) : []),
  ]
  const requests = ports.flatMap(({ port, protocol }) =>
    hosts.flatMap((host) =>
      methods.flatMap((method) =>
        paths.map((path) => ({ port, protocol, host: host.value, method: method.value, path: path.value })),
      ),
    ),
  )
  for (const identity of clientsOf(both, trustDomain))
    for (const { protocol, ...request } of requests) {
      const at = point({ identity, ...request }, protocol)
      if (matchPolicy(allow, at).is === 'no' || matchPolicy(deny, at).is !== 'yes') continue
      const what = target.at === 'ztunnel' ? [] : [request.method, request.path]
      const words = [principal(identity), ...what, `:${request.port}`].filter((part) => part !== undefined).join(' ')
      return [
        foundIn(
          allow,
          'allow-hidden',
          `a DENY policy refuses what an ALLOW policy lets in: ${policyName(deny)}, at ${target.of}, ${words}`,
        ),
      ]
    }
  return []
}

/** One client for each class of those that the sources of the policies tell apart. */
const clientsOf = (policies: readonly AuthorizationPolicy[], trustDomain: string): Identity[] => {
  const rules = policies.flatMap(({ spec, metadata }) =>
    (spec.rules ?? []).map((rule) => ({ rule, home: metadata.namespace })),
  )
  const named = rules.flatMap(({ rule, home }) => identitiesIn(rule, home, trustDomain))
  const anybody = { trustDomain, namespace: 'none-of-the-others', serviceAccount: 'none-of-the-others' }
  const classOf = (identity: Identity): string =>
    canonicalHash(rules.map(({ rule: { from = [] }, home }) => matchRule({ from }, { identity, port: 80 }, home).is))
  return [...new Map([...named, anybody].toReversed().map((one) => [classOf(one), one])).values()]
}

const identitiesIn = (rule: Rule, home: string, trustDomain: string): Identity[] => {
  const sources = (rule.from ?? []).flatMap(({ source }) => source ?? [])
  const filled = (pattern: string | undefined) => (pattern ?? '').replaceAll('*', 'x') || 'x'
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
      ...[...namespaces, ...notNamespaces].map((one) => ({ trustDomain, namespace: filled(one), serviceAccount: 'x' })),
      ...[...serviceAccounts, ...notServiceAccounts].map((one) => {
        const [account = '', space = home] = one.split('/').toReversed()
        return { trustDomain, namespace: space, serviceAccount: account }
      }),
    ]),
  ]
}
