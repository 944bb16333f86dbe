import { advance, compareMarks, isAfter, type Late, type Mark, mergeMarks, type Position } from '../base/event-order.ts'
import { defined, ownValue } from '../base/own-value.ts'
import type { Subject } from '../base/subject.ts'
import type { RelationEntry, RelationIdentity } from '../state/relation.ts'
import type { PublicState, State } from '../state/state.ts'
import { lastReadableValues } from './last-readable.ts'
import { displacedKey, isBetween, isDisplaced, mirrored } from './mirror.ts'

/** A relation as a platform or a document tells it. */
export type AnnouncedRelation = RelationIdentity & Pick<RelationEntry, 'remote' | 'document'>

/** The state after a word, or why the word does not count. */
export type AnnouncementResult = { state: State } | { late: Late }

/** The marks that the other sides have of a relation, by its key: what is told here comes after them, or does not count. */
export type KnownMarks = (key: string) => readonly Mark[]

/** A relation is told: it stands from then on. */
export const announceRelation = (
  state: State,
  told: AnnouncedRelation,
  position: Position,
  now: Date,
  known: KnownMarks,
): AnnouncementResult => {
  const key = String(told.id)
  // a document is one thing, whichever relation it named before
  const held = Object.values(state.relations).filter(
    ({ document }) => document !== undefined && document === told.document,
  )
  const others = [state.marks?.application, ...known(key), ...held.map((entry) => entry.mark)]
  const mark = advance(findMark(state, key), position, others)
  if (typeof mark === 'string') return { late: mark }
  return { state: withAnnounced(state, told, mark, now) }
}

/** A document is the platform's word for as long as it exists: it is no news where it is known, and else counts as told now. */
export const announceRelationByDocument = (
  state: State,
  told: AnnouncedRelation,
  now: Date,
  known: KnownMarks,
): State => {
  const key = String(told.id)
  const entry = ownValue(state.relations, key)
  const isKnown = entry?.word === 'told' && isSameRelation(entry, told)
  const mark = isKnown ? entry.mark : markNow(state, findMark(state, key), now, known(key))
  return withAnnounced(state, told, mark, now)
}

/** The relation that has ended, with its interface where the platform says it. */
type Ended = { readonly key: string; readonly interface?: string | undefined }

/** A relation has ended: a tombstone keeps what was told before from bringing it back. */
export const endRelation = (
  state: State,
  { key, interface: name }: Ended,
  position: Position,
  now: Date,
  known: KnownMarks,
): AnnouncementResult => {
  const mark = advance(findMark(state, key), position, [state.marks?.application, ...known(key)])
  return typeof mark === 'string' ? { late: mark } : { state: withEnded(state, key, mark, now, name) }
}

/** The document of a relation is gone. */
export const endRelationByDocument = (state: State, key: string, now: Date): State =>
  withEnded(state, key, markNow(state, findMark(state, key), now), now)

/** The relations that the deletion of a document ends: those that it holds, and the one named unless another document holds that by now. */
export const keysOfDocument = (
  { relations }: State,
  named: string | undefined,
  document: string | undefined,
): string[] => {
  const holder = named === undefined ? undefined : ownValue(relations, named)?.document
  const isMeant = document === undefined || holder === undefined || holder === document
  const held = Object.keys(relations).filter((key) => isHeldIn(relations[key], document))
  return [...new Set([...(named !== undefined && isMeant ? [named] : []), ...held])]
}

const isHeldIn = (entry: RelationEntry | undefined, document: string | undefined): boolean =>
  document !== undefined && entry?.document === document && entry.word === 'told'

const findMark = ({ relations, tombstones }: State, key: string): Mark | undefined =>
  ownValue(relations, key)?.mark ?? ownValue(tombstones, key)?.mark

/** The mark of what is seen now, later than all that is known of it. */
export const markNow = ({ marks }: State, before: Mark | undefined, now: Date, others: readonly Mark[] = []): Mark => ({
  ...before,
  at: Math.max(
    now.getTime(),
    1 + Math.max(marks?.application?.at ?? -1, before?.at ?? -1, ...others.map((mark) => mark.at)),
  ),
})

