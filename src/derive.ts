import { isDeepStrictEqual } from 'node:util'
import { withKept } from './relations/kept.ts'
import { announce, nothingAnnounced } from './services/announced.ts'
import { offeredServices } from './services/offered.ts'
import type { State, Subject } from './state.ts'
import { specsAfter } from './workload/accepted.ts'
import { settlePending } from './workload/leader.ts'

/**
 * What follows from a memory and is part of it, as a pure function of the memory before and after an event: what waited for a leader is
 * done once there is one, a pod spec is taken into its history, and announcements are planned before any of them is sent.
 */
export const derived = (subject: Subject, before: State, after: State, now: Date): State => {
  const state = withVersions(before, withPending(subject, after))
  // a spec counts when it is given, not whenever the memory changes
  const given = state.config === before.config ? state : withSpecs(subject, state, now)
  return withAnnounced(subject, given, now)
}

/** Whether what waited for a leader can be done, as one was seen since. */
export const isDue = ({ application }: Subject, { leader, units, pending }: State): boolean =>
  pending !== undefined && !('pending' in settlePending({ application, leader, units }, pending))

const withPending = ({ application }: Subject, state: State): State => {
  if (state.pending === undefined) return state
  const settled = settlePending({ application, leader: state.leader, units: state.units }, state.pending)
  if ('pending' in settled) return state
  const { pending: _, ...others } = state
  return 'due' in settled ? { ...others, ...settled.due } : others
}

/** A change of the versions that are spoken here makes nothing unsaid. */
const withVersions = ({ config: former }: State, state: State): State => {
  const [before, versions] = [former?.versions, state.config?.versions]
  if (isDeepStrictEqual(before, versions)) return state
  const relations = Object.entries(state.relations).map(([key, relation]) => [
    key,
    withKept(relation, relation, versions, before ?? {}),
  ])
  return { ...state, relations: Object.fromEntries(relations) }
}

const withSpecs = ({ application }: Subject, state: State, now: Date): State => {
  const next = specsAfter({ ...state, leaderSettings: state.settings }, application, now)
  const { specs: _, ...others } = state
  return next === undefined ? others : { ...others, specs: next }
}

const withAnnounced = (subject: Subject, state: State, now: Date): State => {
  const before = state.announced ?? nothingAnnounced()
  const announced = announce(before, offeredServices(subject, state).services, now.getTime())
  return announced === before ? state : { ...state, announced }
}
