import { describeCondition } from '../../platform/base/condition.ts'
import { Refused } from '../../platform/base/errors.ts'
import { ownValue } from '../../platform/base/own-value.ts'
import { type Subject, subjectName } from '../../platform/base/subject.ts'
import { hasLabels } from '../../platform/kubernetes/label-selector.ts'
import type { KubernetesObject } from '../../platform/kubernetes/objects.ts'
import { type PodLike, podLabels } from '../../platform/kubernetes/pod-like.ts'
import { isHeadless, isSelecting } from '../../platform/kubernetes/services.ts'
import type { Typed } from '../../platform/kubernetes/typed.ts'
import type { AccessRequest, ServiceSnapshot, WorkloadSnapshot } from './evaluate.ts'
import { findIngress, findListener } from './ingress.ts'
import type { ObservedCluster } from './observe.ts'
import { allPods, countEnrolled, findNamedPort, gatewayName, isGateway, loneProxy, typicalPod } from './pods.ts'
import { detectProtocol, lacksPort, tcpPorts } from './protocol.ts'
import type { Query } from './query.ts'
import { nothingRuns, type Side, sideName } from './side.ts'
import { findWaypoint, type WaypointResult } from './waypoint.ts'

export type Destination = {
  readonly to: AccessRequest['to']
  readonly services: readonly ServiceSnapshot[]
  readonly workloads: readonly WorkloadSnapshot[]
  readonly notes: readonly string[]
  /** States how many of its pods are on the mesh, where only some are. */
  readonly partly?: string | undefined
  /** Reasons why no answer is certain. */
  readonly doubts: readonly string[]
  /** The reason why the pods behind the Service are unknown. */
  readonly unknownPods?: string | undefined
}

/** Resolves the destination: a Service, pods, or the proxy of a Gateway. Throws Refused, 404, for an unknown one. */
export const resolveDestination = (query: Query, observed: ObservedCluster, isFromGateway: boolean): Destination => {
  const { namespace, application } = query.to
  const pod = observed.to && typicalPod(observed.to, observed.toNamespace?.metadata.labels ?? {})
  if (pod && isGateway(pod)) return resolveGateway(query, observed, pod)
  const service = findService(query, observed)
  const straight = service && directReason(service, observed, isFromGateway)
  const { podPort, protocol, note, lacking } =
    service && !isHeadless(service) ? resolvePort(service, query.port, pod) : {}
  const { workloads, doubt, partly } = workloadSnapshots(query, observed, pod)
  const found = observed.services.map((one) => ({
    service: one,
    ...withDoubt(findWaypointOf(one, observed), one, observed),
  }))
  return {
    to: { namespace, application, service: straight ? undefined : service?.metadata.name, podPort, protocol },
    services: found.map(serviceSnapshot),
    workloads,
    notes: [straight, note, partly, namesakeNote(query.to, observed)].filter((one) => one !== undefined),
    partly,
    doubts: [
      ...proxyDoubts(observed),
      ...found.filter((one) => isAbout(one.service, service, pod)).flatMap(({ doubt }) => doubt ?? []),
      ...[doubt, nameDoubt(service), lacking].filter((one) => one !== undefined),
    ],
    unknownPods: service && podsDoubt(service, pod, query.to),
  }
}

/** Tells how to ask about a Gateway that has the same name as the application. */
const namesakeNote = (to: Side, { gateways }: ObservedCluster): string | undefined =>
  to.kind === undefined && findIngress(gateways, to)
    ? `a Gateway has the same name: ask about it as ${sideName({ ...to, kind: 'gateway' })}`
    : undefined

/** Returns the reason why the target of a Service is unknown, if it is. */
const nameDoubt = (service: KubernetesObject | undefined): string | undefined =>
  service?.spec?.type === 'ExternalName'
    ? 'the Service is of type ExternalName: it stands for another name, which is not followed here'
    : undefined

/** Returns the reason why the pods behind a Service are unknown, if they are. */
const podsDoubt = (service: Typed<'Service'>, pod: PodLike | undefined, to: Subject): string | undefined => {
  if (Object.keys(service.spec?.selector ?? {}).length === 0)
    return 'the Service has no selector: where it leads to is not known here'
  if (pod === undefined) return 'the Service selects no pods'
  return isSelecting(service, podLabels(pod))
    ? undefined
    : `the Service does not select the pods of ${subjectName(to)}, but others or none`
}

/** Resolves a Gateway's proxy. Throws Refused, 400, for a waypoint, which is no destination of its own. */
const resolveGateway = ({ to, port }: Query, { gateways, services }: ObservedCluster, pod: PodLike): Destination => {
  const { namespace, application } = to
  const name = gatewayName(pod) ?? application
  const gateway = findIngress(gateways, { namespace, application: name })
  if (gateway === undefined)
    throw new Refused(
      400,
      `query.to: expected an application or a Gateway that takes traffic from outside, got ${namespace}/${application}`,
    )
  const service = to.kind === 'gateway' ? undefined : services.find(({ metadata }) => metadata.name === application)
  const { podPort, note, lacking } = service ? resolvePort(service, port, pod) : {}
  const listener = findListener(gateway, podPort ?? port)
  return {
    to: {
      ...{ namespace, application, podPort, protocol: listener.protocol },
      gateway: { name, labels: podLabels(pod), takesCertificates: listener.takesCertificates },
    },
    services: [],
    workloads: [],
    doubts: [lacking, listener.lacking].filter((one) => one !== undefined),
    notes: [note].filter((one) => one !== undefined),
  }
}

