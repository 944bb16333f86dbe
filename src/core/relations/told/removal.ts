import { advance, compareMarks, isAfter, type Mark, type Position } from '../../../platform/base/event-order.ts'
import { ownValue } from '../../../platform/base/own-value.ts'
import type { RelationEntry } from '../../state/relation.ts'
import type { State } from '../../state/state.ts'
import { type AnnouncementResult, ended, toldAt, withEntries, withEntry } from './entries.ts'

/**
 * Ends the relations that were announced before the removal, except those of documents. Relations of documents, or known only to peers,
 * become effective again when the application returns.
 */
export const endOnRemoval = (state: State, position: Position, now: Date): AnnouncementResult => {
  const before = state.marks?.application
  const advanced = advance(before, position)
  if (typeof advanced === 'string') return { state, late: advanced }
  const marks = [...Object.values(state.marks ?? {}), ...Object.values(state.relations).map((entry) => entry.position)]
  const mark =
    position.time === undefined ? { ...advanced, at: Math.max(advanced.at, 1 + latest(marks, position)) } : advanced
  const left = withEntries(state, (entry) => afterRemoval(entry, position, mark, now))
  return { state: { ...left, removed: now.toISOString(), marks: { ...state.marks, application: mark } } }
}

/** Ends a relation announced before the removal. Later ones stay, and so do those of documents. */
const afterRemoval = (entry: RelationEntry, position: Position, removal: Mark, now: Date): RelationEntry => {
  if (entry.told === undefined || entry.status === 'ended') return entry
  if (isAfter(entry.position, position))
    return { ...entry, position: { ...entry.position, at: Math.max(entry.position.at, removal.at + 1) } }
  return entry.document === undefined ? endedByRemoval(entry, removal, now) : entry
}

/** Ends a relation whose announcement to this side comes after the removal of the application, though it was sent before. */
export const withToldBeforeRemoval = (state: State, key: string, position: Position, now: Date): State => {
  const entry = ownValue(state.relations, key)
  const told = advance(entry?.told, position)
  if (entry === undefined || typeof told === 'string') return state
  const since = sinceRemoval(state, { ...entry, told: toldAt(told) }, now)
  return since.status === 'ended' ? withEntry(state, key, since) : state
}

/** Ends a relation that was announced to this side before the application was removed. */
export const sinceRemoval = (
  { marks: { application: removal } = {} }: State,
  entry: RelationEntry,
  now: Date,
): RelationEntry =>
  removal !== undefined &&
  entry.told !== undefined &&
  entry.document === undefined &&
  compareMarks(entry.position, removal) <= 0
    ? endedByRemoval(entry, removal, now)
    : entry

const endedByRemoval = (entry: RelationEntry, { at }: Mark, now: Date): RelationEntry =>
  entry.status === 'ended' ? entry : ended(entry, { ...entry.position, at: Math.max(entry.position.at, at) }, now)

const latest = (marks: readonly Mark[], position: Position): number =>
  Math.max(...marks.filter((mark) => !isAfter(mark, position)).map((mark) => mark.at))
