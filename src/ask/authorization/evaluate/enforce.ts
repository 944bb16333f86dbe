import type { AuthorizationPolicy, UnreadablePolicy } from '../../../mesh/istio/authorization-policy.ts'
import {
  type Action,
  actionOf,
  type EnforcementPoint,
  ignoreReason,
  matchPolicy,
  policyName,
  type TraceStep,
} from './enforcement-point.ts'
import { type MatchResult, nearestMiss } from './match-result.ts'

type Finding = {
  readonly outcome: 'allowed' | 'denied' | 'undecided'
  /** The policy that decided, or could decide. If no ALLOW policy matches, it is the nearest miss. */
  readonly policy?: AuthorizationPolicy | undefined
  readonly because: string
}

export type EnforcementResult = Finding & { readonly steps: readonly TraceStep[] }

type PolicyMatch = { readonly policy: AuthorizationPolicy; readonly result: MatchResult; readonly perhaps?: string }

/**
 * Enforces CUSTOM, then DENY, then ALLOW policies. Without ALLOW policies the request is allowed, otherwise one must match. The result is certain only if
 * no unknown could change it. A certain denial needs no further knowledge.
 */
export const enforce = (point: EnforcementPoint): EnforcementResult => {
  if (point.at === 'ztunnel' || point.protocol !== undefined) return enforceOne(point)
  const [http, tcp] = [enforceOne({ ...point, protocol: 'http' }), enforceOne({ ...point, protocol: 'tcp' })]
  if (http.outcome === tcp.outcome) return http
  const policy = http.policy ?? tcp.policy
  return { ...http, policy, outcome: 'undecided', because: 'whether the connection carries HTTP is not known' }
}

const enforceOne = (point: EnforcementPoint): EnforcementResult => {
  const { policies, perhaps } = point
  const present = [...policies.map((policy) => ({ policy })), ...perhaps]
  const sorted = present.toSorted(({ policy: one }, { policy: other }) =>
    policyName(one) < policyName(other) ? -1 : 1,
  )
  const look = (action: Action): PolicyMatch[] =>
    sorted
      .filter(({ policy }) => actionOf(policy) === action && ignoreReason(policy, point) === undefined)
      .map((one) => ({ ...one, result: matchPolicy(one.policy, point) }))
  const [customs, denies, allows] = [look('CUSTOM'), look('DENY'), look('ALLOW')]
  const byAllow = findAllow(allows)
  const isClosed = byAllow.outcome === 'denied' && point.unreadable.length === 0
  return {
    ...(findRefusal(point) ??
      findDeny(denies, 'yes') ??
      (isClosed ? byAllow : undefined) ??
      findCustom(customs) ??
      findDeny(denies, 'unknown') ??
      findUnreadable(point) ??
      byAllow),
    steps: [
      ...refusalStep(point),
      ...sorted.flatMap(({ policy }) => ignoredStep(policy, point)),
      ...[...customs, ...denies, ...allows].map((match) => stepOf(match, point)),
      ...point.unreadable.map((policy) => unreadableStep(policy, point)),
    ],
  }
}

const findRefusal = ({ refuses }: EnforcementPoint): Finding | undefined =>
  refuses === undefined ? undefined : { outcome: 'denied', because: refuses }

const findCustom = (customs: readonly PolicyMatch[]): Finding | undefined => {
  const policy = customs.find(({ result }) => result.is !== 'no')?.policy
  const provider = policy?.spec.provider?.name ?? 'of no name'
  return policy && { outcome: 'undecided', policy, because: `the external authorizer ${provider} decides` }
}

const findDeny = (denies: readonly PolicyMatch[], is: 'yes' | 'unknown'): Finding | undefined => {
  const hit = denies.find(({ result }) => result.is === is)
  if (hit === undefined) return undefined
  const { policy, result } = hit
  return result.is === 'yes'
    ? { outcome: 'denied', policy, because: 'it matches' }
    : { outcome: 'undecided', policy, because: result.because }
}

const findUnreadable = ({ unreadable: [first] }: EnforcementPoint): Finding | undefined =>
  first && {
    outcome: 'undecided',
    because: first.isUntaken ? first.unreadable : `it may enforce a policy that cannot be read: ${first.unreadable}`,
  }

/** Finds the deciding ALLOW policy. A conditional policy neither allows nor denies with certainty. */
const findAllow = (allows: readonly PolicyMatch[]): Finding => {
  const certain = allows.filter(({ perhaps }) => perhaps === undefined)
  const hit = certain.find(({ result }) => result.is === 'yes')
  if (hit) return { outcome: 'allowed', policy: hit.policy, because: 'it matches' }
  const possible = allows.find(({ perhaps, result }) => perhaps !== undefined && result.is !== 'no')
  const nearest = nearestMiss(certain, ({ result }) => result)
  if (nearest === undefined) return findConditional(allows)
  const { policy } = nearest.item
  if (nearest.miss.is === 'unknown') return { outcome: 'undecided', policy, because: nearest.miss.because }
  if (possible?.perhaps) return { outcome: 'undecided', policy: possible.policy, because: possible.perhaps }
  return { outcome: 'denied', policy, because: nearest.miss.because }
}

/** Evaluates conditional ALLOW policies without any certain one. A request is allowed only if it passes both with and without them. */
const findConditional = (allows: readonly PolicyMatch[]): Finding => {
  const [closing] = allows
  if (closing?.perhaps === undefined || allows.some(({ result }) => result.is === 'yes'))
    return { outcome: 'allowed', because: 'no ALLOW policy applies and no DENY policy matches' }
  return { outcome: 'undecided', policy: closing.policy, because: closing.perhaps }
}

const refusalStep = ({ at, refuses }: EnforcementPoint): TraceStep[] =>
  refuses === undefined ? [] : [{ at, note: refuses }]

const ignoredStep = (policy: AuthorizationPolicy, point: EnforcementPoint): TraceStep[] => {
  const note = ignoreReason(policy, point)
  if (note === undefined) return []
  return [{ at: point.at, policy: policyName(policy), action: actionOf(policy), matches: 'ignored', note }]
}

const unreadableStep = (
  { namespace, name, unreadable, isUntaken }: UnreadablePolicy,
  { at }: EnforcementPoint,
): TraceStep => ({
  at,
  policy: `${namespace}/${name}`,
  matches: 'unknown',
  note: isUntaken ? unreadable : `it cannot be read: ${unreadable}`,
})

const stepOf = ({ policy, result, perhaps }: PolicyMatch, { at }: EnforcementPoint): TraceStep => ({
  at,
  policy: policyName(policy),
  action: actionOf(policy),
  matches: result.is,
  note: `${result.is === 'yes' ? 'a rule matches' : result.because}${perhaps === undefined ? '' : `; ${perhaps}`}`,
})
