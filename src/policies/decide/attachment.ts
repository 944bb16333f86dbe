import { principal } from '../../mesh/names.ts'
import {
  type Attachment,
  type AuthorizationPolicy,
  authorizationPolicy,
  type TargetRef,
} from '../authorization-policy.ts'
import type { Point } from './look.ts'
import { hasLabels, type ServiceInWorld, type Waypoint, type WorkloadInWorld, type World } from './world.ts'

/** The policies of a point. */
type Held = Pick<Point, 'policies' | 'unreadable'>

/** Whether a policy of `namespace` holds at a point. */
type Holds = (namespace: string, attachment: Attachment) => boolean

/**
 * The policies that the ztunnel of a workload enforces: those without a target reference, in the workload's namespace or in the root
 * namespace, whose selector the workload has.
 */
export const ztunnelPolicies = (world: World, { namespace, labels }: WorkloadInWorld): Held =>
  held(
    world,
    [namespace],
    (policyNamespace, attachment) =>
      targetsOf(attachment).length === 0 &&
      [namespace, world.rootNamespace].includes(policyNamespace) &&
      hasLabels(labels, attachment.selector?.matchLabels),
  )

/** The policies that a waypoint enforces for a Service: those that refer to the Service, to its Gateway, or to all waypoints. */
export const waypointPolicies = (world: World, service: ServiceInWorld, waypoint: Waypoint): Held => {
  const isMet = (namespace: string, { group = '', kind, name }: TargetRef): boolean => {
    const type = `${group === 'core' ? '' : group}/${kind}`
    if (type === '/Service') return namespace === service.namespace && name === service.name
    if (type === 'gateway.networking.k8s.io/Gateway') return namespace === waypoint.namespace && name === waypoint.name
    return (
      type === 'gateway.networking.k8s.io/GatewayClass' &&
      namespace === world.rootNamespace &&
      name === 'istio-waypoint'
    )
  }
  return held(world, [service.namespace, waypoint.namespace], (namespace, attachment) =>
    targetsOf(attachment).some(
      (target) => [undefined, '', namespace].includes(target.namespace) && isMet(namespace, target),
    ),
  )
}

/** Of one whose attachment cannot be read it counts that it could hold there: it is in one of `namespaces`, or in the root namespace. */
const held = ({ policies, unreadable = [], rootNamespace }: World, namespaces: string[], holds: Holds): Held => ({
  policies: policies.filter(({ metadata, spec }) => holds(metadata.namespace, spec)),
  unreadable: unreadable.filter(({ namespace, attachment }) =>
    attachment === undefined ? [...namespaces, rootNamespace].includes(namespace) : holds(namespace, attachment),
  ),
})

/**
 * What istiod adds with auto-allow, for each waypoint that a Service of the workload uses: an ALLOW policy, which lets the waypoint
 * through and so closes the workload to everybody whom no other ALLOW policy lets through.
 */
export const autoAllowPolicies = (
  { autoAllowWaypoint, trustDomain }: World,
  waypoints: readonly Waypoint[],
): AuthorizationPolicy[] =>
  autoAllowWaypoint
    ? waypoints.map(({ namespace, name, serviceAccount }) =>
        authorizationPolicy({
          metadata: { name: `istio_allow_waypoint_${namespace}_${name}`, namespace },
          spec: {
            action: 'ALLOW',
            rules: [{ from: [{ source: { principals: [principal({ trustDomain, namespace, serviceAccount })] } }] }],
          },
        }),
      )
    : []

const targetsOf = ({ targetRefs = [], targetRef }: Attachment): TargetRef[] =>
  targetRefs.length === 0 && targetRef ? [targetRef] : targetRefs
