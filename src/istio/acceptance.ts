import * as z from 'zod'
import type { Wait } from '../base/wait.ts'
import { type KubernetesObject, nameOf } from '../kubernetes/objects.ts'

/** A status condition of a policy (istio's pilot/pkg/model/service.go): a proxy has accepted it, or not. */
const Condition = z.object({
  type: z.enum(['WaypointAccepted', 'ZtunnelAccepted']),
  status: z.string(),
  reason: z.string().optional(),
  message: z.string().optional(),
  lastTransitionTime: z.string().optional(),
  observedGeneration: z.union([z.string(), z.number()]).optional(),
})

const REMEDIES: Readonly<Record<string, string>> = {
  AncestorNotBound: 'it is enforced once the Service has a waypoint that is ready',
  TargetNotFound: 'it is enforced once that is there',
}

/** Returns the wait for Istio to enforce a policy, or the rest of it, if its current status has a reason for one. */
export const acceptance = ({ kind, metadata, status }: KubernetesObject): Wait | undefined => {
  const { conditions } = (status ?? {}) as { conditions?: unknown }
  if (kind !== 'AuthorizationPolicy' || !Array.isArray(conditions)) return undefined
  const [problem] = conditions
    .flatMap((condition) => Condition.safeParse(condition).data ?? [])
    .filter(({ observedGeneration: seen }) => seen === undefined || Number(seen) === metadata.generation)
    .filter(({ status: is, reason = 'Accepted' }) => is === 'False' || reason !== 'Accepted')
  if (problem === undefined) return undefined
  const { reason = 'no reason', message = '', status: is, lastTransitionTime: since } = problem
  const held = nameOf({ kind, ...metadata })
  const what = is === 'False' ? 'is not enforced' : 'is enforced in part'
  const remedy = REMEDIES[reason]
  return {
    held,
    for: ['Istio'],
    ...(since !== undefined && { since }),
    message: `${held} ${what}: ${message.slice(0, 300)} (${reason})${remedy ? `; ${remedy}` : ''}`,
  }
}
