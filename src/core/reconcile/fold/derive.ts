import { isDeepStrictEqual } from 'node:util'
import type { Subject } from '../../../platform/base/subject.ts'
import type { Features } from '../../feature/combine.ts'
import type { Derivation } from '../../feature/feature.ts'
import { lastReadableValues } from '../../relations/databags/last-readable.ts'
import { withEntries } from '../../relations/told/entries.ts'
import { type ApplicationData, type State, withData, withPending } from '../../state/state.ts'
import { type Resolution, resolvePending } from '../../units/leader.ts'
import { withSlowed } from '../../workload/slowed.ts'

/**
 * Derives further changes within the memory: pending data take effect once there is a leader, and each feature derives its parts. The
 * result is planned and saved before anything is sent.
 */
export const derived = (features: Features, derivation: Derivation, after: State): State => {
  const { subject, before, by, now } = derivation
  const due = withResolved(subject, after)
  // data that waited for a leader come from a unit
  const tellerOf = (part: keyof ApplicationData) => (due[part] === after[part] ? by : 'unit')
  return features.derive(withLastReadable(before, withSlowed(before, due, tellerOf, now.getTime())), derivation)
}

/** Tells if pending data can be resolved, because a leader has been seen since. */
export const isDue = (subject: Subject, state: State): boolean =>
  resolutions(subject, state).some((one) => !('pending' in one))

/** Names the units whose pending data are dropped because another unit leads, a sentence each. */
export const droppedPending = (subject: Subject, state: State): string[] =>
  resolutions(subject, state).flatMap((one) =>
    'refused' in one ? [`${one.refused}; the data that it sent before a leader was elected are dropped`] : [],
  )

const resolutions = ({ application }: Subject, state: State): Resolution<ApplicationData>[] =>
  (state.pending ?? []).map((pending) =>
    resolvePending({ application, leader: state.leader, units: state.units }, pending),
  )

const withResolved = (subject: Subject, state: State): State => {
  if (!isDue(subject, state)) return state
  const all = resolutions(subject, state)
  const left = all.flatMap((one) => ('pending' in one ? [one.pending] : []))
  const due = all.flatMap((one) => ('due' in one ? [one.due] : []))
  return due.reduce<State>((before, data) => withData(before, data), withPending(state, left))
}

/** Keeps the values that were readable before when the supported versions change. */
const withLastReadable = ({ config: former }: State, state: State): State => {
  const [before, versions] = [former?.versions, state.config?.versions]
  if (isDeepStrictEqual(before, versions)) return state
  return withEntries(state, (entry) => ({ lastReadable: lastReadableValues(entry, entry, versions, before ?? {}) }))
}
