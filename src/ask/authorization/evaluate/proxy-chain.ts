import { isOlder } from '../../../mesh/istio/version.ts'
import { hasLabels } from '../../../platform/kubernetes/label-selector.ts'
import { NAME_LABEL } from '../../../platform/kubernetes/services.ts'
import { autoAllowPolicies, gatewayPolicies, waypointPolicies, ztunnelPolicies } from './attachment.ts'
import type { AccessRequest, ClusterSnapshot, ServiceSnapshot, Waypoint, WorkloadSnapshot } from './cluster-snapshot.ts'
import type { EnforcementPoint, TraceStep } from './enforcement-point.ts'
import { refusesPlaintext } from './peer-authentication.ts'
import type { RequestContext } from './request-context.ts'

/** The proxies that a request passes, in order, with notes on the way. */
type ProxyChain = {
  readonly points: readonly EnforcementPoint[]
  readonly steps: readonly TraceStep[]
  /** The reason why the client passes no waypoint although labels name one. */
  readonly bypassed?: string | undefined
}

/**
 * Finds the proxies that a request passes. A client on the mesh reaches Services and pods through their waypoint, if any. The pod's ztunnel then sees the
 * waypoint as the client. A client outside the mesh passes only the ztunnel, and nothing if the pod is off the mesh. A request to a Gateway ends at its
 * proxy.
 */
export const findProxyChain = (request: AccessRequest, snapshot: ClusterSnapshot): ProxyChain => {
  const service = findService(request, snapshot)
  const { workload, isKnown } = findWorkload(request, snapshot)
  const client = requestContext(request, snapshot)
  if (request.to.gateway) return { points: [gatewayPoint(request, snapshot, client)], steps: clientNotes(request) }
  const { waypoint, bypassed } = selectWaypoint(request, snapshot, service, workload)
  const atPod: RequestContext = { ...client, port: request.to.podPort ?? client.port }
  const behind: RequestContext = waypoint
    ? { ...atPod, identity: { trustDomain: snapshot.trustDomain, ...waypoint }, address: undefined }
    : atPod
  return {
    points: [
      ...(waypoint ? [waypointPoint(request, snapshot, waypoint, service ? client : atPod)] : []),
      ...(workload.onMesh ? [ztunnelPoint(request, snapshot, workload, behind)] : []),
    ],
    steps: [...clientNotes(request), ...notes(request, service, workload, isKnown), ...bypassedStep(bypassed)],
    bypassed,
  }
}

/** Tells if a proxy on the way sees HTTP. A Gateway's proxy and a waypoint do. A ztunnel sees connections only. */
export const seesHttp = (request: AccessRequest, snapshot: ClusterSnapshot): boolean =>
  request.to.gateway !== undefined ||
  selectWaypoint(request, snapshot, findService(request, snapshot), findWorkload(request, snapshot).workload)
    .waypoint !== undefined

/** Selects the waypoint. A request to a Service without a waypoint goes straight to the pods, and bypasses their own waypoint. */
const selectWaypoint = (
  { from, to }: AccessRequest,
  snapshot: ClusterSnapshot,
  service: ServiceSnapshot | undefined,
  workload: WorkloadSnapshot,
): { waypoint?: Waypoint | undefined; bypassed?: string | undefined } => {
  if (from.serviceAccount === undefined) return {}
  if (to.service !== undefined) return service ? { ...service, waypoint: takesFrom(service, snapshot) } : {}
  return from.isGateway ? {} : workload
}

/** Returns the waypoint that a connection takes. It is the canary if that takes all connections, or if the question is about canaries. */
const takesFrom = (service: ServiceSnapshot, snapshot: ClusterSnapshot): Waypoint | undefined =>
  hasCanary(service, snapshot) && (snapshot.isByCanaries || service.canary?.weight === 100)
    ? service.canary
    : service.waypoint

const hasCanary = ({ canary }: ServiceSnapshot, { istioVersion }: ClusterSnapshot): boolean =>
  canary !== undefined && !isOlder(istioVersion, CANARIES)

const CANARIES = [1, 31, 0] as const

/** Tells if two waypoints share the connections to a Service. */
export const isShared = (service: ServiceSnapshot, snapshot: ClusterSnapshot): boolean =>
  hasCanary(service, snapshot) && service.canary?.weight !== 100

const findService = ({ to }: AccessRequest, { services }: ClusterSnapshot): ServiceSnapshot | undefined =>
  services.find(({ namespace, name }) => namespace === to.namespace && name === to.service)

/** Finds the workload. Unknown pods are assumed to be on the mesh, with the label that Juju gives them. */
const findWorkload = (
  { to }: AccessRequest,
  { workloads }: ClusterSnapshot,
): { workload: WorkloadSnapshot; isKnown: boolean } => {
  const { namespace, application: name } = to
  const known = workloads.find((one) => one.namespace === namespace && one.name === name)
  return {
    workload: known ?? { namespace, name, labels: { [NAME_LABEL]: name }, onMesh: true },
    isKnown: known !== undefined,
  }
}

