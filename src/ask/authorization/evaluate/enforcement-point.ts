import type { AuthorizationPolicy, Rule, UnreadablePolicy } from '../../../mesh/istio/authorization-policy.ts'
import { isDryRun } from '../../../mesh/istio/dry-run.ts'
import { asTcpSees, type VisibleRule } from '../../../mesh/istio/visible-rule.ts'
import { asZtunnelSees } from '../../../mesh/istio/ztunnel.ts'
import { any, type MatchResult, no } from './match-result.ts'
import type { RequestContext } from './request-context.ts'
import { matchRule } from './rule.ts'

/** A policy that exists only under an unknown condition, named by `perhaps`. */
type ConditionalPolicy = { readonly policy: AuthorizationPolicy; readonly perhaps: string }

/** A proxy that a request passes, with its knowledge of the request and the policies that it enforces. */
export type EnforcementPoint = {
  readonly at: 'waypoint' | 'gateway' | 'ztunnel'
  readonly name: string
  readonly context: RequestContext
  /** The protocol an Envoy assumes; absent where it is unknown. */
  readonly protocol?: 'http' | 'tcp' | undefined
  readonly policies: readonly AuthorizationPolicy[]
  readonly perhaps: readonly ConditionalPolicy[]
  /** Policies whose spec cannot be read, or that the mesh has not taken yet. */
  readonly unreadable: readonly UnreadablePolicy[]
  /** The reason why the connection is refused before any policy is evaluated. */
  readonly refuses?: string | undefined
  /** Evaluates dry runs as enforced. */
  readonly enforcesDryRuns?: boolean | undefined
}

export type Action = 'CUSTOM' | 'DENY' | 'ALLOW' | 'AUDIT'

/** An evaluated policy, as `namespace/name`, with the reason for its result, or a note about the way to the proxies. */
export type TraceStep = {
  readonly at: EnforcementPoint['at'] | 'client' | 'destination'
  readonly policy?: string
  readonly action?: Action
  readonly matches?: MatchResult['is'] | 'ignored'
  readonly note: string
}

export const policyName = ({ metadata }: AuthorizationPolicy): string => `${metadata.namespace}/${metadata.name}`

export const actionOf = ({ spec }: AuthorizationPolicy): Action => spec.action ?? 'ALLOW'

/** Returns the reason why a policy is not evaluated at `point`, if any. A dry run does not stop an Envoy from asking the external authorizer. */
export const ignoreReason = (policy: AuthorizationPolicy, point: EnforcementPoint): string | undefined => {
  const action = actionOf(policy)
  if (action === 'AUDIT') return 'AUDIT decides nothing'
  if (point.at === 'ztunnel') {
    if (isDryRun(policy)) return 'it is a dry run'
    return action === 'CUSTOM' ? 'a ztunnel has no CUSTOM action' : undefined
  }
  return isDryRun(policy) && action !== 'CUSTOM' && !point.enforcesDryRuns ? 'it is a dry run' : undefined
}

/** Matches the rules of `policy` at `point`. A policy without rules allows nothing, and counts as the farthest miss. */
export const matchPolicy = (policy: AuthorizationPolicy, point: EnforcementPoint): MatchResult => {
  const rules = policy.spec.rules ?? []
  if (rules.length === 0) return { ...no('it has no rules, and so allows nothing'), met: -1 }
  return any(rules.map((rule) => matchAt(point, seenAt(point, rule, actionOf(policy)), policy)))
}

const seenAt = ({ at, protocol }: EnforcementPoint, rule: Rule, action: Action): VisibleRule => {
  if (at === 'ztunnel') return asZtunnelSees(rule, action === 'DENY' ? 'DENY' : 'ALLOW')
  return protocol === 'tcp' ? asTcpSees(rule, action) : { rule }
}

const matchAt = ({ context }: EnforcementPoint, seen: VisibleRule, policy: AuthorizationPolicy): MatchResult =>
  'never' in seen ? no(seen.never) : matchRule(seen.rule, context, policy.metadata.namespace)
