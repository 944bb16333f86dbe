import type { AuthorizationPolicy } from '../../mesh/istio/authorization-policy.ts'
import { isDryRun } from '../../mesh/istio/dry-run.ts'
import type { KubernetesObject } from '../../platform/kubernetes/objects.ts'
import { podLabels } from '../../platform/kubernetes/pod-like.ts'
import { isHeadless, isSelecting } from '../../platform/kubernetes/services.ts'
import { waypointPolicies } from '../authorization/evaluate/attachment.ts'
import { actionOf } from '../authorization/evaluate/enforcement-point.ts'
import { evaluate, type Waypoint } from '../authorization/evaluate.ts'
import { findNamedPort, isOnMesh, ownProxy } from '../authorization/pods.ts'
import { tcpPorts } from '../authorization/protocol.ts'
import { findWaypoint } from '../authorization/waypoint.ts'
import { type Cluster, podsAndNext } from './cluster.ts'
import { type Found, foundIn } from './finding.ts'
import { isForEverybody, type Snapshot, snapshotOf } from './proxies.ts'

/** Reports Services whose waypoint allows requests, while some of the pods refuse the waypoint on all ports. */
export const refusedWaypointFindings = (cluster: Cluster): Found[] => {
  const { namespace, home, services, gateways = [], rootPolicies, istio } = cluster
  // an unread policy or trust domain may let the waypoint in
  if (rootPolicies === undefined || istio.trustDomains === undefined) return []
  const snapshot = snapshotOf(cluster)
  const labels = home?.metadata.labels ?? {}
  const pods = podsAndNext(cluster).filter((pod) => isOnMesh(pod, labels) && ownProxy(pod, labels) === undefined)
  return services.flatMap((service) => {
    const { waypoint } = findWaypoint(service, home?.metadata ?? {}, gateways)
    if (waypoint === undefined || isHeadless(service)) return []
    const { policies } = waypointPolicies(snapshot, { namespace, name: service.metadata.name }, waypoint)
    const selected = isOpen(policies) ? pods.filter((pod) => isSelecting(service, podLabels(pod))) : []
    const refusals = selected.flatMap((pod) => refusalOf(waypoint, service, pod, snapshot) ?? [])
    const answering = refusals.length === selected.length ? 'no request' : 'no request to some of its pods'
    return refusals
      .slice(0, 1)
      .map((refusal) => foundIn(service, 'waypoint-refused', `${answering} through its waypoint ${refusal}`))
  })
}

/** Tells if the policies of a waypoint may allow a client. */
const isOpen = (policies: readonly AuthorizationPolicy[]): boolean => {
  const allows = policies.filter((policy) => actionOf(policy) === 'ALLOW' && !isDryRun(policy))
  return allows.length === 0 || allows.some(({ spec: { rules = [] } }) => rules.length > 0)
}

/** Names the waypoint, and the reason why a pod refuses it on all ports of the Service. Returns undefined if it may accept the waypoint on one. */
const refusalOf = (
  { namespace, name, serviceAccount }: Waypoint,
  service: KubernetesObject,
  pod: KubernetesObject,
  snapshot: Snapshot,
): string | undefined => {
  const to = { namespace: service.metadata.namespace ?? '', application: service.metadata.name }
  const workload = { namespace: to.namespace, name: to.application, labels: podLabels(pod), onMesh: true }
  // a DENY without conditions is intended
  const policies = snapshot.policies.filter((policy) => actionOf(policy) !== 'DENY' || !isForEverybody(policy))
  const answers = podPorts(service, pod).map((port) =>
    evaluate({ from: { namespace, serviceAccount }, to, port }, { ...snapshot, policies, workloads: [workload] }),
  )
  const [first] = answers
  return first && answers.every(({ allowed, decided }) => decided && !allowed)
    ? `${namespace}/${name} is answered, unless istiod runs with PILOT_AUTO_ALLOW_WAYPOINT_POLICY: ${first.sentence}`
    : undefined
}

/** Lists the pod ports to which the ports of a Service forward. */
const podPorts = (service: KubernetesObject, pod: KubernetesObject): number[] =>
  tcpPorts(service).map(({ port, targetPort = port }) =>
    typeof targetPort === 'number' ? targetPort : (findNamedPort(pod, targetPort) ?? port),
  )
