import { isDeepStrictEqual } from 'node:util'
import type { Subject } from '../../../platform/base/subject.ts'
import type { Features } from '../../feature/combine.ts'
import type { Derivation } from '../../feature/feature.ts'
import { lastReadableValues } from '../../relations/last-readable.ts'
import { pendingIn, withPending } from '../../state/awaiting-leader.ts'
import type { ApplicationData, State } from '../../state/state.ts'
import { type Resolution, resolvePending } from '../../units/leader.ts'
import { withAcceptedConfig } from '../../workload/accepted.ts'
import { withDataChurn } from '../../workload/churn/data-churn.ts'

/**
 * Derives what follows from a change within the memory: pending data are applied once there is a leader, and each feature takes its part. It
 * is planned, and saved, before anything is sent.
 */
export const derived = (features: Features, derivation: Derivation, after: State): State => {
  const { subject, before, by, now, resolve } = derivation
  const due = withResolved(subject, after)
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
export const isDue = (subject: Subject, state: State): boolean =>
  resolutions(subject, state).some((one) => !('pending' in one))

/** Names the units whose pending data are dropped, as another one leads: a sentence each. */
export const droppedPending = (subject: Subject, state: State): string[] =>
  resolutions(subject, state).flatMap((one) =>
    'refused' in one ? [`${one.refused}; what it asked for before a leader was elected is dropped`] : [],
  )

const resolutions = ({ application }: Subject, state: State): Resolution<ApplicationData>[] =>
  pendingIn(state).map((pending) => resolvePending({ application, leader: state.leader, units: state.units }, pending))

const withResolved = (subject: Subject, state: State): State => {
  if (!isDue(subject, state)) return state
  const all = resolutions(subject, state)
  const left = all.flatMap((one) => ('pending' in one ? [one.pending] : []))
  const due = all.flatMap((one) => ('due' in one ? [one.due] : []))
  return Object.assign({}, withPending(state, left), ...due)
}

/** A change of the versions that are spoken here makes nothing unsaid. */
const withVersions = ({ config: former }: State, state: State): State => {
  const [before, versions] = [former?.versions, state.config?.versions]
  if (isDeepStrictEqual(before, versions)) return state
  const relations = Object.entries(state.relations).map(([key, { lastReadable, ...entry }]) => [
    key,
    { ...entry, ...lastReadableValues({ ...entry, lastReadable }, entry, versions, before ?? {}) },
  ])
  return { ...state, relations: Object.fromEntries(relations) }
}