const requestContext = (
  { from, port, method, path, host, carries }: AccessRequest,
  { trustDomain }: ClusterSnapshot,
): RequestContext => {
  const { namespace, serviceAccount, address } = from
  const identity = serviceAccount === undefined ? undefined : { trustDomain, namespace, serviceAccount }
  return { identity, address, port, method, path, host, carries }
}

type Envoy = Pick<EnforcementPoint, 'context' | 'protocol' | 'perhaps' | 'enforcesDryRuns'>

/** Builds the Envoy part of an enforcement point. If the port declares no protocol, HTTP attributes in the query imply HTTP. */
const envoy = (
  { trustDomain, trustDomainAliases: aliases = [], enforcesDryRuns }: ClusterSnapshot,
  context: RequestContext,
  protocol: EnforcementPoint['protocol'],
): Envoy => {
  const isHttp = [context.method, context.path, context.host].some((value) => value !== undefined)
  return {
    context: { ...context, envoy: { trustDomain, aliases } },
    protocol: protocol ?? context.carries ?? (isHttp ? 'http' : undefined),
    perhaps: [],
    enforcesDryRuns,
  }
}

const waypointPoint = (
  { to }: AccessRequest,
  snapshot: ClusterSnapshot,
  waypoint: Waypoint,
  context: RequestContext,
): EnforcementPoint => ({
  at: 'waypoint',
  name: `the waypoint ${waypoint.namespace}/${waypoint.name}`,
  ...envoy(snapshot, context, to.service === undefined ? undefined : to.protocol),
  ...waypointPolicies(snapshot, to.service === undefined ? undefined : { ...to, name: to.service }, waypoint),
})

/** Builds the gateway's enforcement point. The proxy terminates the connection, plaintext or TLS, and sees no mesh identity. */
const gatewayPoint = ({ to }: AccessRequest, snapshot: ClusterSnapshot, context: RequestContext): EnforcementPoint => {
  const { name, labels, takesCertificates } = to.gateway ?? { name: to.application, labels: {} }
  return {
    at: 'gateway',
    name: `the gateway ${to.namespace}/${name}`,
    ...envoy(
      snapshot,
      { ...context, identity: undefined, isUnknown: takesCertificates, port: to.podPort ?? context.port },
      to.protocol,
    ),
    ...gatewayPolicies(snapshot, { namespace: to.namespace, name, labels }),
  }
}

const ztunnelPoint = (
  { to }: AccessRequest,
  snapshot: ClusterSnapshot,
  workload: WorkloadSnapshot,
  context: RequestContext,
): EnforcementPoint => {
  const ofServices = snapshot.services
    .filter((service) => service.namespace === to.namespace)
    .filter((service) => service.name === to.service || isBehind(workload, service))
    .map(({ waypoint }) => waypoint)
  const waypoints = [...ofServices, workload.waypoint].filter((waypoint) => waypoint !== undefined)
  const distinct = new Map(waypoints.map((waypoint) => [`${waypoint.namespace}/${waypoint.name}`, waypoint]))
  const { policies, unreadable } = ztunnelPolicies(snapshot, workload)
  const added = autoAllowPolicies(snapshot, [...distinct.values()])
  const { peerAuthentications = [], rootNamespace } = snapshot
  return {
    at: 'ztunnel',
    name: `the ztunnel of ${workload.namespace}/${workload.name}`,
    context,
    policies: [...policies, ...added.policies],
    perhaps: added.perhaps,
    unreadable,
    refuses: context.identity
      ? undefined
      : refusesPlaintext(peerAuthentications, workload, context.port, rootNamespace),
  }
}

const isBehind = ({ name, labels }: WorkloadSnapshot, service: ServiceSnapshot): boolean =>
  service.selector === undefined ? service.name === name : hasLabels(labels, service.selector)

const bypassedStep = (bypassed: string | undefined): TraceStep[] =>
  bypassed === undefined ? [] : [{ at: 'destination', note: `${bypassed}: no policy of the Service is enforced` }]

const step = (at: TraceStep['at'], applies: boolean, note: string): TraceStep[] => (applies ? [{ at, note }] : [])

const clientNotes = ({ from: { serviceAccount }, to }: AccessRequest): TraceStep[] => [
  ...step(
    'client',
    serviceAccount === undefined,
    'the client is outside the mesh: it has no identity and passes no waypoint',
  ),
  ...step('client', serviceAccount !== undefined && to.gateway !== undefined, 'a gateway sees no identity of the mesh'),
]

const notes = (
  { to, port }: AccessRequest,
  service: ServiceSnapshot | undefined,
  { onMesh }: WorkloadSnapshot,
  isKnown: boolean,
): TraceStep[] => {
  const { podPort = port } = to
  return [
    ...step('destination', to.service !== undefined && !service, 'the Service is not known, nor is a waypoint of it'),
    ...step('destination', !isKnown, 'the pods are not known, and taken to be on the mesh'),
    ...step('destination', podPort !== port, `port ${port} of the Service is port ${podPort} of the pods`),
    ...step('destination', !onMesh, 'the pods are not on the mesh, where no ztunnel guards them'),
  ]
}
