import {
  advance,
  compareMarks,
  isAfter,
  type Late,
  type Mark,
  mergeMarks,
  type Position,
  withEvent,
  withoutEnd,
} from '../base/event-order.ts'
import { defined, ownValue } from '../base/own-value.ts'
import { isSameSubject, type Subject } from '../base/subject.ts'
import { isSameRelation, type RelationEntry, type RelationIdentity } from '../state/relation.ts'
import type { PublicState, State } from '../state/state.ts'
import { isEnrolling } from './effective.ts'
import { lastReadableValues } from './last-readable.ts'
import { displacedKey, isBetween, isDisplaced, mirrored } from './mirror.ts'

/** A relation as announced by a platform or a document. */
export type AnnouncedRelation = RelationIdentity & Pick<RelationEntry, 'remote' | 'document'>

/** The state after an announcement; `late` says why it does not count. */
export type AnnouncementResult = { readonly state: State; readonly late?: Late }

/** The remote sides' marks of the relation `key`: an announcement must be later. Of another one than that with `remote` its end does not count. */
export type KnownMarks = (key: string, remote?: Pick<RelationEntry, 'remote'>) => readonly Mark[]

/** Applies the announcement of a relation, which exists from then on. */
export const announceRelation = (
  state: State,
  announced: AnnouncedRelation,
  position: Position,
  now: Date,
  known: KnownMarks,
): AnnouncementResult => {
  const key = String(announced.id)
  // a document keeps its position, whichever relation it named before
  const held =
    announced.document === undefined
      ? []
      : Object.values(state.relations).filter(({ document }) => document === announced.document)
  const displaced = ownValue(state.relations, displacedKey(announced))?.mark
  const others = [state.marks?.application, displaced, ...known(key, announced), ...held.map((entry) => entry.mark)]
  const [before, tombstone] = [findMark(state, key, announced), findTombstone(state, key, announced.remote)]
  const mark = advance(mergedMark(before, tombstone?.mark), position, others)
  if (typeof mark !== 'string') return { state: withAnnounced(state, announced, mark, now) }
  // also a relation that is over already displaces the one that had its id before
  const earlier = before && tombstone && mark === 'stale' ? advance(before, position, others) : mark
  if (typeof earlier === 'string' || tombstone === undefined)
    return { state: withLate(state, key, before, position), late: mark }
  return { state: withEnded(withAnnounced(state, announced, earlier, now), key, tombstone.mark, now) }
}

/**
 * Remembers an event that is late by what the other side knows alone: a process that did not know it may still be about to save that event,
 * and loses its write to this one.
 */
const withLate = (state: State, key: string, known: Mark | undefined, position: Position): State => {
  const entry = ownValue(state.relations, key)
  const isLateHere = known === undefined || typeof advance(known, position, [state.marks?.application]) === 'string'
  return isLateHere || entry?.mark !== known
    ? state
    : withEntry(state, key, { ...entry, mark: withEvent(known, position.id) })
}

/** Applies a document, which announces its relation as long as it exists. A known relation keeps its mark; a new one is announced now. */
export const announceRelationByDocument = (
  state: State,
  announced: AnnouncedRelation,
  now: Date,
  known: KnownMarks,
): State => {
  const key = String(announced.id)
  const entry = ownValue(state.relations, key)
  const isKnown = entry?.word === 'told' && isSameRelation(entry, announced)
  const before = mergedMark(findMark(state, key), findTombstone(state, key, announced.remote)?.mark)
  const mark = isKnown ? entry.mark : markNow(state, before, now, known(key))
  return withAnnounced(state, announced, mark, now)
}

/** An ended relation, by its id, and by as much else as the platform says of it. */
type Ended = {
  readonly relation: Pick<RelationIdentity, 'id'> & {
    readonly [K in keyof RelationIdentity]?: RelationIdentity[K] | undefined
  }
  readonly remote?: Remote | undefined
  /** The document that declared it, whatever it said in the end. */
  readonly document?: string | undefined
}

/** Ends a relation, and no other one that has its id. A tombstone keeps earlier announcements from restoring it. */
export const endRelation = (
  state: State,
  { relation, remote, document }: Ended,
  position: Position,
  now: Date,
  known: KnownMarks,
): AnnouncementResult => {
  const key = String(relation.id)
  const entry = ownValue(state.relations, key)
  const isKnown =
    entry !== undefined &&
    (remote === undefined || remote.application === entry.remote.application || isHeldIn(entry, document))
  const before = isKnown ? entry.mark : findTombstone(state, key, remote)?.mark
  const others = isKnown || remote === undefined ? known(key) : known(key, { remote: { ...remote, data: {} } })
  const mark = advance(before, position, [state.marks?.application, ...others])
  if (typeof mark === 'string')
    return { state: withLate(state, key, isKnown ? before : undefined, position), late: mark }
  if (isKnown) return { state: withEnded(state, key, mark, now) }
  const whole = entry === undefined ? wholeRelation({ relation, remote }) : undefined
  if (whole)
    return { state: withoutTombstone(withEntry(state, key, ended({ ...whole, mark }, mark, now)), key, whole.remote) }
  const since = now.toISOString()
  const own = remote === undefined ? key : tombstoneKey(key, remote)
  const tombstone = defined({ since, ...ownValue(state.tombstones, own), mark, interface: relation.interface })
  return { state: withTombstones(state, { ...state.tombstones, [own]: tombstone }) }
}

