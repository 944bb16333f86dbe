import { type Condition, waitFor } from '../../platform/base/condition.ts'
import { type Subject, subjectName } from '../../platform/base/subject.ts'
import type { Relation } from '../state/relation.ts'
import type { EffectiveState } from '../state/state.ts'
import { FOREIGN_KEYS } from './mesh-labels.ts'
import { takesLabels } from './requested-labels.ts'

/**
 * All that is not known of an application and its peers. What may rest on it stays as it is (rule 5 of docs/design.md): labels by `labelsThatStay`,
 * objects and labels at their places by `src/core/reconcile/decide/stays.ts`, databags by the `keeps` of the features, and claims.
 */
export type Unknown = {
  /** The config was never told, or not since the memory was lost. */
  readonly config: boolean
  /** Only that config can say for what policies stand that guard the application. */
  readonly guards: boolean
  /** The relations whose peer has published what cannot be read now. */
  readonly peers: readonly Relation[]
  /** A provider has yet to say if it offers labels. */
  readonly offers: boolean
  /** The memory was lost, and the relation that asked for the labels is not known yet. */
  readonly enrolment: boolean
  /** The memory was lost, and with it perhaps relations of endpoints that the config names. */
  readonly endpoints: boolean
}

/** Lists what is not known. `guards` is found by a look at the policies that stand. */
export const unknownIn = (state: EffectiveState, guards = false): Unknown => {
  const { config, removed, lost } = state
  const relations = Object.values(state.relations)
  return {
    config: config === undefined && removed === undefined,
    guards,
    peers: relations.filter(({ source }) => source === 'unknown'),
    offers: guards || relations.some(isSilentProvider),
    enrolment: lost?.labels === true,
    endpoints: lost?.endpoints !== undefined || lost?.ended !== undefined,
  }
}

/** Tells if it is open what the provider of an enrolling relation offers. */
export const isSilentProvider = ({ source, ...relation }: Relation): boolean =>
  takesLabels(relation) && (source === 'nobody' || source === 'unknown')

/** Returns the keys of the labels that stay as they are: all, those that relations ask for, or none. */
export const labelsThatStay = ({ config, peers, offers, enrolment }: Unknown): 'all' | readonly string[] => {
  if (peers.some(({ role }) => role === 'requires') || (enrolment && config)) return 'all'
  return enrolment || offers ? FOREIGN_KEYS : []
}

/** Returns the wait for a config that is not known, and that may explain what stands. */
export const configWait = (subject: Subject): Condition => {
  const name = subjectName(subject)
  const object = `what the config of ${name} may have asked for`
  return waitFor(
    [name],
    'ConfigUnknown',
    object,
    `${object} stays in effect: waiting for the config of ${name}, {} if it has none`,
  )
}