/** Finds the Service; undefined when the request goes to a pod. */
const findService = ({ to, via }: Query, { services, to: pods }: ObservedCluster): KubernetesObject | undefined => {
  const name = `${to.namespace}/${to.application}`
  if (to.kind === 'gateway' || (to.kind === 'pod' && pods === undefined))
    throw new Refused(404, `query.to: ${nothingRuns(to)}`)
  if (via === 'pod' && (pods === undefined || allPods(pods).length === 0))
    throw new Refused(
      404,
      `query.to: there is neither a StatefulSet nor a Deployment ${name}, nor a Service that selects pods`,
    )
  if (via === 'pod' || to.kind === 'pod') return undefined
  const service = services.find(({ metadata }) => metadata.name === to.application)
  if (service) return service
  throw new Refused(
    404,
    `query.to: there is no Service ${name}; via=pod asks about a request straight to its pods, and a ServiceEntry cannot be asked about`,
  )
}

/** Returns the reason why a request bypasses the Service's address and goes straight to the pods, if any. */
const directReason = (
  service: KubernetesObject,
  { toNamespace }: ObservedCluster,
  isFromGateway: boolean,
): string | undefined => {
  if (isHeadless(service)) return 'the Service has no address of its own: requests go straight to the pods'
  const labels = [service, toNamespace].map((object) =>
    ownValue(object?.metadata.labels, 'istio.io/ingress-use-waypoint'),
  )
  const usesWaypoint = labels.find((label) => label !== undefined)?.toLowerCase() === 'true'
  return isFromGateway && !usesWaypoint
    ? 'the client is a gateway: it sends straight to the pods, as no label istio.io/ingress-use-waypoint asks for more'
    : undefined
}

const resolvePort = (
  service: KubernetesObject,
  port: number,
  pod: PodLike | undefined,
): { podPort?: number | undefined; protocol?: 'http' | 'tcp' | undefined; note?: string; lacking?: string } => {
  const ports = tcpPorts(service)
  const found = ports.find((one) => one.port === port)
  if (found === undefined) return { lacking: `the Service ${lacksPort(ports, port)}` }
  const { targetPort = port } = found
  const protocol = detectProtocol(found)
  if (typeof targetPort === 'number') return { podPort: targetPort, protocol }
  const podPort = pod && findNamedPort(pod, targetPort)
  return podPort === undefined
    ? { protocol, note: `no container names its port ${targetPort}: it is taken to be ${port}` }
    : { protocol, podPort }
}

const proxyDoubts = ({ to, toNamespace }: ObservedCluster): string[] => {
  const proxy = to && loneProxy(to, toNamespace?.metadata.labels ?? {})
  return proxy ? [PROXIES[proxy]] : []
}

const PROXIES = {
  sidecar: 'its pods have a sidecar, or may have one, which enforces policies in its own way',
  gateway: 'its pods are a gateway that no Gateway describes, which enforces policies in its own way',
}

const findWaypointOf = (service: KubernetesObject, { toNamespace, gateways = [], gatewayClasses }: ObservedCluster) =>
  findWaypoint(service, toNamespace?.metadata ?? {}, gateways, 'service', gatewayClasses)

/** Adds a doubt if Istio has not taken the Service yet: it may still be led elsewhere, or straight to its pods. */
const withDoubt = (
  found: WaypointResult,
  service: KubernetesObject,
  { untaken = [] }: ObservedCluster,
): WaypointResult => {
  const pending = untaken.find(({ live }) => live === service)
  return pending ? { ...found, doubt: describeCondition(pending.condition) } : found
}

/** Describes one of all Services of the namespace. All are needed, because the waypoint of another Service may also close the pods. */
const serviceSnapshot = ({
  service,
  waypoint,
  canary,
  bypassed,
}: { service: KubernetesObject & Typed<'Service'> } & WaypointResult): ServiceSnapshot => ({
  namespace: service.metadata.namespace ?? '',
  name: service.metadata.name,
  selector: service.spec?.selector,
  waypoint,
  ...(canary !== undefined && { canary }),
  bypassed,
})

/** Tells if a Service is the requested one, or selects the same pods, so that its waypoint may close them. */
const isAbout = (one: Typed<'Service'>, asked: KubernetesObject | undefined, pod: PodLike | undefined): boolean =>
  one === asked || (pod !== undefined && hasLabels(podLabels(pod), one.spec?.selector))

const workloadSnapshots = (
  { to: { namespace, application } }: Query,
  { to, toNamespace, gateways = [], gatewayClasses }: ObservedCluster,
  pod: PodLike | undefined,
): Pick<WaypointResult, 'doubt'> & { workloads: WorkloadSnapshot[]; partly?: string } => {
  if (to === undefined || pod === undefined) return { workloads: [] }
  const namespaceLabels = toNamespace?.metadata.labels ?? {}
  const { on, of } = countEnrolled(to, namespaceLabels)
  const labels = podLabels(pod)
  const metadata = { name: application, namespace, labels: { ...labels } }
  // a ztunnel sends requests for a pod through the pod's waypoint, even if the pod is off the mesh
  const { waypoint, doubt } = findWaypoint(
    { metadata },
    toNamespace?.metadata ?? {},
    gateways,
    'workload',
    gatewayClasses,
  )
  const isPartly = on > 0 && on < of
  return {
    workloads: [{ namespace, name: application, labels, onMesh: on > 0, waypoint }],
    ...(doubt !== undefined && { doubt }),
    ...(isPartly && { partly: `only ${on} of its ${of} pods are on the mesh, and nothing guards the others` }),
  }
}