/** An unknown relation of which all is said: its other side, whose memory may be lost as well, can be told. */
const wholeRelation = ({
  relation: { id, endpoint, interface: name, role },
  remote,
}: Ended): Omit<RelationEntry, 'mark'> | undefined =>
  endpoint === undefined || name === undefined || role === undefined || remote === undefined
    ? undefined
    : {
        ...{ id, endpoint, interface: name, role },
        remote: defined({ ...remote, data: {} }),
        word: 'ended',
        mine: true,
      }

/** Ends a relation whose document was deleted. */
export const endRelationByDocument = (state: State, key: string, now: Date): State =>
  withEnded(state, key, markNow(state, findMark(state, key), now), now)

/** Leaves a relation whose document was deleted to the other side, of which another document declares it. */
export const heldByOther = (state: State, key: string, document: string): State => {
  const entry = ownValue(state.relations, key)
  return entry === undefined ? state : withEntry(state, key, { ...entry, document, mine: false })
}

/** Lists the relations that end with a document. These are those it declares, and the named one unless another document declares it by now. */
export const keysOfDocument = (
  { relations }: State,
  named: string | undefined,
  document: string | undefined,
): string[] => {
  const entry = named === undefined ? undefined : ownValue(relations, named)
  const isTheirs = entry?.word === 'told' && !entry.mine
  const isMeant = document === undefined || entry?.document === undefined || (entry.document === document && !isTheirs)
  const held = document === undefined ? [] : Object.keys(relations).filter((key) => isHeldIn(relations[key], document))
  return [...new Set([...(named !== undefined && isMeant ? [named] : []), ...held])]
}

const isHeldIn = (entry: RelationEntry | undefined, document: string | undefined): boolean =>
  document !== undefined && entry?.document === document && entry.mine && entry.word === 'told'

/** The mark of `key`; where it is of another relation than the one announced, the end of that does not count. */
const findMark = ({ relations }: State, key: string, announced?: AnnouncedRelation): Mark | undefined => {
  const entry = ownValue(relations, key)
  return entry && announced && !isSameRelation(entry, announced) ? withoutEnd(entry.mark) : entry?.mark
}

/** An application as a relation names it; `namespace` only where it is another one. */
type Remote = { readonly application: string; readonly namespace?: string | undefined }

type Tombstones = NonNullable<State['tombstones']>

/** The tombstone of an unknown relation has the key of its id, and of its remote application where the end named that. */
const tombstoneKey = (key: string, { application, namespace }: Remote): string =>
  [key, application, ...(namespace === undefined ? [] : [namespace])].join('/')

/** Reads the key of a tombstone in the memory of `subject`. */
export const tombstoneOf = (subject: Subject, key: string): { id: string; remote?: Subject | undefined } => {
  const [id = key, application, namespace = subject.namespace] = key.split('/')
  return { id, remote: application === undefined ? undefined : { namespace, application } }
}

/** The interfaces of relations between an application and `peer` of which that one knows the end alone; '' for one that was not told. */
export const endsAlone = (
  subject: Subject,
  peer: Subject,
  { tombstones = {} }: Pick<PublicState, 'tombstones'>,
): string[] =>
  Object.entries(tombstones).flatMap(([key, { interface: name = '' }]) => {
    const { remote } = tombstoneOf(peer, key)
    return peer.namespace === subject.namespace && remote && isSameSubject(remote, subject) ? [name] : []
  })

/** The keys under which the end of a relation may be: it may have named less of the remote application. */
const tombstoneKeys = (key: string, remote: Remote | undefined): string[] =>
  remote === undefined
    ? [key]
    : [...new Set([key, tombstoneKey(key, { application: remote.application }), tombstoneKey(key, remote)])]

/** The last end of a relation that was unknown then. */
const findTombstone = (state: State, key: string, remote: Remote | undefined): Tombstones[string] | undefined => {
  const found = tombstoneKeys(key, remote).flatMap((one) => ownValue(state.tombstones, one) ?? [])
  const [first, ...others] = found
  const mark = first && others.reduce((one, other) => mergeMarks(one, other.mark), first.mark)
  return mark && { ...first, ...found.at(-1), mark }
}

