import { principal } from '../../mesh/names.ts'
import { type AuthorizationPolicy, authorizationPolicy, type TargetRef } from '../authorization-policy.ts'
import { hasLabels, type ServiceInWorld, type Waypoint, type WorkloadInWorld, type World } from './world.ts'

/**
 * The policies that the ztunnel of a workload enforces: those without a target reference, in the workload's namespace or in the root
 * namespace, whose selector the workload has.
 */
export const ztunnelPolicies = (
  { policies, rootNamespace }: World,
  { namespace, labels }: WorkloadInWorld,
): AuthorizationPolicy[] =>
  policies.filter(
    ({ metadata, spec }) =>
      targetsOf(spec).length === 0 &&
      [namespace, rootNamespace].includes(metadata.namespace) &&
      hasLabels(labels, spec.selector?.matchLabels),
  )

/** The policies that a waypoint enforces for a Service: those that refer to the Service, to its Gateway, or to all waypoints. */
export const waypointPolicies = (
  { policies, rootNamespace }: World,
  service: ServiceInWorld,
  waypoint: Waypoint,
): AuthorizationPolicy[] => {
  const isMet = (namespace: string, { group = '', kind, name }: TargetRef): boolean => {
    const type = `${group === 'core' ? '' : group}/${kind}`
    if (type === '/Service') return namespace === service.namespace && name === service.name
    if (type === 'gateway.networking.k8s.io/Gateway') return namespace === waypoint.namespace && name === waypoint.name
    return type === 'gateway.networking.k8s.io/GatewayClass' && namespace === rootNamespace && name === 'istio-waypoint'
  }
  return policies.filter(({ metadata, spec }) =>
    targetsOf(spec).some(
      (target) => [undefined, '', metadata.namespace].includes(target.namespace) && isMet(metadata.namespace, target),
    ),
  )
}

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

const targetsOf = ({ targetRefs = [], targetRef }: AuthorizationPolicy['spec']): TargetRef[] =>
  targetRefs.length === 0 && targetRef ? [targetRef] : targetRefs