const withAnnounced = (state: State, told: AnnouncedRelation, mark: Mark, now: Date): State => {
  const key = String(told.id)
  const before = ownValue(state.relations, key)
  const isSame = before !== undefined && isSameRelation(before, told)
  const { [key]: _tombstone, ...tombstones } = state.tombstones ?? {}
  const document = told.document ?? (before?.word === 'told' && before.mine ? before.document : undefined)
  const entry: RelationEntry = {
    ...(isSame && keepProgress(before)),
    ...told,
    ...lastReadableValues(isSame ? before : undefined, told, state.config?.versions),
    ...(document !== undefined && { document }),
    word: 'told',
    mark,
    mine: true,
  }
  const next = withTombstones(withEntry(isSame ? state : withDisplaced(state, key, now), key, entry), tombstones)
  // a document that names another relation than before has given the former one up
  const givenUp = keysOfDocument(next, undefined, told.document).filter((other) => other !== key)
  return givenUp.reduce((before, other) => endRelationByDocument(before, other, now), next)
}

/** The id of a relation goes to another one: what was granted or carried for it is let go of in order, and the other side is told. */
const withDisplaced = (state: State, key: string, now: Date): State => {
  const before = ownValue(state.relations, key)
  if (before === undefined || (before.word === 'ended' && before.granted === undefined && !before.holds)) return state
  const since = before.since ?? now.toISOString()
  return withEntry(state, displacedKey(before), { ...before, word: 'ended', since })
}

const withEnded = (state: State, key: string, mark: Mark, now: Date, name?: string): State => {
  const before = ownValue(state.relations, key)
  const since = now.toISOString()
  if (before === undefined)
    return withTombstones(state, {
      ...state.tombstones,
      [key]: defined({ since, ...ownValue(state.tombstones, key), mark, interface: name }),
    })
  const ended: RelationEntry = { ...before, word: 'ended', mark, mine: true, since: before.since ?? since }
  return withEntry(state, key, ended)
}

const withTombstones = ({ tombstones: _, ...state }: State, tombstones: NonNullable<State['tombstones']>): State =>
  Object.keys(tombstones).length === 0 ? state : { ...state, tombstones }

const isSameRelation = (one: RelationEntry, other: AnnouncedRelation): boolean =>
  one.remote.application === other.remote.application &&
  one.remote.namespace === other.remote.namespace &&
  one.interface === other.interface &&
  one.role === other.role

/** How far both sides are is the same relation's, whoever tells it again. */
const keepProgress = ({ says, seen, heard, granted, holds, taking, sent }: RelationEntry): Partial<RelationEntry> =>
  defined({ says, seen, heard, granted, holds, taking, sent })

/**
 * Takes the words of the other side of the same namespace: of two words about one relation the later counts, and of two at once the end.
 * Where nothing is known here a relation is taken from `peer` while it stands, and a tombstone of it is not.
 */
export const mergePeer = (state: State, subject: Subject, peer: Subject, theirs: PublicState, now: Date): State => {
  const numbered = Object.keys(theirs.relations).filter((key) => !isDisplaced(key))
  const keys = numbered.filter((key) => isConcerned(state, subject, peer, theirs, key))
  return keys.reduce((before, key) => mergeOne(before, subject, peer, theirs, key, now), state)
}

const isConcerned = (
  { relations }: State,
  subject: Subject,
  peer: Subject,
  theirs: PublicState,
  key: string,
): boolean => {
  const [own, other] = [ownValue(relations, key), ownValue(theirs.relations, key)]
  return isBetween(other, peer, subject) || isBetween(own, subject, peer)
}

const mergeOne = (
  state: State,
  subject: Subject,
  peer: Subject,
  theirs: PublicState,
  key: string,
  now: Date,
): State => {
  const [own, other] = [ownValue(state.relations, key), ownValue(theirs.relations, key)]
  if (other === undefined) return state
  if (own === undefined) return adopted(state, peer, other, key, now)
  const [isWithThem, isWithUs] = [isBetween(own, subject, peer), isBetween(other, peer, subject)]
  if (isWithThem && isWithUs && own.interface === other.interface) return mergeWord(state, key, own, other, now)
  // the id has gone to another relation, here or there
  if (isWithUs && other.word === 'told') return mergeAnother(state, key, own, mirrored(other, peer), now)
  const isOver = isWithThem && compareMarks(own.mark, other.mark) < 0
  const mark = mergeMarks(own.mark, other.mark)
  return isOver ? withWord(state, key, own, { word: 'ended', mark }, now) : state
}

/** A relation with somebody else is told under the id: what is over stands in nobody's way but its own. */
const mergeAnother = (state: State, key: string, own: RelationEntry, other: RelationEntry, now: Date): State => {
  const rival = own.word === 'ended' ? ownValue(state.relations, displacedKey(other))?.mark : own.mark
  if (rival !== undefined && compareMarks(rival, other.mark) >= 0) return state
  const mark = mergeMarks(own.mark, other.mark)
  return withEntry(withDisplaced(state, key, now), key, { ...other, mark })
}

