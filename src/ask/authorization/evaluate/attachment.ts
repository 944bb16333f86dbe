import {
  type Attachment,
  type AuthorizationPolicy,
  authorizationPolicy,
  isForNoPods,
  type TargetRef,
  targetsOf,
} from '../../../mesh/istio/authorization-policy.ts'
import { principal } from '../../../mesh/istio/names.ts'
import { isOlder, LOWEST } from '../../../mesh/istio/version.ts'
import { createMemo } from '../../../platform/base/memo.ts'
import { hasLabels } from '../../../platform/kubernetes/label-selector.ts'
import type { ClusterSnapshot, Waypoint, WorkloadSnapshot } from './cluster-snapshot.ts'
import type { EnforcementPoint } from './enforcement-point.ts'

/** The policies of a point. */
type AttachedPolicies = Pick<EnforcementPoint, 'policies' | 'unreadable'>

/** Tells if a policy of `namespace` is attached to an enforcement point. */
type IsAttached = (namespace: string, attachment: Attachment) => boolean

/**
 * Selects the policies that a workload's ztunnel enforces. They have no target reference, are in the workload's or the root namespace,
 * and select its labels.
 */
export const ztunnelPolicies = (snapshot: ClusterSnapshot, { namespace, labels }: WorkloadSnapshot): AttachedPolicies =>
  selectAttached(
    snapshot,
    [namespace],
    (policyNamespace, attachment) =>
      targetsOf(attachment).length === 0 &&
      [namespace, snapshot.rootNamespace].includes(policyNamespace) &&
      !isForNoPods(attachment) &&
      hasLabels(labels, attachment.selector?.matchLabels),
  )

type Named = { readonly namespace: string; readonly name: string }

/** Selects the policies that refer to the waypoint's Gateway, to all waypoints, or to the requested Service. A request to a pod's address has no Service. */
export const waypointPolicies = (
  snapshot: ClusterSnapshot,
  service: Named | undefined,
  waypoint: Waypoint,
): AttachedPolicies => {
  const isMet = (namespace: string, target: TargetRef): boolean => {
    const { name } = target
    const type = targetType(target)
    if (type === '/Service') return namespace === service?.namespace && name === service.name
    if (type === 'gateway.networking.k8s.io/GatewayClass')
      return (
        namespace === snapshot.rootNamespace && name === 'istio-waypoint' && !isOlder(snapshot.istioVersion, LOWEST)
      )
    return isGateway(namespace, target, waypoint)
  }
  const namespaces = [...(service ? [service.namespace] : []), waypoint.namespace]
  return selectAttached(snapshot, namespaces, (namespace, attachment) =>
    targetsOf(attachment).some((target) => isMet(namespace, target)),
  )
}

type GatewayPods = Named & { readonly labels: Readonly<Record<string, string>> }

/** Selects the policies of a Gateway's proxy: those that refer to it, or select its pods. */
export const gatewayPolicies = (snapshot: ClusterSnapshot, gateway: GatewayPods): AttachedPolicies =>
  selectAttached(snapshot, [gateway.namespace], (namespace, attachment) => {
    const targets = targetsOf(attachment)
    if (targets.length > 0) return targets.some((target) => isGateway(namespace, target, gateway))
    return (
      [gateway.namespace, snapshot.rootNamespace].includes(namespace) &&
      hasLabels(gateway.labels, attachment.selector?.matchLabels)
    )
  })

const targetType = ({ group = '', kind }: TargetRef): string => `${group === 'core' ? '' : group}/${kind}`

const isGateway = (namespace: string, target: TargetRef, gateway: Named): boolean =>
  targetType(target) === 'gateway.networking.k8s.io/Gateway' &&
  namespace === gateway.namespace &&
  [undefined, '', namespace].includes(target.namespace) &&
  target.name === gateway.name

/** Selects attached policies. An unreadable attachment counts in each of `namespaces` and in the root namespace. */
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
 * Builds the ALLOW policies that istiod adds with auto-allow, one for each waypoint of the workload and of its Services. Each lets its waypoint through,
 * and so denies all clients that no other ALLOW policy admits. They are conditional while the flag is unknown.
 */
export const autoAllowPolicies = (
  { autoAllowWaypoint, trustDomain }: ClusterSnapshot,
  waypoints: readonly Waypoint[],
): Pick<EnforcementPoint, 'policies' | 'perhaps'> => {
  const policies = waypoints.map(({ namespace, name, serviceAccount }) =>
    made(JSON.stringify({ trustDomain, namespace, name, serviceAccount }), autoAllowPolicy),
  )
  if (autoAllowWaypoint === undefined)
    return { policies: [], perhaps: policies.map((policy) => ({ policy, perhaps: AUTO_ALLOW })) }
  return { policies: autoAllowWaypoint ? policies : [], perhaps: [] }
}

/** Every request needs the same few policies. */
const made = createMemo(64 * 1024)

const autoAllowPolicy = (text: string): AuthorizationPolicy => {
  const { name, ...account } = JSON.parse(text) as Waypoint & { readonly trustDomain: string }
  return authorizationPolicy({
    metadata: { name: `istio_allow_waypoint_${account.namespace}_${name}`, namespace: account.namespace },
    spec: { action: 'ALLOW', rules: [{ from: [{ source: { principals: [principal(account)] } }] }] },
  })
}

const AUTO_ALLOW =
  'it exists only if istiod runs with PILOT_AUTO_ALLOW_WAYPOINT_POLICY, which is not the default (autoAllowWaypoint= or --auto-allow-waypoint sets it)'
