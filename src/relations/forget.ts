import { DAY_MILLISECONDS } from '../base/clock.ts'
import type { Subject } from '../base/subject.ts'
import type { RelationEntry } from '../state/relation.ts'
import { type State, stands } from '../state/state.ts'
import { otherSide } from './effective.ts'
import { publishedHash } from './mirror.ts'
import type { Peers } from './peers.ts'

/**
 * The state without what ended more than a day ago and has left nothing on either side; of an application that was removed as long ago,
 * the marks go with its last relation.
 */
export const withoutForgotten = (subject: Subject, state: State, peers: Peers, now: Date): State => {
  const isOld = (since: string | undefined) =>
    since !== undefined && now.getTime() - Date.parse(since) > DAY_MILLISECONDS
  const { removed, ...others } = state
  const relations = Object.entries(state.relations).filter(([key, entry]) => {
    const since = (entry.word === 'ended' ? entry.since : undefined) ?? removed
    return stands(state, entry) || !isOld(since) || !isForgettable(subject, state, key, entry, peers)
  })
  if (!isOld(removed) || relations.length > 0) return { ...state, relations: Object.fromEntries(relations) }
  const { marks: _, ...rest } = others
  return { ...rest, relations: {} }
}

/** Tells if both sides have seen the end, and nothing is left. */
const isForgettable = (subject: Subject, state: State, key: string, entry: RelationEntry, peers: Peers): boolean => {
  if (entry.holds || entry.granted !== undefined) return false
  const { entry: theirs } = otherSide(subject, state, key, peers)
  return theirs === undefined || theirs.seen === publishedHash(state, entry)
}
