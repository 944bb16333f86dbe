import { type Attachment, authorizationPolicy, type TargetRef } from '../../istio/authorization-policy.ts'
import { principal } from '../../istio/names.ts'
import { type ClusterSnapshot, hasLabels, type Waypoint, type WorkloadSnapshot } from './cluster-snapshot.ts'
import type { EnforcementPoint } from './enforcement-point.ts'

/** The policies of a point. */
type AttachedPolicies = Pick<EnforcementPoint, 'policies' | 'unreadable'>

/** Whether a policy of `namespace` holds at a point. */
type IsAttached = (namespace: string, attachment: Attachment) => boolean

/**
 * The policies that the ztunnel of a workload enforces: those without a target reference, in the workload's namespace or in the root
 * namespace, whose selector the workload has.
 */
export const ztunnelPolicies = (world: ClusterSnapshot, { namespace, labels }: WorkloadSnapshot): AttachedPolicies =>
  selectAttached(
    world,
    [namespace],
    (policyNamespace, attachment) =>
      targetReferences(attachment).length === 0 &&
      [namespace, world.rootNamespace].includes(policyNamespace) &&
      hasLabels(labels, attachment.selector?.matchLabels),
  )

type Named = { readonly namespace: string; readonly name: string }

/**
 * The policies that a waypoint enforces: those that refer to its Gateway, to all waypoints, or to the Service that is asked for, which
 * there is none of on the way to a pod.
 */
export const waypointPolicies = (
  world: ClusterSnapshot,
  service: Named | undefined,
  waypoint: Waypoint,
): AttachedPolicies => {
  const isMet = (namespace: string, target: TargetRef): boolean => {
    const { name } = target
    const type = targetType(target)
    if (type === '/Service') return namespace === service?.namespace && name === service.name
    if (type === 'gateway.networking.k8s.io/GatewayClass')
      return namespace === world.rootNamespace && name === 'istio-waypoint'
    return isGateway(namespace, target, waypoint)
  }
  const namespaces = [...(service ? [service.namespace] : []), waypoint.namespace]
  return selectAttached(world, namespaces, (namespace, attachment) =>
    targetReferences(attachment).some((target) => isMet(namespace, target)),
  )
}

type GatewayPods = Named & { readonly labels: Readonly<Record<string, string>> }

/** The policies that the proxy of a Gateway enforces: those that refer to it, and those that select its pods, by labels or all. */
export const gatewayPolicies = (world: ClusterSnapshot, gateway: GatewayPods): AttachedPolicies =>
  selectAttached(world, [gateway.namespace], (namespace, attachment) => {
    const targets = targetReferences(attachment)
    if (targets.length > 0) return targets.some((target) => isGateway(namespace, target, gateway))
    return (
      [gateway.namespace, world.rootNamespace].includes(namespace) &&
      hasLabels(gateway.labels, attachment.selector?.matchLabels)
    )
  })

const targetType = ({ group = '', kind }: TargetRef): string => `${group === 'core' ? '' : group}/${kind}`

const isGateway = (namespace: string, target: TargetRef, gateway: Named): boolean =>
  targetType(target) === 'gateway.networking.k8s.io/Gateway' &&
  namespace === gateway.namespace &&
  [undefined, '', namespace].includes(target.namespace) &&
  target.name === gateway.name

/** Of one whose attachment cannot be read it counts that it could hold there: it is in one of `namespaces`, or in the root namespace. */
const selectAttached = (
  { policies, unreadable = [], rootNamespace }: ClusterSnapshot,
  namespaces: string[],
  holds: IsAttached,
): AttachedPolicies => ({
  policies: policies.filter(({ metadata, spec }) => holds(metadata.namespace, spec)),
  unreadable: unreadable.filter(({ namespace, attachment }) =>
    attachment === undefined ? [...namespaces, rootNamespace].includes(namespace) : holds(namespace, attachment),
  ),
})

/**
 * What istiod adds with auto-allow, for each waypoint of the workload and of its Services: an ALLOW policy, which lets the waypoint
 * through and so closes the workload to everybody whom no other ALLOW policy lets through. Perhaps, where the flag is not known.
 */
export const autoAllowPolicies = (
  { autoAllowWaypoint, trustDomain }: ClusterSnapshot,
  waypoints: readonly Waypoint[],
): Pick<EnforcementPoint, 'policies' | 'perhaps'> => {
  const policies = waypoints.map(({ namespace, name, serviceAccount }) =>
    authorizationPolicy({
      metadata: { name: `istio_allow_waypoint_${namespace}_${name}`, namespace },
      spec: {
        action: 'ALLOW',
        rules: [{ from: [{ source: { principals: [principal({ trustDomain, namespace, serviceAccount })] } }] }],
      },
    }),
  )
  if (autoAllowWaypoint === undefined)
    return { policies: [], perhaps: policies.map((policy) => ({ policy, perhaps: AUTO_ALLOW })) }
  return { policies: autoAllowWaypoint ? policies : [], perhaps: [] }
}

const AUTO_ALLOW =
  'it is there only where istiod runs with PILOT_AUTO_ALLOW_WAYPOINT_POLICY, which stock Istio does not (autoAllowWaypoint= says it)'

const targetReferences = ({ targetRefs = [], targetRef }: Attachment): TargetRef[] =>
  targetRefs.length === 0 && targetRef ? [targetRef] : targetRefs