const withoutTombstone = (state: State, key: string, remote: Remote): State => {
  const keys = tombstoneKeys(key, remote)
  const left = Object.entries(state.tombstones ?? {}).filter(([one]) => !keys.includes(one))
  return withTombstones(state, Object.fromEntries(left))
}

const mergedMark = (one: Mark | undefined, other: Mark | undefined): Mark | undefined =>
  one && other ? mergeMarks(one, other) : (one ?? other)

/** Returns a mark for an observation now, later than all known marks. */
export const markNow = ({ marks }: State, before: Mark | undefined, now: Date, others: readonly Mark[] = []): Mark => ({
  ...before,
  at: Math.max(
    now.getTime(),
    1 + Math.max(marks?.application?.at ?? -1, before?.at ?? -1, ...others.map((mark) => mark.at)),
  ),
})

const withAnnounced = (state: State, announced: AnnouncedRelation, mark: Mark, now: Date): State => {
  const key = String(announced.id)
  const before = ownValue(state.relations, key)
  const isSame = before !== undefined && isSameRelation(before, announced)
  const document = announced.document ?? (before?.word === 'told' && before.mine ? before.document : undefined)
  const entry: RelationEntry = {
    ...(isSame && keepProgress(before)),
    ...announced,
    ...lastReadableValues(isSame ? before : undefined, announced, state.config?.versions),
    ...(document !== undefined && { document }),
    word: 'told',
    mark,
    mine: true,
  }
  const displaced = isSame ? state : withDisplaced(state, key, now)
  const next = withoutTombstone(withEntry(displaced, key, entry), key, announced.remote)
  // a document that names another relation releases the previous one
  const givenUp = keysOfDocument(next, undefined, announced.document).filter((other) => other !== key)
  return givenUp.reduce((before, other) => endRelationByDocument(before, other, now), next)
}

/** Displaces a relation whose id is reused. Its grants and labels are released in order, and the remote side is notified. */
const withDisplaced = (state: State, key: string, now: Date): State => {
  const before = ownValue(state.relations, key)
  if (before === undefined || (before.word === 'ended' && before.granted === undefined && !before.holds)) return state
  return withEntry(state, displacedKey(before), { ...before, word: 'ended', since: endOf(before, now) })
}

const withEnded = (state: State, key: string, mark: Mark, now: Date): State => {
  const before = ownValue(state.relations, key)
  return before === undefined ? state : withEntry(state, key, ended(before, mark, now))
}

const ended = (entry: RelationEntry, mark: Mark, now: Date): RelationEntry => ({
  ...{ ...entry, word: 'ended', mark: endMark(entry, mark) },
  ...{ mine: true, since: endOf(entry, now) },
})

/** The mark of a relation's end, with the place of its last announcement. */
const endMark = ({ word, mark: { at, told } }: RelationEntry, end: Mark): Mark =>
  defined({ ...end, told: word === 'told' ? at : told })

/** Returns the time of the last end of a relation that is over now. */
const endOf = ({ word, since }: RelationEntry, now: Date): string =>
  (word === 'ended' ? since : undefined) ?? now.toISOString()

const withTombstones = ({ tombstones: _, ...state }: State, tombstones: Tombstones): State =>
  Object.keys(tombstones).length === 0 ? state : { ...state, tombstones }

/** Keeps the progress of both sides, and the last end, whichever side announces the relation again. */
const keepProgress = (entry: RelationEntry): Partial<RelationEntry> => {
  const { says, revision, seen, heard, granted, holds, taking, sent, since } = entry
  return defined({ says, revision, seen, heard, granted, holds, taking, sent, since })
}

/**
 * Merges the announcements known to a remote side in the same namespace. Of two about one relation the later counts, at equal marks
 * the end. An unknown relation is adopted while it exists, its tombstone is not.
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
  // the id was reused on either side
  if (isWithUs && other.word === 'told') return mergeAnother(state, key, own, mirrored(other, peer), now)
  const theirMark = withoutEnd(other.mark)
  const isOver = isWithThem && compareMarks(own.mark, theirMark) < 0
  const mark = mergeMarks(own.mark, theirMark)
  return isOver ? withWord(state, key, own, { word: 'ended', mark }, now) : state
}

/** Replaces a relation by another one announced under its id: an ended relation blocks only itself. */
const mergeAnother = (state: State, key: string, own: RelationEntry, other: RelationEntry, now: Date): State => {
  const rivals = [withoutEnd(own.mark), ownValue(state.relations, displacedKey(other))?.mark]
  if (rivals.some((rival) => rival !== undefined && compareMarks(rival, other.mark) >= 0)) return state
  const mark = mergeMarks(withoutEnd(own.mark), other.mark)
  return withAdopted(withDisplaced(state, key, now), key, { ...other, mark }, now)
}

