import {
  type AuthorizationPolicy,
  isForPods,
  readAuthorizationPolicy,
  type TargetRef,
  targetsOf,
} from '../../mesh/istio/authorization-policy.ts'
import { isDryRun } from '../../mesh/istio/dry-run.ts'
import type { PolicyMistake } from '../../mesh/istio/mistake.ts'
import { policyMistakes } from '../../mesh/istio/policy-mistakes.ts'
import type { WaypointPort } from '../../mesh/istio/tcp-mistakes.ts'
import { policyRefusals } from '../../mesh/istio/validation.ts'
import { isOlder, LOWEST, versionName } from '../../mesh/istio/version.ts'
import { ownValue } from '../../platform/base/own-value.ts'
import { hasLabels } from '../../platform/kubernetes/label-selector.ts'
import type { KubernetesObject } from '../../platform/kubernetes/objects.ts'
import { isHeadless } from '../../platform/kubernetes/services.ts'
import { Gateway } from '../authorization/gateway.ts'
import { GATEWAY_NAME, ownProxy } from '../authorization/pods.ts'
import { detectProtocol, lacksPort, tcpPorts } from '../authorization/protocol.ts'
import { findWaypoint } from '../authorization/waypoint.ts'
import { type Cluster, podsAndNext } from './cluster.ts'
import { type Found, foundIn } from './finding.ts'

/** Reports AuthorizationPolicies that have no effect, or another effect than they state. */
export const policyFindings = (cluster: Cluster): Found[] => [
  ...cluster.policies.flatMap((object) => findingsOf(object, cluster)),
  ...auditFindings(cluster),
  ...versionFindings(cluster),
]

const findingsOf = (object: KubernetesObject, cluster: Cluster): Found[] => {
  const read = readAuthorizationPolicy(object)
  if (!('policy' in read)) return [foundIn(object, 'policy-unreadable', read.unreadable)]
  const { policy } = read
  const rootNamespaces = cluster.istio.unknown !== undefined ? undefined : [cluster.istio.rootNamespace]
  const mistakes = policyMistakes(policy, rootNamespaces, portsAt(policy, cluster))
  return [
    ...refusedFindings(object, policy),
    ...mistakeFindings(
      object,
      mistakes,
      enforcersOf(policy, podsAndNext(cluster), () => cluster.home?.metadata.labels ?? {}),
    ),
    ...(isForPods(policy.spec) ? selecting(policy, cluster) : referring(policy, cluster)),
  ]
}

/** Mistakes that concern ztunnels only. Clients of an Envoy may also have principals of other issuers. */
const OF_ZTUNNELS: readonly Found['rule'][] = [
  'http-without-waypoint',
  'policy-ineffective',
  'principal-malformed',
  'trust-domain-unseen',
]

/** The proxies that enforce a policy of pods. They are unknown if its selector picks none of the known pods. */
type Enforcers = 'Envoys' | 'ztunnels' | 'unknown'

/** Turns mistakes of a policy into findings. Those that concern ztunnels only are left out for Envoys, and are one note where the proxies are unknown. */
export const mistakeFindings = (
  object: KubernetesObject,
  mistakes: readonly PolicyMistake[],
  enforcers: Enforcers,
): Found[] => {
  const [ofZtunnels = [], others = []] = [true, false].map((one) =>
    mistakes.filter(({ id }) => OF_ZTUNNELS.includes(id) === one),
  )
  const certain = enforcers === 'ztunnels' ? mistakes : others
  return [
    ...certain.map(({ id, says }) => foundIn(object, id, `it ${says}`)),
    ...(enforcers === 'unknown' && ofZtunnels.length > 0
      ? [
          foundIn(
            object,
            'proxy-unknown',
            `nothing read here has the labels of its selector. If these are pods of a gateway or with a sidecar, their Envoy enforces it; at other pods it ${ofZtunnels.map(({ says }) => says).join('; it ')}`,
          ),
        ]
      : []),
  ]
}

/** Tells which proxies enforce a policy, by what the pods are that it selects. A selector does not reach waypoints. */
export const enforcersOf = (
  { spec }: AuthorizationPolicy,
  pods: readonly KubernetesObject[],
  labelsOf: (namespace: string | undefined) => Readonly<Record<string, string>>,
): Enforcers => {
  const { matchLabels = {} } = spec.selector ?? {}
  if (!isForPods(spec)) return 'ztunnels'
  if (Object.hasOwn(matchLabels, GATEWAY_NAME)) return 'Envoys'
  const reached = pods.filter(({ metadata }) => hasLabels(metadata.labels, matchLabels)).filter(isNoWaypoint)
  if (reached.length === 0) return Object.keys(matchLabels).length > 0 ? 'unknown' : 'ztunnels'
  const isOwn = (pod: KubernetesObject) => ownProxy(pod, labelsOf(pod.metadata.namespace)) !== undefined
  return reached.every(isOwn) ? 'Envoys' : 'ztunnels'
}

const isNoWaypoint = ({ metadata: { labels } }: KubernetesObject): boolean =>
  ownValue(labels, 'gateway.istio.io/managed') !== 'istio.io-mesh-controller'

/** Reports the problems for which Istio would refuse a policy. The policy may exist nevertheless, if it is older than the webhook. */
export const refusedFindings = (object: KubernetesObject, policy: AuthorizationPolicy): Found[] =>
  policyRefusals(policy).map((reason) => foundIn(object, 'policy-refused', reason))

