import {
  advance,
  type Late,
  type Mark,
  mergeMarks,
  type Position,
  withEvent,
} from '../../../platform/base/event-order.ts'
import { defined, ownValue } from '../../../platform/base/own-value.ts'
import type { RemoteName } from '../../../platform/base/subject.ts'
import { hasData, isToldLast, type RelationEntry, type RelationIdentity, relationKey } from '../../state/relation.ts'
import type { State } from '../../state/state.ts'
import { lastReadableValues } from '../databags/last-readable.ts'
import { type AnnouncedRelation, type AnnouncementResult, ended, toldAt, withEnded, withEntry } from './entries.ts'
import { withToldBeforeRemoval } from './removal.ts'
import { findTombstone, tombstoneKey, withoutTombstone, withTombstones } from './tombstones.ts'

/** Returns the peers' marks of a relation, or of every relation with its id. A new announcement must be later than all of them. */
export type KnownMarks = (
  id: number,
  relation?: { readonly interface?: string | undefined; readonly remote: RemoteName },
  /** Adds the removal of the peer, which an announcement without a time comes after. */
  withRemoval?: boolean,
) => readonly Mark[]

/**
 * Applies the announcement of a relation. The relation exists from then on. If the peer was told something later, that decides on the
 * status, and the announcement on what it says of this side.
 */
export const announceRelation = (
  state: State,
  announced: AnnouncedRelation,
  position: Position,
  now: Date,
  known: KnownMarks,
): AnnouncementResult => {
  const key = relationKey(announced)
  // a document keeps its position in the order of events, even if it named another relation before
  const held =
    announced.document === undefined
      ? []
      : Object.values(state.relations).filter(({ document }) => document === announced.document)
  const others = [
    state.marks?.application,
    ...known(announced.id, announced, position.time === undefined),
    ...held.map((entry) => entry.position),
  ]
  const entry = ownValue(state.relations, key)
  const tombstone = findTombstone(state, announced.id, announced.remote)
  const mark = advance(mergedMark(entry?.position, tombstone?.position), position, others)
  if (typeof mark !== 'string') return { state: withAnnounced(state, announced, mark, now) }
  const own = [state.marks?.application, tombstone?.position]
  if (entry === undefined)
    return {
      state: withLateEnd(state, key, announced, tombstone?.position ?? endedMark(state, position), now),
      late: mark,
    }
  const told = mark === 'repeated' ? mark : advance(entry.told, position, own)
  if (typeof told === 'string') {
    const late = withToldBeforeRemoval(withLate(state, key, position), key, position, now)
    return { state: mark === 'repeated' ? withSideAgain(late, key, announced, position) : late, late: mark }
  }
  const next = withEntry(
    state,
    key,
    defined({
      ...{ ...entry, ...sideOf(state, entry, announced), told: toldAt(told) },
      position: withEvent(entry.position, position.id),
    }),
  )
  return entry.status === 'established' ? { state: next } : { state: next, late: mark }
}

/**
 * Restores what a repeated announcement says of this side, unless a later one did. A peer may have remembered the event for a memory that was
 * lost, and does not know what it said. Also of a relation that is over: what its endpoint is decides if it is still waited for.
 */
const withSideAgain = (state: State, key: string, announced: AnnouncedRelation, position: Position): State => {
  const entry = ownValue(state.relations, key)
  const isOrdered = position.time !== undefined || position.sequence !== undefined
  if (entry === undefined || !isOrdered || typeof advance(entry.told, position) === 'string') return state
  return withEntry(state, key, defined({ ...entry, ...sideOf(state, entry, announced) }))
}

/** Returns the place of the end of a relation that was announced late. One that was announced before the application was removed ended with it. */
const endedMark = ({ marks }: State, position: Position): Mark | Late => {
  const mark = advance(undefined, position, [marks?.application])
  const before = mark === 'stale' ? advance(undefined, position) : mark
  return typeof before === 'string' ? before : { ...before, at: Math.max(before.at, marks?.application?.at ?? 0) }
}

/**
 * Remembers an announced relation that has already ended, according to a peer or a tombstone. Waits for it after a lost memory end with
 * this. If the peer has the relation as established, the mark of the peer is later, and counts.
 */
