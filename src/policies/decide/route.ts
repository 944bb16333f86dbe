import { NAME_LABEL } from '../target.ts'
import { autoAllowPolicies, waypointPolicies, ztunnelPolicies } from './attachment.ts'
import type { Facts } from './facts.ts'
import type { Point, Step } from './look.ts'
import {
  type AccessRequest,
  hasLabels,
  type ServiceInWorld,
  type Waypoint,
  type WorkloadInWorld,
  type World,
} from './world.ts'

/** The proxies that a request passes, in order, and what there is to know about the way. */
export type Route = {
  readonly points: readonly Point[]
  readonly steps: readonly Step[]
  /** Why there is no waypoint, where the client would pass one. */
  readonly bypassed?: string | undefined
}

/**
 * A client on the mesh reaches a Service that has a waypoint through it; the pod's ztunnel then sees the waypoint instead of the client.
 * Straight to a pod, or from outside the mesh, there is only the ztunnel, and none where the pod is not on the mesh.
 */
export const routeOf = (request: AccessRequest, world: World): Route => {
  const service = serviceOf(request, world)
  const { workload, isKnown } = workloadOf(request, world)
  const client = factsOf(request, world)
  const waypoint = client.identity && service?.waypoint
  const bypassed = client.identity && service?.bypassed
  const atPod: Facts = { ...client, port: request.to.podPort ?? client.port }
  const behind: Facts = waypoint
    ? { ...atPod, identity: { trustDomain: world.trustDomain, ...waypoint }, address: undefined }
    : atPod
  return {
    points: [
      ...(service && waypoint ? [waypointPoint(world, service, waypoint, client)] : []),
      ...(workload.onMesh ? [ztunnelPoint(request, world, workload, behind)] : []),
    ],
    steps: [...notes(request, service, workload, isKnown), ...bypassedStep(bypassed)],
    bypassed,
  }
}

const serviceOf = ({ to }: AccessRequest, { services }: World): ServiceInWorld | undefined =>
  services.find(({ namespace, name }) => namespace === to.namespace && name === to.service)

/** Pods that are not known are taken to be on the mesh, with the label that Juju gives them. */
const workloadOf = ({ to }: AccessRequest, { workloads }: World): { workload: WorkloadInWorld; isKnown: boolean } => {
  const { namespace, application: name } = to
  const known = workloads.find((one) => one.namespace === namespace && one.name === name)
  return {
    workload: known ?? { namespace, name, labels: { [NAME_LABEL]: name }, onMesh: true },
    isKnown: known !== undefined,
  }
}

const factsOf = ({ from, port, method, path, host }: AccessRequest, { trustDomain }: World): Facts => {
  const { namespace, serviceAccount, address } = from
  const identity = serviceAccount === undefined ? undefined : { trustDomain, namespace, serviceAccount }
  return { identity, address, port, method, path, host }
}

const waypointPoint = (world: World, service: ServiceInWorld, waypoint: Waypoint, facts: Facts): Point => ({
  at: 'waypoint',
  name: `the waypoint ${waypoint.namespace}/${waypoint.name}`,
  facts,
  ...waypointPolicies(world, service, waypoint),
})

const ztunnelPoint = ({ to }: AccessRequest, world: World, workload: WorkloadInWorld, facts: Facts): Point => {
  const waypoints = world.services
    .filter((service) => service.namespace === to.namespace)
    .filter((service) => service.name === to.service || isBehind(workload, service))
    .flatMap(({ waypoint }) => (waypoint ? [waypoint] : []))
  const distinct = new Map(waypoints.map((waypoint) => [`${waypoint.namespace}/${waypoint.name}`, waypoint]))
  const { policies, unreadable } = ztunnelPolicies(world, workload)
  return {
    at: 'ztunnel',
    name: `the ztunnel of ${workload.namespace}/${workload.name}`,
    facts,
    policies: [...policies, ...autoAllowPolicies(world, [...distinct.values()])],
    unreadable,
  }
}

const isBehind = ({ name, labels }: WorkloadInWorld, service: ServiceInWorld): boolean =>
  service.selector === undefined ? service.name === name : hasLabels(labels, service.selector)

const bypassedStep = (bypassed: string | undefined): Step[] =>
  bypassed === undefined ? [] : [{ at: 'destination', note: `${bypassed}: no policy of the Service is enforced` }]

const notes = (
  { from, to, port }: AccessRequest,
  service: ServiceInWorld | undefined,
  { onMesh }: WorkloadInWorld,
  isKnown: boolean,
): Step[] => {
  const step = (at: Step['at'], applies: boolean, note: string): Step[] => (applies ? [{ at, note }] : [])
  const { podPort = port } = to
  const isOutside = from.serviceAccount === undefined
  return [
    ...step('client', isOutside, 'the client is outside the mesh: it has no identity and passes no waypoint'),
    ...step('destination', to.service !== undefined && !service, 'the Service is not known, nor is a waypoint of it'),
    ...step('destination', !isKnown, 'the pods are not known, and taken to be on the mesh'),
    ...step('destination', podPort !== port, `port ${port} of the Service is port ${podPort} of the pods`),
    ...step('destination', !onMesh, 'the pods are not on the mesh, where no ztunnel guards them'),
  ]
}
