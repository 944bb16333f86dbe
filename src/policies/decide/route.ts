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
export type Route = { readonly points: readonly Point[]; readonly steps: readonly Step[] }

/**
 * A client on the mesh reaches a Service that has a waypoint through it; the pod's ztunnel then sees the waypoint instead of the client.
 * Straight to a pod, or from outside the mesh, there is only the ztunnel, and none where the pod is not on the mesh.
 */
export const routeOf = (request: AccessRequest, world: World): Route => {
  const service = serviceOf(request, world)
  const { workload, isKnown } = workloadOf(request, world)
  const client = factsOf(request, world)
  const waypoint = client.identity && service?.waypoint
  const behind: Facts = waypoint
    ? { ...client, identity: { trustDomain: world.trustDomain, ...waypoint }, address: undefined }
    : client
  return {
    points: [
      ...(service && waypoint ? [waypointPoint(world, service, waypoint, client)] : []),
      ...(workload.onMesh ? [ztunnelPoint(request, world, workload, behind)] : []),
    ],
    steps: notes(request, service, workload, isKnown),
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
  policies: waypointPolicies(world, service, waypoint),
})

const ztunnelPoint = ({ to }: AccessRequest, world: World, workload: WorkloadInWorld, facts: Facts): Point => {
  const waypoints = world.services
    .filter((service) => service.namespace === to.namespace)
    .filter((service) => service.name === to.service || isBehind(workload, service))
    .flatMap(({ waypoint }) => (waypoint ? [waypoint] : []))
  const distinct = new Map(waypoints.map((waypoint) => [`${waypoint.namespace}/${waypoint.name}`, waypoint]))
  return {
    at: 'ztunnel',
    name: `the ztunnel of ${workload.namespace}/${workload.name}`,
    facts,
    policies: [...ztunnelPolicies(world, workload), ...autoAllowPolicies(world, [...distinct.values()])],
  }
}

const isBehind = ({ name, labels }: WorkloadInWorld, service: ServiceInWorld): boolean =>
  service.selector === undefined ? service.name === name : hasLabels(labels, service.selector)

const notes = (
  { from, to }: AccessRequest,
  service: ServiceInWorld | undefined,
  { onMesh }: WorkloadInWorld,
  isKnown: boolean,
): Step[] => {
  const step = (at: Step['at'], applies: boolean, note: string): Step[] => (applies ? [{ at, note }] : [])
  const isOutside = from.serviceAccount === undefined
  return [
    ...step('client', isOutside, 'the client is outside the mesh: it has no identity and passes no waypoint'),
    ...step('destination', to.service !== undefined && !service, 'the Service is not known, nor is a waypoint of it'),
    ...step('destination', !isKnown, 'the pods are not known, and taken to be on the mesh'),
    ...step('destination', !onMesh, 'the pods are not on the mesh, where no ztunnel guards them'),
  ]
}
