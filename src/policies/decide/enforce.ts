import type { AuthorizationPolicy, UnreadablePolicy } from '../authorization-policy.ts'
import { type Action, actionOf, ignoredBecause, matchPolicy, nameOf, type Point, type Step } from './look.ts'
import { nearestMiss, type Truth } from './truth.ts'

type Finding = {
  readonly outcome: 'allowed' | 'denied' | 'undecided'
  /** The one that decided; of several ALLOW policies that do not match, the one that came nearest to it. */
  readonly policy?: AuthorizationPolicy | undefined
  readonly because: string
}

export type Verdict = Finding & { readonly steps: readonly Step[] }

type Looked = { readonly policy: AuthorizationPolicy; readonly truth: Truth }

/**
 * CUSTOM, then DENY, then ALLOW. No ALLOW policy: allowed; some: one must match. What is not known counts against the request: such a
 * DENY is taken to match, such an ALLOW is not. A policy that cannot be read leaves undecided what none before it refuses.
 */
export const enforce = (point: Point): Verdict => {
  const policies = point.policies.toSorted((one, other) => (nameOf(one) < nameOf(other) ? -1 : 1))
  const look = (action: Action): Looked[] =>
    policies
      .filter((policy) => actionOf(policy) === action && ignoredBecause(policy, point) === undefined)
      .map((policy) => ({ policy, truth: matchPolicy(policy, point) }))
  const [customs, denies, allows] = [look('CUSTOM'), look('DENY'), look('ALLOW')]
  const steps = [
    ...policies.flatMap((policy) => ignoredStep(policy, point)),
    ...[...customs, ...denies, ...allows].map((looked) => stepOf(looked, point)),
    ...point.unreadable.map((policy) => unreadableStep(policy, point)),
  ]
  return { ...(findCustom(customs) ?? findDeny(denies) ?? findUnreadable(point) ?? findAllow(allows)), steps }
}

const findCustom = (customs: readonly Looked[]): Finding | undefined => {
  const policy = customs.find(({ truth }) => truth.is !== 'no')?.policy
  const provider = policy?.spec.provider?.name ?? 'of no name'
  return policy && { outcome: 'undecided', policy, because: `the external authorizer ${provider} decides` }
}

const findDeny = (denies: readonly Looked[]): Finding | undefined => {
  const hit = denies.find(({ truth }) => truth.is === 'yes') ?? denies.find(({ truth }) => truth.is === 'unknown')
  if (hit === undefined) return undefined
  const { policy, truth } = hit
  const because = truth.is === 'yes' ? 'it matches' : `it is taken to match, as ${truth.because}`
  return { outcome: 'denied', policy, because }
}

const findUnreadable = ({ unreadable: [first] }: Point): Finding | undefined =>
  first && { outcome: 'undecided', because: first.unreadable }

const findAllow = (allows: readonly Looked[]): Finding => {
  const hit = allows.find(({ truth }) => truth.is === 'yes')
  if (hit) return { outcome: 'allowed', policy: hit.policy, because: 'it matches' }
  const nearest = nearestMiss(allows, ({ truth }) => truth)
  if (nearest) return { outcome: 'denied', policy: nearest.item.policy, because: nearest.miss.because }
  return { outcome: 'allowed', because: 'no ALLOW policy applies and no DENY policy matches' }
}

const ignoredStep = (policy: AuthorizationPolicy, point: Point): Step[] => {
  const note = ignoredBecause(policy, point)
  if (note === undefined) return []
  return [{ at: point.at, policy: nameOf(policy), action: actionOf(policy), matches: 'ignored', note }]
}

const unreadableStep = ({ namespace, name, unreadable }: UnreadablePolicy, { at }: Point): Step => ({
  at,
  policy: `${namespace}/${name}`,
  matches: 'unknown',
  note: `it cannot be read: ${unreadable}`,
})

const stepOf = ({ policy, truth }: Looked, { at }: Point): Step => ({
  at,
  policy: nameOf(policy),
  action: actionOf(policy),
  matches: truth.is,
  note: truth.is === 'yes' ? 'a rule matches' : truth.because,
})