const withLateEnd = (state: State, key: string, relation: AnnouncedRelation, mark: Mark | Late, now: Date): State =>
  typeof mark === 'string' ? state : withEntry(state, key, { ...ended(relation, mark, now), told: toldAt(mark) })

/**
 * Remembers an event that is late only by a mark of the peer. Another process that did not know the mark may be about to save the event.
 * This write makes its save fail.
 */
const withLate = (state: State, key: string, position: Position): State => {
  const entry = ownValue(state.relations, key)
  return entry === undefined || typeof advance(entry.position, position, [state.marks?.application]) === 'string'
    ? state
    : withEntry(state, key, { ...entry, position: withEvent(entry.position, position.id) })
}

/** Applies a document. It announces its relation as long as it exists. A known relation keeps its mark; a new one is announced now. */
export const announceRelationByDocument = (
  state: State,
  announced: AnnouncedRelation,
  now: Date,
  known: KnownMarks,
): State => {
  const entry = ownValue(state.relations, relationKey(announced))
  const before = mergedMark(entry?.position, findTombstone(state, announced.id, announced.remote)?.position)
  const mark =
    entry?.status === 'established' ? entry.position : markNow(state, before, now, known(announced.id, announced))
  return withAnnounced(state, announced, mark, now)
}

/** An ended relation: its id, and the other fields that the platform has sent. */
type Ended = {
  readonly relation: Pick<RelationIdentity, 'id'> & {
    readonly [K in keyof RelationIdentity]?: RelationIdentity[K] | undefined
  }
  readonly remote?: RemoteName | undefined
  /** The document that declared it, whatever its last content was. */
  readonly document?: string | undefined
}

/** Ends a relation, and no other relation with its id. A tombstone keeps earlier announcements from restoring it. */
export const endRelation = (
  state: State,
  told: Ended,
  position: Position,
  now: Date,
  known: KnownMarks,
): AnnouncementResult => {
  const { relation, remote } = told
  const { id } = relation
  const key = endedKey(state, told)
  const entry = key === undefined ? undefined : ownValue(state.relations, key)
  const before = entry ? entry.position : findTombstone(state, id, remote)?.position
  const meant = entry ?? (remote && { interface: relation.interface, remote })
  // a removal of the application since does not undo an end
  const mark = advance(before, position, known(id, meant))
  if (typeof mark === 'string') return { state: key === undefined ? state : withLate(state, key, position), late: mark }
  if (key !== undefined) return { state: withEnded(state, key, mark, now) }
  const whole = wholeRelation({ relation, remote })
  if (whole)
    return {
      state: withoutTombstone(withEntry(state, relationKey(whole), ended(whole, mark, now)), id, whole.remote),
    }
  const endedAt = now.toISOString()
  const own = remote === undefined ? String(id) : tombstoneKey(id, remote)
  const tombstone = defined({
    endedAt,
    ...ownValue(state.tombstones, own),
    position: mark,
    interface: relation.interface,
  })
  return { state: withTombstones(state, { ...state.tombstones, [own]: tombstone }) }
}

/** Finds the relation that ended: the document's, or else the one with the most fields in common, or else the one with the id. */
const endedKey = (
  { relations }: Pick<State, 'relations'>,
  { relation, remote, document }: Ended,
): string | undefined => {
  const agreement = (entry: RelationEntry): number =>
    8 * Number(isHeldIn(entry, document)) +
    4 * Number(isOf(entry.interface, relation.interface) && isOf(entry.role, relation.role)) +
    2 * Number(remote === undefined || entry.remote.namespace === remote.namespace) +
    Number(entry.waitsForId !== true)
  const meant = Object.entries(relations).filter(
    ([, entry]) =>
      entry.id === relation.id && (isHeldIn(entry, document) || isOf(entry.remote.application, remote?.application)),
  )
  const [best] = meant.toSorted(([, one], [, other]) => agreement(other) - agreement(one))
  return best?.[0]
}

const isOf = (value: string, wanted: string | undefined): boolean => wanted === undefined || value === wanted

/** Builds the entry of an unknown relation that is named completely. Then the peer can be told of its end, even if the peer's memory is lost as well. */
const wholeRelation = ({
  relation: { id, endpoint, interface: name, role },
  remote,
}: Ended): AnnouncedRelation | undefined =>
  endpoint === undefined || name === undefined || role === undefined || remote === undefined
    ? undefined
    : { id, endpoint, interface: name, role, remote }