/** What both sides say alike is known: an event is compared with the marks of both. */
const mergeWord = (state: State, key: string, own: RelationEntry, other: RelationEntry, now: Date): State => {
  if (own.word === other.word) return withDocumentOf(state, key, own, other)
  const order = compareMarks(own.mark, other.mark)
  const isLater = order < 0 || (order === 0 && other.word === 'ended')
  if (!isLater) return state
  const word = withWord(state, key, own, { word: other.word, mark: mergeMarks(own.mark, other.mark) }, now)
  return other.word === 'told' ? withDocumentOf(word, key, word.relations[key] ?? own, other) : word
}

/** The document in which the other side's platform keeps the relation: that side may lose its memory. */
const withDocumentOf = (state: State, key: string, own: RelationEntry, { mine, document }: RelationEntry): State =>
  own.mine || !mine || own.document === document ? state : withEntry(state, key, defined({ ...own, document }))

const withEntry = (state: State, key: string, entry: RelationEntry): State => ({
  ...state,
  relations: { ...state.relations, [key]: entry },
})

const adopted = (state: State, peer: Subject, other: RelationEntry, key: string, now: Date): State => {
  const { [key]: tombstone, ...tombstones } = state.tombstones ?? {}
  // an end is news only to whom the other side waits for, and to whom carries labels and does not know for what
  const isAwaited = other.granted !== undefined || other.holds === true || state.carried === true
  if (other.word === 'ended' && !isAwaited) return state
  // what did not come to the other side came to this one, before its memory was lost
  const entry = { ...mirrored(other, peer), mine: !other.mine }
  if (tombstone === undefined) return withEntry(state, key, entry)
  const mark = mergeMarks(tombstone.mark, other.mark)
  const isOver = compareMarks(tombstone.mark, other.mark) >= 0
  const since = tombstone.since ?? now.toISOString()
  const known: RelationEntry = isOver ? { ...entry, word: 'ended', mark, mine: true, since } : { ...entry, mark }
  return withTombstones(withEntry(state, key, known), tombstones)
}

const withWord = (
  state: State,
  key: string,
  own: RelationEntry,
  { word, mark }: Pick<RelationEntry, 'word' | 'mark'>,
  now: Date,
): State => {
  const { since: _, ...entry } = own
  const since = word === 'ended' ? { since: own.since ?? now.toISOString() } : {}
  return withEntry(state, key, { ...entry, word, mark, mine: false, ...since })
}

/**
 * The application is removed: what its own platform told before ends with it, but for what documents say. That, and what the other sides were
 * told, waits for it to come back.
 */
export const endOnRemoval = (state: State, position: Position, now: Date): AnnouncementResult => {
  const before = state.marks?.application
  const advanced = advance(before, position)
  if (typeof advanced === 'string') return { late: advanced }
  const earlier = Object.values(state.relations).filter(({ mark }) => !isAfter(mark, position))
  const marks = [...Object.values(state.marks ?? {}), ...earlier.map(({ mark }) => mark)]
  const mark =
    position.time === undefined ? { ...advanced, at: Math.max(advanced.at, 1 + latest(marks, position)) } : advanced
  const relations = Object.entries(state.relations).map(([key, entry]) => [
    key,
    afterRemoval(entry, position, mark, now),
  ])
  return {
    state: {
      ...state,
      removed: now.toISOString(),
      marks: { ...state.marks, application: mark },
      relations: Object.fromEntries(relations),
    },
  }
}

/** What was told to this side before ends; what was told after stands; and documents say what they say for as long as they exist. */
const afterRemoval = (entry: RelationEntry, position: Position, removal: Mark, now: Date): RelationEntry => {
  if (!entry.mine || entry.word === 'ended') return entry
  if (isAfter(entry.mark, position))
    return { ...entry, mark: { ...entry.mark, at: Math.max(entry.mark.at, removal.at + 1) } }
  if (entry.document !== undefined) return entry
  const mark = { ...entry.mark, at: Math.max(entry.mark.at, removal.at) }
  return { ...entry, word: 'ended', mark, since: now.toISOString() }
}

const latest = (marks: readonly Mark[], position: Position): number =>
  Math.max(-1, ...marks.filter((mark) => !isAfter(mark, position)).map((mark) => mark.at))
