import { compareMarks, mergeMarks } from '../../../platform/base/event-order.ts'
import { defined, ownValue } from '../../../platform/base/own-value.ts'
import type { Subject } from '../../../platform/base/subject.ts'
import { isToldLast, type RelationEntry, relationKey } from '../../state/relation.ts'
import { type PublicState, type State, wordOf } from '../../state/state.ts'
import { isBetween, peerEntry } from '../peer-entry.ts'
import { isEnrolling } from '../requested-labels.ts'
import { ended, toldAt, withEntry } from './entries.ts'
import { sinceRemoval } from './removal.ts'
import { findTombstone, withoutTombstone } from './tombstones.ts'

/**
 * Merges the relations in the memory of a peer in the same namespace. For each relation the later mark counts; with equal marks, the end.
 * Unknown relations are adopted while they exist. Tombstones are not adopted.
 */
export const mergePeer = (state: State, subject: Subject, peer: Subject, theirs: PublicState, now: Date): State =>
  Object.values(theirs.relations)
    .filter((other) => isBetween(other, peer, subject))
    .reduce((before, other) => mergeOne(before, peer, other, now), state)

const mergeOne = (state: State, peer: Subject, other: RelationEntry, now: Date): State => {
  const key = relationKey(peerEntry(other, peer))
  const own = ownValue(state.relations, key)
  if (own !== undefined) return mergeStatus(state, key, own, other, now)
  const isWaitingThere = other.status === 'established' && other.waitsForId
  return isWaitingThere ? state : adopted(state, peer, other, key, now)
}

/** Merges the status of one relation from both sides. The later one counts. Events are compared with the positions of both sides. */
const mergeStatus = (state: State, key: string, own: RelationEntry, other: RelationEntry, now: Date): State => {
  const { status } = other
  // where both sides stand, the place of the last word counts only since a removal
  if (own.status === status && (status === 'ended' || wordOf(state, own) !== 'over'))
    return withEntry(state, key, withDocumentOf(own, other))
  const order = compareMarks(own.position, other.position)
  const isLater = order < 0 || (order === 0 && status === 'ended')
  if (!isLater) return state
  const position = mergeMarks(own.position, other.position)
  if (status === 'ended') return withEntry(state, key, ended(own, position, now))
  return withEntry(state, key, sinceRemoval(state, withDocumentOf({ ...own, status, position }, other), now))
}

/** Adopts the document that declares the relation at the peer, because the peer may lose its memory. */
const withDocumentOf = (own: RelationEntry, other: RelationEntry): RelationEntry =>
  isToldLast(own) || !isToldLast(other) || own.document === other.document
    ? own
    : defined({ ...own, document: other.document })

const adopted = (state: State, peer: Subject, other: RelationEntry, key: string, now: Date): State => {
  // an end matters only if the peer waits for it, or if labels of an unknown relation are carried, which may be this one
  const mayBeCarried = state.lost?.labels === true && isEnrolling(other) && other.role === 'provides'
  const isAwaited = other.claim !== undefined || mayBeCarried
  if (other.status === 'ended' && !isAwaited) return state
  // an announcement that the platform did not send to the peer was sent to this side, before its memory was lost
  const told = other.status === 'ended' || isToldLast(other) ? {} : { told: toldAt(other.position) }
  return withAdopted(state, key, sinceRemoval(state, { ...peerEntry(other, peer), ...told }, now), now)
}

/** Adopts the entry of a relation. It is over if its tombstone is later. */
const withAdopted = (state: State, key: string, entry: RelationEntry, now: Date): State => {
  const tombstone = findTombstone(state, entry.id, entry.remote)
  if (tombstone === undefined) return withEntry(state, key, entry)
  const position = mergeMarks(tombstone.position, entry.position)
  const isOver = compareMarks(tombstone.position, entry.position) >= 0
  const known: RelationEntry = isOver
    ? ended({ ...entry, status: 'ended', endedAt: tombstone.endedAt }, position, now)
    : { ...entry, position }
  return withoutTombstone(withEntry(state, key, known), entry.id, entry.remote)
}