/** Ends a relation whose document was deleted. */
export const endRelationByDocument = (state: State, key: string, now: Date): State =>
  withEnded(state, key, markNow(state, ownValue(state.relations, key)?.position, now), now)

/** Hands a relation whose document was deleted to the other side, where another document declares it. */
export const handDocumentOver = (state: State, key: string, document: string): State => {
  const entry = ownValue(state.relations, key)
  if (entry === undefined) return state
  return withEntry(state, key, { ...entry, document, position: { ...entry.position, at: entry.position.at + 1 } })
}

/**
 * Lists the relations that end with a document: those that it declares, and the named one, unless events or another document declare that.
 * A named one that is not known yet counts as ended, because its announcement may come late.
 */
export const endedWith = (state: State, told: Ended | undefined, document: string | undefined): Ended[] => {
  const { relations } = state
  const key = told && endedKey(state, told)
  const entry = key === undefined ? undefined : ownValue(relations, key)
  const isTheirs = entry?.status === 'established' && !isToldLast(entry)
  const isMeant = document === undefined || entry === undefined || (entry.document === document && !isTheirs)
  const held = heldBy(state, document).filter(([one]) => one !== key)
  return [...(told && isMeant ? [told] : []), ...held.map(([, relation]) => ({ relation, document }))]
}

/** Lists the relations that a document declares, with their keys. */
const heldBy = ({ relations }: State, document: string | undefined): [string, RelationEntry][] =>
  Object.entries(relations).filter(([, entry]) => isHeldIn(entry, document))

const isHeldIn = (entry: RelationEntry, document: string | undefined): boolean =>
  document !== undefined && entry.document === document && isToldLast(entry) && entry.status === 'established'

const mergedMark = (one: Mark | undefined, other: Mark | undefined): Mark | undefined =>
  one && other ? mergeMarks(one, other) : (one ?? other)

/** Returns a mark for an observation made now, later than all known marks. */
export const markNow = ({ marks }: State, before: Mark | undefined, now: Date, others: readonly Mark[] = []): Mark => ({
  ...before,
  at: Math.max(
    now.getTime(),
    1 + Math.max(marks?.application?.at ?? -1, before?.at ?? -1, ...others.map((mark) => mark.at)),
  ),
})

const withAnnounced = (state: State, announced: AnnouncedRelation, mark: Mark, now: Date): State => {
  const key = relationKey(announced)
  const before = ownValue(state.relations, key)
  const document =
    announced.document ?? (before?.status === 'established' && isToldLast(before) ? before.document : undefined)
  const entry: RelationEntry = defined({
    ...(before && keepProgress(before)),
    ...sideOf(state, before, announced),
    document,
    status: 'established' as const,
    position: mark,
    told: toldAt(mark),
  })
  const next = withoutTombstone(withEntry(state, key, entry), announced.id, announced.remote)
  // a document that names another relation releases the previous one
  const givenUp = heldBy(next, announced.document).filter(([other]) => other !== key)
  return givenUp.reduce((before, [other]) => endRelationByDocument(before, other, now), next)
}

/** Returns what an announcement says of this side: its endpoint, and the peer's databag as the platform tells it here. */
const sideOf = (state: State, before: RelationEntry | undefined, announced: AnnouncedRelation) => ({
  ...announced,
  remote: toldOf(before, announced),
  lastReadable: lastReadableValues(before, announced, state.config?.versions),
})

/** Returns the peer's side as the platform describes it. An empty databag counts as emptied only if the platform sent one before. */
const toldOf = (before: RelationEntry | undefined, { remote }: AnnouncedRelation): RelationEntry['remote'] => {
  const wasTold = before?.status === 'established' && before.remote.data !== undefined
  if (hasData(remote) || wasTold) return remote
  const { data: _, ...named } = remote
  return named
}

/** Keeps the progress of both sides and the last end, whichever side announces the relation again. */
const keepProgress = (entry: RelationEntry): Partial<RelationEntry> => {
  const { published, peer, claim, endedAt, waitsForId } = entry
  return defined({ published, peer, claim, endedAt, waitsForId })
}
