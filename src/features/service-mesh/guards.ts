import type { MeshPolicy } from '../../core/policies/models.ts'
import type { Guard } from '../../core/policies/request.ts'
import { applicationPods, findTarget, type PolicyTarget, targetKey } from '../../core/policies/target.ts'
import { configRequester } from '../../core/relations/requester-names.ts'
import type { MeshConfig } from '../../mesh/istio/beacon-config.ts'
import { runsWaypoint, waypointPrincipals } from '../../mesh/istio/waypoint.ts'
import type { Subject } from '../../platform/base/subject.ts'
import type { DeclaredTarget, Requester } from './consumer-requests.ts'
import { nobodyMayReach } from './declared-targets.ts'

/**
 * Guards an application's targets, and the pods behind its Services, so that no client bypasses the waypoint. Pods behind a guarded Service admit the
 * waypoint, and peers that a policy for pods admits. Without a waypoint nothing enforces policies of Services, and the pods admit only these peers. The
 * policies of Services are written nevertheless, so that they exist when a waypoint comes.
 */
export const guardsFor = (
  beacon: Subject,
  mesh: MeshConfig,
  { namespace, application, relation }: Requester,
  policies: readonly MeshPolicy[],
): Guard[] => {
  const principals = waypointPrincipals(beacon, mesh)
  const targets = policies.flatMap((policy) => findTarget(policy) ?? [])
  const services = targets.filter(isService)
  const behind = applicationPods(namespace, application)
  const pods = [...targets.filter((target) => !isService(target)), ...(services.length > 0 ? [behind] : [])]
  // hardened mode also denies at the pods, so these must admit the waypoint
  const isHardened = mesh.hardened === true && runsWaypoint(mesh)
  const guards = [
    ...(isHardened ? [{ target: behind, relation: configRequester(beacon), principals }] : []),
    ...services.map((target) => ({ target, relation })),
    ...pods.map((target) => ({ target, relation, principals })),
  ]
  return [...new Map(guards.map((guard) => [targetKey(guard.target), guard])).values()]
}

const isService = ({ spec }: PolicyTarget): boolean => 'targetRefs' in spec

/** Names the declared targets without any granted client, with the reason if it is known. */
export const unreachable = (
  subject: Subject,
  declared: readonly DeclaredTarget[],
  granted: readonly MeshPolicy[],
): string[] => {
  const keyOf = (policy: MeshPolicy) => JSON.stringify(findTarget(policy))
  const reached = new Set(granted.map(keyOf))
  const closed = declared.flatMap(({ policy, unrelated }) =>
    unrelated === undefined || reached.has(keyOf(policy)) ? [] : [[keyOf(policy), { policy, unrelated }] as const],
  )
  return [...new Map(closed.toReversed()).values()].map(({ policy, unrelated }) =>
    nobodyMayReach(subject, { type: policy.target_type, service: policy.target_service, unrelated }),
  )
}
