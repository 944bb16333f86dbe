import { at as valueAt } from '../../record.ts'
import type { AuthorizationPolicy, Rule, UnreadablePolicy } from '../authorization-policy.ts'
import type { Facts } from './facts.ts'
import { matchRule } from './rule.ts'
import { any, no, type Truth } from './truth.ts'
import { asZtunnelSees } from './ztunnel.ts'

/** A proxy that a request passes, what it knows of the request, and the policies that it enforces. */
export type Point = {
  readonly at: 'waypoint' | 'ztunnel'
  readonly name: string
  readonly facts: Facts
  readonly policies: readonly AuthorizationPolicy[]
  /** Those of which it is not known what they do. */
  readonly unreadable: readonly UnreadablePolicy[]
}

export type Action = 'CUSTOM' | 'DENY' | 'ALLOW' | 'AUDIT'

/** One policy that was looked at, as `namespace/name`, and why it matched or did not; or what else to know about the way. */
export type Step = {
  readonly at: Point['at'] | 'client' | 'destination'
  readonly policy?: string
  readonly action?: Action
  readonly matches?: Truth['is'] | 'ignored'
  readonly note: string
}

export const nameOf = ({ metadata }: AuthorizationPolicy): string => `${metadata.namespace}/${metadata.name}`

export const actionOf = ({ spec }: AuthorizationPolicy): Action => spec.action ?? 'ALLOW'

/** Why a policy has no say at `point`; undefined when it has. */
export const ignoredBecause = (policy: AuthorizationPolicy, { at }: Point): string | undefined => {
  if (actionOf(policy) === 'AUDIT') return 'AUDIT decides nothing'
  if (valueAt(policy.metadata.annotations, 'istio.io/dry-run') === 'true') return 'it is a dry run'
  if (at === 'ztunnel' && actionOf(policy) === 'CUSTOM') return 'a ztunnel has no CUSTOM action'
  return undefined
}

/** Whether a rule of `policy` matches at `point`. One without rules allows nothing, and is the farthest miss of all. */
export const matchPolicy = (policy: AuthorizationPolicy, point: Point): Truth => {
  const rules = policy.spec.rules ?? []
  if (rules.length === 0) return { ...no('it has no rules, and so allows nothing'), met: -1 }
  return any(rules.map((rule) => matchAt(point, rule, policy)))
}

const matchAt = ({ at, facts }: Point, rule: Rule, policy: AuthorizationPolicy): Truth => {
  const seen = at === 'ztunnel' ? asZtunnelSees(rule, actionOf(policy) === 'DENY' ? 'DENY' : 'ALLOW') : rule
  return 'never' in seen ? no(seen.never) : matchRule(seen, facts, policy.metadata.namespace)
}
