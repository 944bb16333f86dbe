import { DAY_MILLISECONDS } from '../../../platform/base/clock.ts'
import { changed } from '../../../platform/base/own-value.ts'
import type { Subject } from '../../../platform/base/subject.ts'
import type { RelationEntry } from '../../state/relation.ts'
import { type State, stands } from '../../state/state.ts'
import { versionOf } from '../offers/published-version.ts'
import { peerView } from '../peer-view.ts'
import type { Peers } from '../peers.ts'

/**
 * Forgets relations that ended more than a day ago and have left nothing on either side. The marks of an application that was removed as
 * long ago go with its last relation. `left` lists the kinds with unwanted objects: nothing is forgotten while these exist, or while the
 * application awaits other applications.
 */
export const withoutForgotten = (
  subject: Subject,
  state: State,
  peers: Peers,
  now: Date,
  left: readonly string[],
): State => {
  if (state.awaiting !== undefined || left.length > 0) return state
  const isOld = (since: string | undefined) =>
    since !== undefined && now.getTime() - Date.parse(since) > DAY_MILLISECONDS
  const { removed } = state
  const relations = Object.entries(state.relations).filter(([key, entry]) => {
    const since = (entry.status === 'ended' ? entry.endedAt : undefined) ?? removed
    return stands(state, entry) || !isOld(since) || !isForgettable(subject, state, key, entry, peers)
  })
  const next = { ...withoutPreviousKinds(state, isOld), relations: Object.fromEntries(relations) }
  return isOld(removed) && relations.length === 0 ? changed(next, { removed: undefined, marks: undefined }) : next
}

/** Forgets previously owned kinds after a day. Until then, a step that began under an earlier config may still write such objects. */
const withoutPreviousKinds = (state: State, isOld: (since: string | undefined) => boolean): State => {
  const kinds = Object.entries(state.owned ?? {}).filter(([, since]) => !isOld(since ?? undefined))
  return changed(state, { owned: kinds.length > 0 ? Object.fromEntries(kinds) : undefined })
}

/** Tells if both sides have observed the end, and nothing is left. */
const isForgettable = (subject: Subject, state: State, key: string, entry: RelationEntry, peers: Peers): boolean => {
  if (entry.claim !== undefined) return false
  const { entry: theirs } = peerView(subject, state, key, peers)
  return theirs === undefined || theirs.peer?.seen === versionOf(state, entry)
}