const referring = (policy: AuthorizationPolicy, cluster: Cluster): Found[] => {
  // another finding reports targets in other namespaces
  const targets = targetsOf(policy.spec).filter(({ namespace = '' }) => ['', cluster.namespace].includes(namespace))
  const found = targets.map((target) => ({ target, objects: objectsOf(target, cluster) }))
  const all = servicesOf(policy, cluster)
  const services = found.flatMap(({ target, objects = [] }) => (target.kind === 'Service' ? objects : []))
  return [
    ...found.flatMap(({ target: { kind, name }, objects }) =>
      objects?.length === 0
        ? [
            foundIn(
              policy,
              'policy-unmatched',
              `its ${kind} ${cluster.namespace}/${name} does not exist: no request can match it`,
            ),
          ]
        : [],
    ),
    ...services.flatMap((service) => {
      const bypassed = bypassReason(service, cluster)
      return bypassed ? [foundIn(policy, 'policy-unenforced', `nothing enforces it: ${bypassed}`)] : []
    }),
    ...(all ? portFindings(policy, all) : []),
  ]
}

/** Lists the Services that a policy refers to. Returns undefined if it refers to anything else, because then its ports may be those of another target. */
const servicesOf = ({ spec }: AuthorizationPolicy, cluster: Cluster): KubernetesObject[] | undefined => {
  const targets = targetsOf(spec)
  const services = targets.flatMap((target) =>
    target.kind === 'Service' && ['', cluster.namespace].includes(target.namespace ?? '')
      ? (objectsOf(target, cluster) ?? [])
      : [],
  )
  return services.length === targets.length ? services : undefined
}

/** Lists the ports of all targets of a policy. Returns undefined if they are unknown. This includes waypoints, which have the ports of many Services. */
const portsAt = (policy: AuthorizationPolicy, cluster: Cluster): WaypointPort[] | undefined => {
  const services = servicesOf(policy, cluster)
  if (services) return services.flatMap(portsOf)
  const targets = targetsOf(policy.spec)
  const gateways = targets
    .flatMap((target) => (target.kind === 'Gateway' ? (objectsOf(target, cluster) ?? []) : []))
    .filter(({ spec }) => spec?.gatewayClassName === 'istio')
  return gateways.length === targets.length ? gateways.flatMap(listenersOf) : undefined
}

const listenersOf = (gateway: KubernetesObject): WaypointPort[] =>
  Gateway.parse(gateway).spec.listeners.flatMap(({ port, protocol }) =>
    port === undefined ? [] : [{ port, protocol: protocol.startsWith('HTTP') ? 'http' : 'tcp' }],
  )

const portsOf = (service: KubernetesObject): WaypointPort[] =>
  tcpPorts(service).map((one) => ({ port: one.port, protocol: detectProtocol(one) }))

/** Lists the object that a target reference names, if it exists. Returns undefined if that is unknown. */
const objectsOf = ({ kind, name }: TargetRef, { namespace, gateways, services }: Cluster) =>
  ownValue({ Gateway: gateways, Service: services }, kind)?.filter(
    ({ metadata }) => metadata.name === name && metadata.namespace === namespace,
  )

/** Returns the reason why no waypoint enforces policies of a Service, if one is known. */
const bypassReason = (service: KubernetesObject, { home, gateways }: Cluster): string | undefined => {
  const { namespace, name } = service.metadata
  if (isHeadless(service))
    return `the Service ${namespace}/${name} has no address of its own: requests go straight to the pods`
  if (gateways === undefined) return undefined
  const { waypoint, bypassed } = findWaypoint(service, home?.metadata ?? {}, gateways)
  return waypoint ? undefined : (bypassed ?? `no label names a waypoint for the Service ${namespace}/${name}`)
}

const portFindings = (policy: AuthorizationPolicy, services: readonly KubernetesObject[]): Found[] => {
  const known = services.map((service) => ({
    name: `the Service ${service.metadata.namespace}/${service.metadata.name}`,
    ports: tcpPorts(service),
  }))
  const operations = (policy.spec.rules ?? []).flatMap(({ to = [] }) => to.flatMap(({ operation }) => operation ?? []))
  const isKnown = (port: string) => known.some(({ ports }) => ports.some((one) => one.port === Number(port)))
  const lacking = new Set(operations.flatMap(({ ports = [] }) => ports).filter((port) => !isKnown(port)))
  return [...lacking].map((port) =>
    foundIn(policy, 'port-unknown', known.map(({ name, ports }) => `${name} ${lacksPort(ports, port)}`).join('; ')),
  )
}

const selecting = (policy: AuthorizationPolicy, cluster: Cluster): Found[] => {
  const { namespace, istio } = cluster
  const { selector } = policy.spec
  const isElsewhere = istio.unknown !== undefined || namespace === istio.rootNamespace
  const isMatched = podsAndNext(cluster).some(({ metadata }) => hasLabels(metadata.labels, selector?.matchLabels))
  return selector && !isElsewhere && !isMatched
    ? [foundIn(policy, 'policy-unmatched', `it selects no pod of ${namespace}: no request can match it`)]
    : []
}

/** Reports dry runs. Proxies count the requests that these would refuse, and a finding does not read the counts. */
const auditFindings = ({ namespace, policies }: Cluster): Found[] => {
  const audited = policies.filter(isDryRun)
  if (audited.length === 0) return []
  const message = `requests that ${audited.length === 1 ? 'a dry run' : `${audited.length} dry runs`} would refuse are not shown here: waypoints count them, and meshstep traffic shows them where a Prometheus is known. Pods get no dry runs`
  return [{ rule: 'audit-unseen', about: `Namespace ${namespace}`, message }]
}

const versionFindings = ({ istio: { config, version } }: Cluster): Found[] =>
  config && version && isOlder(version, LOWEST)
    ? [
        foundIn(
          config,
          'istio-too-old',
          `Istio is ${versionName(version)}, and ${versionName(LOWEST)} is the lowest that is supported`,
        ),
      ]
    : []
