import { NAME_LABEL } from '../../kubernetes/services.ts'
import { autoAllowPolicies, gatewayPolicies, waypointPolicies, ztunnelPolicies } from './attachment.ts'
import {
  type AccessRequest,
  type ClusterSnapshot,
  hasLabels,
  type ServiceSnapshot,
  type Waypoint,
  type WorkloadSnapshot,
} from './cluster-snapshot.ts'
import type { EnforcementPoint, TraceStep } from './enforcement-point.ts'
import { refusesPlaintext } from './peer-authentication.ts'
import type { RequestContext } from './request-context.ts'

/** The proxies that a request passes, in order, and what there is to know about the way. */
export type ProxyChain = {
  readonly points: readonly EnforcementPoint[]
  readonly steps: readonly TraceStep[]
  /** Why there is no waypoint, where the client would pass one. */
  readonly bypassed?: string | undefined
}

/**
 * A client on the mesh reaches a Service that has a waypoint through it, and so it does pods; the pod's ztunnel then sees the waypoint
 * instead of the client. From outside the mesh there is only the ztunnel, and none where the pod is not on the mesh. What is sent to a
 * Gateway ends at its proxy.
 */
export const findProxyChain = (request: AccessRequest, world: ClusterSnapshot): ProxyChain => {
  const service = findService(request, world)
  const { workload, isKnown } = findWorkload(request, world)
  const client = requestContext(request, world)
  if (request.to.gateway) return { points: [gatewayPoint(request, world, client)], steps: clientNotes(request) }
  const { waypoint, bypassed } = selectWaypoint(request, service, workload)
  const atPod: RequestContext = { ...client, port: request.to.podPort ?? client.port }
  const behind: RequestContext = waypoint
    ? { ...atPod, identity: { trustDomain: world.trustDomain, ...waypoint }, address: undefined }
    : atPod
  return {
    points: [
      ...(waypoint ? [waypointPoint(request, world, waypoint, service ? client : atPod)] : []),
      ...(workload.onMesh ? [ztunnelPoint(request, world, workload, behind)] : []),
    ],
    steps: [...clientNotes(request), ...notes(request, service, workload, isKnown), ...bypassedStep(bypassed)],
    bypassed,
  }
}

/** A Service that has none sends on to its pods, past theirs. */
const selectWaypoint = (
  { from, to }: AccessRequest,
  service: ServiceSnapshot | undefined,
  workload: WorkloadSnapshot,
): { waypoint?: Waypoint | undefined; bypassed?: string | undefined } => {
  if (from.serviceAccount === undefined) return {}
  if (to.service !== undefined) return service ?? {}
  return from.isGateway ? {} : workload
}

const findService = ({ to }: AccessRequest, { services }: ClusterSnapshot): ServiceSnapshot | undefined =>
  services.find(({ namespace, name }) => namespace === to.namespace && name === to.service)

/** Pods that are not known are taken to be on the mesh, with the label that Juju gives them. */
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
  { from, port, method, path, host }: AccessRequest,
  { trustDomain }: ClusterSnapshot,
): RequestContext => {
  const { namespace, serviceAccount, address } = from
  const identity = serviceAccount === undefined ? undefined : { trustDomain, namespace, serviceAccount }
  return { identity, address, port, method, path, host }
}

type Envoy = Pick<EnforcementPoint, 'facts' | 'protocol' | 'perhaps' | 'enforcesDryRuns'>

/** What of HTTP is asked about says that the connection carries it, where the port says nothing. */
const envoy = (
  { trustDomain, enforcesDryRuns }: ClusterSnapshot,
  facts: RequestContext,
  protocol: EnforcementPoint['protocol'],
): Envoy => {
  const isHttp = [facts.method, facts.path, facts.host].some((value) => value !== undefined)
  return {
    facts: { ...facts, envoy: { trustDomain } },
    protocol: protocol ?? (isHttp ? 'http' : undefined),
    perhaps: [],
    enforcesDryRuns,
  }
}

const waypointPoint = (
  { to }: AccessRequest,
  world: ClusterSnapshot,
  waypoint: Waypoint,
  facts: RequestContext,
): EnforcementPoint => ({
  at: 'waypoint',
  name: `the waypoint ${waypoint.namespace}/${waypoint.name}`,
  ...envoy(world, facts, to.service === undefined ? undefined : to.protocol),
  ...waypointPolicies(world, to.service === undefined ? undefined : { ...to, name: to.service }, waypoint),
})

/** It ends the connection, which comes as plaintext or with TLS of its own: it sees no identity of the mesh. */
const gatewayPoint = ({ to }: AccessRequest, world: ClusterSnapshot, facts: RequestContext): EnforcementPoint => {
  const { name, labels } = to.gateway ?? { name: to.application, labels: {} }
  return {
    at: 'gateway',
    name: `the gateway ${to.namespace}/${name}`,
    ...envoy(world, { ...facts, identity: undefined, port: to.podPort ?? facts.port }, to.protocol),
    ...gatewayPolicies(world, { namespace: to.namespace, name, labels }),
  }
}

const ztunnelPoint = (
  { to }: AccessRequest,
  world: ClusterSnapshot,
  workload: WorkloadSnapshot,
  facts: RequestContext,
): EnforcementPoint => {
  const ofServices = world.services
    .filter((service) => service.namespace === to.namespace)
    .filter((service) => service.name === to.service || isBehind(workload, service))
    .map(({ waypoint }) => waypoint)
  const waypoints = [...ofServices, workload.waypoint].filter((waypoint) => waypoint !== undefined)
  const distinct = new Map(waypoints.map((waypoint) => [`${waypoint.namespace}/${waypoint.name}`, waypoint]))
  const { policies, unreadable } = ztunnelPolicies(world, workload)
  const added = autoAllowPolicies(world, [...distinct.values()])
  const { peerAuthentications = [], rootNamespace } = world
  return {
    at: 'ztunnel',
    name: `the ztunnel of ${workload.namespace}/${workload.name}`,
    facts,
    policies: [...policies, ...added.policies],
    perhaps: added.perhaps,
    unreadable,
    refuses: facts.identity ? undefined : refusesPlaintext(peerAuthentications, workload, facts.port, rootNamespace),
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
