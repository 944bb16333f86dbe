import { waypointPolicies, ztunnelPolicies } from '../authorization/evaluate/attachment.ts'
import { hasLabels } from '../authorization/evaluate/cluster-snapshot.ts'
import { enforce } from '../authorization/evaluate/enforce.ts'
import { actionOf, type EnforcementPoint } from '../authorization/evaluate/enforcement-point.ts'
import { explain } from '../authorization/evaluate/sentence.ts'
import type { Waypoint } from '../authorization/evaluate.ts'
import {
  findNamedPort,
  isGateway,
  isOnMesh,
  mayHaveSidecar,
  podLabels,
  serviceAccountName,
} from '../authorization/pods.ts'
import type { ServicePortSpec } from '../authorization/protocol.ts'
import { findWaypoint } from '../authorization/waypoint.ts'
import type { AuthorizationPolicy } from '../istio/authorization-policy.ts'
import { isDryRun } from '../istio/dry-run.ts'
import type { KubernetesObject } from '../kubernetes/objects.ts'
import { isHeadless, type Spec } from '../kubernetes/services.ts'
import { type Cluster, podsAndNext } from './cluster.ts'
import { type Found, foundIn } from './finding.ts'
import { isForEverybody, snapshotOf } from './proxies.ts'

/** Services whose waypoint lets somebody in, and is let in itself by no port of some of the pods behind. */
export const refusedWaypointFindings = (cluster: Cluster): Found[] => {
  const { namespace, home, services, gateways = [], rootPolicies, istio } = cluster
  // what is not known may let it in
  if (rootPolicies === undefined || istio.trustDomains === undefined) return []
  const snapshot = snapshotOf(cluster)
  const labels = home?.metadata.labels ?? {}
  const pods = podsAndNext(cluster).filter(
    (pod) => isOnMesh(pod, labels) && !isGateway(pod) && !mayHaveSidecar(pod, labels),
  )
  return services.flatMap((service) => {
    const { name } = service.metadata
    const { waypoint } = findWaypoint(service, home?.metadata ?? {}, gateways)
    if (waypoint === undefined || isHeadless(service)) return []
    if (!isOpen(waypointPolicies(snapshot, { namespace, name }, waypoint).policies)) return []
    const reasons = pods
      .filter((pod) => isBehind(pod, service))
      .flatMap((pod) => {
        const { policies, unreadable } = ztunnelPolicies(snapshot, {
          namespace,
          name,
          labels: podLabels(pod),
          onMesh: true,
        })
        const identity = { trustDomain: snapshot.trustDomain, ...waypoint }
        const points = podPorts(service, pod).map(
          (port): EnforcementPoint => ({
            ...{ at: 'ztunnel', name: `the ztunnel of ${namespace}/${serviceAccountName(pod)}`, perhaps: [] },
            ...{ context: { identity, port }, policies, unreadable },
          }),
        )
        return refusalOf(points) ?? []
      })
    return reasons.slice(0, 1).map((reason) => foundIn(service, 'waypoint-refused', messageOf(waypoint, reason)))
  })
}

const messageOf = ({ namespace, name }: Waypoint, reason: string): string =>
  `no request through its waypoint ${namespace}/${name} is answered, unless istiod runs with PILOT_AUTO_ALLOW_WAYPOINT_POLICY: ${reason}`

/** Tells if the policies of a waypoint let in anybody. */
const isOpen = (policies: readonly AuthorizationPolicy[]): boolean => {
  const allows = policies.filter((policy) => actionOf(policy) === 'ALLOW' && !isDryRun(policy))
  return allows.length === 0 || allows.some(({ spec: { rules = [] } }) => rules.length > 0)
}

const isBehind = (pod: KubernetesObject, { spec = {} }: KubernetesObject): boolean => {
  const { selector } = spec as Spec
  return selector !== undefined && hasLabels(podLabels(pod), selector)
}

/** The ports of a pod to which those of a Service lead. The mesh carries TCP alone. */
const podPorts = ({ spec }: KubernetesObject, pod: KubernetesObject): number[] =>
  ((spec?.ports ?? []) as (ServicePortSpec & { readonly protocol?: string })[])
    .filter(({ protocol = 'TCP' }) => protocol === 'TCP')
    .map(({ port, targetPort = port }) =>
      typeof targetPort === 'number' ? targetPort : (findNamedPort(pod, targetPort) ?? port),
    )

/** The reason why a waypoint is refused at all of these; undefined where it may pass one, or pods are closed to everybody as it was meant. */
const refusalOf = (points: readonly EnforcementPoint[]): string | undefined => {
  const [first, ...others] = points.map((point) => ({ point, verdict: enforce(point) }))
  if (first === undefined || [first, ...others].some(({ verdict }) => verdict.outcome !== 'denied')) return undefined
  const { policy } = first.verdict
  const isMeant = policy !== undefined && actionOf(policy) === 'DENY' && isForEverybody(policy)
  return isMeant ? undefined : explain({ ...first, isBehindWaypoint: true }, () => [])
}
