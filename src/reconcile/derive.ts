import { isDeepStrictEqual } from 'node:util'
import type { Subject } from '../base/subject.ts'
import type { Effective } from '../relations/effective.ts'
import { keptValues } from '../relations/kept.ts'
import { announce, nothingAnnounced } from '../services/announced.ts'
import { offeredServices } from '../services/offered.ts'
import type { State } from '../state/state.ts'
import { settlePending } from '../units/leader.ts'
import { specsAfter } from '../workload/accepted.ts'
import type { Teller } from '../workload/churn/history.ts'
import { withDataChurn } from '../workload/data-churn.ts'

/** The relations of a state with the data of their other sides. */
export type Resolve = (state: State) => Effective

/**
 * The state with what follows from it within the memory: pending data are applied once there is a leader, a pod spec is taken into its
 * history, and announcements are planned before any of them is sent.
 */
export const derived = (
  subject: Subject,
  before: State,
  after: State,
  now: Date,
  resolve: Resolve,
  teller: Teller = 'document',
): State => {
  const applied = withVersions(before, withPending(subject, after))
  // what waited for a leader is a unit's word
  const isPending = applied.settings !== after.settings || applied.databag !== after.databag
  const state = withDataChurn(before, applied, isPending ? 'unit' : teller, now.getTime())
  // what waited for a leader is a unit's word
  const by = state.config === after.config ? teller : 'unit'
  // a spec counts when it is given, not whenever the memory changes
  const given = state.config === before.config ? state : withSpecs(subject, state, by, now, resolve)
  return withAnnounced(subject, given, now, resolve)
}

/** Whether pending data can be applied, as a leader was seen since. */
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
  const relations = Object.entries(state.relations).map(([key, { kept, ...entry }]) => [
    key,
    { ...entry, ...keptValues({ ...entry, kept }, entry, versions, before ?? {}) },
  ])
  return { ...state, relations: Object.fromEntries(relations) }
}

const withSpecs = ({ application }: Subject, state: State, by: Teller, now: Date, resolve: Resolve): State => {
  const { relations } = resolve(state).state
  const next = specsAfter({ ...state, relations }, application, by, now)
  const { specs: _, ...others } = state
  return next === undefined ? others : { ...others, specs: next }
}

const withAnnounced = (subject: Subject, state: State, now: Date, resolve: Resolve): State => {
  const isConcerned =
    state.announced || Object.values(state.relations).some((entry) => entry.interface === 'k8s-service')
  if (!isConcerned) return state
  const before = state.announced ?? nothingAnnounced()
  const announced = announce(before, offeredServices(subject, resolve(state).state).services, now.getTime())
  return announced === before ? state : { ...state, announced }
}