/** Adopts the entry of a relation; it is over where its tombstone is later. */
const withAdopted = (state: State, key: string, entry: RelationEntry, now: Date): State => {
  const tombstone = findTombstone(state, key, entry.remote)
  if (tombstone === undefined) return withEntry(state, key, entry)
  const mark = mergeMarks(tombstone.mark, entry.mark)
  const isOver = compareMarks(tombstone.mark, entry.mark) >= 0
  const since = tombstone.since ?? now.toISOString()
  const known: RelationEntry = isOver ? { ...entry, word: 'ended', mark, mine: true, since } : { ...entry, mark }
  return withoutTombstone(withEntry(state, key, known), key, entry.remote)
}

/** Merges two words about one relation: the later counts, and an event is compared with the marks of both. */
const mergeWord = (state: State, key: string, own: RelationEntry, other: RelationEntry, now: Date): State => {
  if (own.word === other.word) return withDocumentOf(state, key, own, other)
  const order = compareMarks(own.mark, other.mark)
  const isLater = order < 0 || (order === 0 && other.word === 'ended')
  if (!isLater) return state
  const word = withWord(state, key, own, { word: other.word, mark: mergeMarks(own.mark, other.mark) }, now)
  return other.word === 'told' ? withDocumentOf(word, key, word.relations[key] ?? own, other) : word
}

/** Adopts the document that declares the relation at the remote side, which may lose its memory. */
const withDocumentOf = (state: State, key: string, own: RelationEntry, { mine, document }: RelationEntry): State =>
  own.mine || !mine || own.document === document ? state : withEntry(state, key, defined({ ...own, document }))

const withEntry = (state: State, key: string, entry: RelationEntry): State => ({
  ...state,
  relations: { ...state.relations, [key]: entry },
})

const adopted = (state: State, peer: Subject, other: RelationEntry, key: string, now: Date): State => {
  // an end matters only if the other side waits for it, or labels are carried of an unknown relation, which may have been this one
  const mayBeCarried = state.carried === true && isEnrolling(other) && other.role === 'provides'
  const isAwaited = other.granted !== undefined || other.holds === true || mayBeCarried
  if (other.word === 'ended' && !isAwaited) return state
  // an announcement not sent to the other side was sent to this one, before its memory was lost
  return withAdopted(state, key, sinceRemoval(state, { ...mirrored(other, peer), mine: !other.mine }, now), now)
}

/** A relation that this side was told of before the application was removed is over. */
const sinceRemoval = (
  { marks: { application: removal } = {} }: State,
  entry: RelationEntry,
  now: Date,
): RelationEntry =>
  removal !== undefined && entry.mine && entry.document === undefined && compareMarks(entry.mark, removal) <= 0
    ? endedByRemoval(entry, removal, now)
    : entry

const withWord = (
  state: State,
  key: string,
  own: RelationEntry,
  { word, mark }: Pick<RelationEntry, 'word' | 'mark'>,
  now: Date,
): State => {
  const { since: _, ...entry } = own
  const since = word === 'ended' ? { since: endOf(own, now) } : {}
  const last = word === 'ended' ? endMark(own, mark) : mark
  return withEntry(state, key, { ...entry, word, mark: last, mine: false, ...since })
}

/**
 * Ends the relations that the platform announced before the removal, except those of documents. These, and what the remote sides know,
 * wait for the application to return.
 */
export const endOnRemoval = (state: State, position: Position, now: Date): AnnouncementResult => {
  const before = state.marks?.application
  const advanced = advance(before, position)
  if (typeof advanced === 'string') return { state, late: advanced }
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

/** Ends the relations announced before the removal; later ones stay, and so do documents as long as they exist. */
const afterRemoval = (entry: RelationEntry, position: Position, removal: Mark, now: Date): RelationEntry => {
  if (!entry.mine || entry.word === 'ended') return entry
  if (isAfter(entry.mark, position))
    return { ...entry, mark: { ...entry.mark, at: Math.max(entry.mark.at, removal.at + 1) } }
  return entry.document === undefined ? endedByRemoval(entry, removal, now) : entry
}

const endedByRemoval = (entry: RelationEntry, { at }: Mark, now: Date): RelationEntry =>
  entry.word === 'ended'
    ? entry
    : {
        ...entry,
        word: 'ended',
        mark: endMark(entry, { ...entry.mark, at: Math.max(entry.mark.at, at) }),
        since: now.toISOString(),
      }

const latest = (marks: readonly Mark[], position: Position): number =>
  Math.max(-1, ...marks.filter((mark) => !isAfter(mark, position)).map((mark) => mark.at))
