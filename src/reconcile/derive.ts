import { isDeepStrictEqual } from 'node:util'
import type { Subject } from '../base/subject.ts'
import type { Features } from '../feature/combine.ts'
import type { Derivation } from '../feature/feature.ts'
import { lastReadableValues } from '../relations/last-readable.ts'
import type { State } from '../state/state.ts'
import { resolvePending } from '../units/leader.ts'
import { withAcceptedConfig } from '../workload/accepted.ts'
import { withDataChurn } from '../workload/data-churn.ts'

/**
 * Derives what follows from a change within the memory: pending data are applied once there is a leader, and each feature takes its part. It
 * is planned, and saved, before anything is sent.
 */
export const derived = (features: Features, derivation: Derivation, after: State): State => {
  const { subject, before, by, now, resolve } = derivation
  const due = withPending(subject, after)
  // what waited for a leader is a unit's word
  const tellerOf = (...parts: readonly (keyof State)[]) =>
    parts.some((part) => due[part] !== after[part]) ? 'unit' : by
  const accepted = withAcceptedConfig(before, due, {
    ...{ application: subject.application, by: tellerOf('config'), now },
    relations: () => resolve(due).state.relations,
  })
  const applied = withVersions(before, accepted)
  return features.derive(withDataChurn(before, applied, tellerOf('settings', 'databag'), now.getTime()), derivation)
}

/** Pending data can be applied, as a leader was seen since. */
export const isDue = ({ application }: Subject, { leader, units, pending }: State): boolean =>
  pending !== undefined && !('pending' in resolvePending({ application, leader, units }, pending))

const withPending = ({ application }: Subject, state: State): State => {
  if (state.pending === undefined) return state
  const settled = resolvePending({ application, leader: state.leader, units: state.units }, state.pending)
  if ('pending' in settled) return state
  const { pending: _, ...others } = state
  return 'due' in settled ? { ...others, ...settled.due } : others
}

/** A change of the versions that are spoken here makes nothing unsaid. */
const withVersions = ({ config: former }: State, state: State): State => {
  const [before, versions] = [former?.versions, state.config?.versions]
  if (isDeepStrictEqual(before, versions)) return state
  const relations = Object.entries(state.relations).map(([key, { kept, ...entry }]) => [
    key,
    { ...entry, ...lastReadableValues({ ...entry, kept }, entry, versions, before ?? {}) },
  ])
  return { ...state, relations: Object.fromEntries(relations) }
}
