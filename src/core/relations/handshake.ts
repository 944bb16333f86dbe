import type { Grant, RelationEntry } from '../state/relation.ts'

/** One rule of a machine: whoever is in one of `from` and sees this goes on to `to`, by way of an intent where there is one. */
export type Rule<S extends string, E extends string> = {
  readonly from: readonly S[]
  readonly sees: E
  /** Saved before anything is written; then the peer is read again, and where it has moved the step starts over. */
  readonly intent?: Exclude<S, 'none'>
  readonly to: S | 'same'
  /** The writes between the intent and `to`. */
  readonly does: string
}

/** The labels of a relation on the workload of its requirer. */
export type Labels = 'none' | 'applying' | 'applied'

/** A requirer sees that labels are asked for and what it publishes is granted, that no labels are due to it, or that neither is known. */
export type RequirerSees = 'granted' | 'nothing' | 'unknown'

/** The machine of a requirer. */
export const REQUIRER: readonly Rule<Labels, RequirerSees>[] = [
  { from: ['none', 'applying'], sees: 'granted', intent: 'applying', to: 'applied', does: 'applies the labels' },
  { from: ['applied'], sees: 'granted', to: 'applied', does: 'keeps the labels as they are asked for' },
  { from: ['none', 'applying', 'applied'], sees: 'nothing', to: 'none', does: 'takes the labels off' },
  { from: ['none', 'applying', 'applied'], sees: 'unknown', to: 'same', does: 'leaves all as it is' },
]

/** The grant of a relation at its provider. */
export type GrantPhase = 'none' | Grant['phase']

/**
 * A provider sees an established relation, one that is over while its requirer may carry labels of it, one that is over and has left none, or that
 * nothing is known.
 */
export type ProviderSees = 'established' | 'leaving' | 'over' | 'unknown'

/** The machine of a provider. */
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

/** Finds the rule of a machine; each state has exactly one for all that can be seen. */
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

/** The intent of a requirer to save before it writes; undefined for none. */
export const labelsIntent = ({ labels }: Progress, sees: RequirerSees): RelationEntry['labels'] =>
  ruleOf(REQUIRER, labels ?? 'none', sees).intent

/** The labels of a requirer once all is written; where some could not be taken off, they may be there still. */
export const nextLabels = (
  { labels }: Progress,
  sees: RequirerSees,
  mayBeLabelled: boolean,
): RelationEntry['labels'] => {
  const { to } = ruleOf(REQUIRER, labels ?? 'none', sees)
  if (to === 'same' || (to === 'none' && mayBeLabelled)) return labels
  return to === 'none' ? undefined : to
}

/** The intent of a provider to save before it writes; undefined for none. */
export const grantIntent = ({ grant }: Progress, sees: ProviderSees): Grant | undefined => {
  const { intent } = ruleOf(PROVIDER, grant?.phase ?? 'none', sees)
  return intent && { phase: intent }
}

/** The grant of a provider once all is written, for the request with this digest; without one the grant keeps its own. */
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
