import type { AuthorizationPolicy, Rule, UnreadablePolicy } from '../../istio/authorization-policy.ts'
import { isDryRun } from '../../istio/dry-run.ts'
import { asTcpSees, type VisibleRule } from '../../istio/view.ts'
import { asZtunnelSees } from '../../istio/ztunnel.ts'
import { any, type MatchResult, no } from './match-result.ts'
import type { RequestContext } from './request-context.ts'
import { matchRule } from './rule.ts'

/** A policy that is there only under a condition of which nobody knows whether it holds: `perhaps` says which. */
export type ConditionalPolicy = { readonly policy: AuthorizationPolicy; readonly perhaps: string }

/** A proxy that a request passes, what it knows of the request, and the policies that it enforces. */
export type EnforcementPoint = {
  readonly at: 'waypoint' | 'gateway' | 'ztunnel'
  readonly name: string
  readonly facts: RequestContext
  /** What an Envoy takes the connection for; absent where that is not known. */
  readonly protocol?: 'http' | 'tcp' | undefined
  readonly policies: readonly AuthorizationPolicy[]
  readonly perhaps: readonly ConditionalPolicy[]
  /** Those of which it is not known what they do. */
  readonly unreadable: readonly UnreadablePolicy[]
  /** Why the point takes no such connection at all, whatever the policies say. */
  readonly refuses?: string | undefined
  /** Dry runs count as if they were enforced. */
  readonly enforcesDryRuns?: boolean | undefined
}

export type Action = 'CUSTOM' | 'DENY' | 'ALLOW' | 'AUDIT'

/** One policy that was looked at, as `namespace/name`, and why it matched or did not; or what else to know about the way. */
export type TraceStep = {
  readonly at: EnforcementPoint['at'] | 'client' | 'destination'
  readonly policy?: string
  readonly action?: Action
  readonly matches?: MatchResult['is'] | 'ignored'
  readonly note: string
}

export const policyName = ({ metadata }: AuthorizationPolicy): string => `${metadata.namespace}/${metadata.name}`

export const actionOf = ({ spec }: AuthorizationPolicy): Action => spec.action ?? 'ALLOW'

/** Why a policy has no say at `point`; undefined when it has. An Envoy asks the external authorizer also in a dry run. */
export const ignoreReason = (policy: AuthorizationPolicy, point: EnforcementPoint): string | undefined => {
  const action = actionOf(policy)
  if (action === 'AUDIT') return 'AUDIT decides nothing'
  if (point.at === 'ztunnel') {
    if (isDryRun(policy)) return 'it is a dry run'
    return action === 'CUSTOM' ? 'a ztunnel has no CUSTOM action' : undefined
  }
  return isDryRun(policy) && action !== 'CUSTOM' && !point.enforcesDryRuns ? 'it is a dry run' : undefined
}

/** Whether a rule of `policy` matches at `point`. One without rules allows nothing, and is the farthest miss of all. */
export const matchPolicy = (policy: AuthorizationPolicy, point: EnforcementPoint): MatchResult => {
  const rules = policy.spec.rules ?? []
  if (rules.length === 0) return { ...no('it has no rules, and so allows nothing'), met: -1 }
  return any(rules.map((rule) => matchAt(point, seenAt(point, rule, actionOf(policy)), policy)))
}

const seenAt = ({ at, protocol }: EnforcementPoint, rule: Rule, action: Action): VisibleRule => {
  if (at === 'ztunnel') return asZtunnelSees(rule, action === 'DENY' ? 'DENY' : 'ALLOW')
  return protocol === 'tcp' ? asTcpSees(rule, action) : { rule }
}

const matchAt = ({ facts }: EnforcementPoint, seen: VisibleRule, policy: AuthorizationPolicy): MatchResult =>
  'never' in seen ? no(seen.never) : matchRule(seen.rule, facts, policy.metadata.namespace)
