import type { Grant, RelationEntry } from '../state/relation.ts'

/**
 * One rule of a state machine: from one of the states in `from`, with the input `sees`, it goes to `to`, through an intent if there is one.
 */
export type Rule<S extends string, E extends string> = {
  readonly from: readonly S[]
  readonly sees: E
  /** Saved before anything is written. Then the peer is read again, and if it has moved, the step starts over. */
  readonly intent?: Exclude<S, 'none'>
  readonly to: S | 'same'
  /** The writes between the intent and `to`. */
  readonly does: string
}

/** The labels of a relation on the workload of its requirer. */
export type Labels = 'none' | 'applying' | 'applied'

/** The input of a requirer. `granted`: labels are requested, and its own request is granted. `nothing`: no labels are due. `unknown`: neither is known. */
export type RequirerSees = 'granted' | 'nothing' | 'unknown'

/** The state machine of a requirer. */
export const REQUIRER: readonly Rule<Labels, RequirerSees>[] = [
  { from: ['none', 'applying'], sees: 'granted', intent: 'applying', to: 'applied', does: 'applies the labels' },
  { from: ['applied'], sees: 'granted', to: 'applied', does: 'keeps the labels as they are asked for' },
  { from: ['none', 'applying', 'applied'], sees: 'nothing', to: 'none', does: 'takes the labels off' },
  { from: ['none', 'applying', 'applied'], sees: 'unknown', to: 'same', does: 'leaves all as it is' },
]

/** The grant of a relation at its provider. */
export type GrantPhase = 'none' | Grant['phase']

/**
 * The input of a provider. `established`: the relation exists. `leaving`: it has ended, but its requirer may still carry labels. `over`: it
 * has ended, and the requirer carries none. `unknown`: nothing is known.
 */
export type ProviderSees = 'established' | 'leaving' | 'over' | 'unknown'

/** The state machine of a provider. */
export const PROVIDER: readonly Rule<GrantPhase, ProviderSees>[] = [
  {
    ...{ from: ['none', 'standing', 'revoking'], sees: 'established', to: 'standing' },
    does: 'writes the policies that are requested, and removes stale ones when these stand',
  },
  { from: ['none', 'standing'], sees: 'leaving', to: 'standing', does: 'keeps the policies' },
  { from: ['revoking'], sees: 'leaving', to: 'revoking', does: 'keeps the policies' },
  { from: ['standing', 'revoking'], sees: 'over', intent: 'revoking', to: 'none', does: 'removes the policies' },
  { from: ['none'], sees: 'over', to: 'none', does: 'does nothing' },
  { from: ['none', 'standing', 'revoking'], sees: 'unknown', to: 'same', does: 'leaves all as it is' },
]

/** Finds the rule of a state machine. Each state has exactly one for each input. */
export const ruleOf = <S extends string, E extends string>(
  machine: readonly Rule<S, E>[],
  from: NoInfer<S>,
  sees: NoInfer<E>,
): Rule<S, E> => {
  const rule = machine.find((one) => one.sees === sees && one.from.includes(from))
  if (rule === undefined) throw new Error(`the handshake has no rule for ${from} where it sees ${sees}`)
  return rule
}

type Progress = Pick<RelationEntry, 'labels' | 'grant'>

/** Returns the intent that a requirer saves before it writes. Undefined if there is none. */
export const labelsIntent = ({ labels }: Progress, sees: RequirerSees): RelationEntry['labels'] =>
  ruleOf(REQUIRER, labels ?? 'none', sees).intent

/** Returns the labels of a requirer after all writes. If some could not be removed, the earlier value stays. */
export const nextLabels = (
  { labels }: Progress,
  sees: RequirerSees,
  mayBeLabelled: boolean,
): RelationEntry['labels'] => {
  const { to } = ruleOf(REQUIRER, labels ?? 'none', sees)
  if (to === 'same' || (to === 'none' && mayBeLabelled)) return labels
  return to === 'none' ? undefined : to
}

/** Returns the intent that a provider saves before it writes. Undefined if there is none. */
export const grantIntent = ({ grant }: Progress, sees: ProviderSees): Grant | undefined => {
  const { intent } = ruleOf(PROVIDER, grant?.phase ?? 'none', sees)
  return intent && { phase: intent }
}

/** Returns the grant of a provider after all writes, for the request with this digest. Without a digest, a standing grant keeps its own. */
export const nextGrant = (
  { grant }: Progress,
  sees: ProviderSees,
  requested: string | undefined,
): Grant | undefined => {
  const { to } = ruleOf(PROVIDER, grant?.phase ?? 'none', sees)
  if (to === 'same') return grant
  if (to !== 'standing') return to === 'none' ? undefined : { phase: to }
  const digest = requested ?? (grant?.phase === 'standing' ? grant.digest : undefined)
  return { phase: to, ...(digest !== undefined && { digest }) }
}
