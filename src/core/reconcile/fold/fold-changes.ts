import type { Clock } from '../../../platform/base/clock.ts'
import { Refused } from '../../../platform/base/errors.ts'
import { ownValue } from '../../../platform/base/own-value.ts'
import type { Subject } from '../../../platform/base/subject.ts'
import type { Features } from '../../feature/combine.ts'
import { isBetween } from '../../relations/peer-entry.ts'
import { type Peer, type Peers, type ReadablePeer, remoteTest } from '../../relations/peers.ts'
import { resolveRelations } from '../../relations/resolve-relations.ts'
import { type KnownMarks, markNow } from '../../relations/told/announcements.ts'
import { rememberedDocuments } from '../../relations/told/documents.ts'
import { assignIds } from '../../relations/told/ids.ts'
import { mergePeer } from '../../relations/told/merge-peer.ts'
import { marksOf } from '../../relations/told/peer-marks.ts'
import type { Config, SpecSource } from '../../state/config.ts'
import { type Memory, tooLarge } from '../../state/memory.ts'
import { hasNews } from '../../state/news.ts'
import type { State } from '../../state/state.ts'
import type { Change, ChangeResult, Folded } from '../change.ts'
import type { Surroundings } from '../observe/surroundings.ts'
import { derived, droppedPending } from './derive.ts'
import { type Documents, isConfigGone, withDocumentEvent, withDocuments } from './fold-documents.ts'
import { removeApplication } from './remove-application.ts'
import { isLess, NOT_REMEMBERED, tooManyBytes, type Unread, withDataOf, withRoomFor } from './room.ts'

/** The state after the changes, and the result of each. */
export type FoldedMemory = {
  readonly state: State
  readonly taken: readonly ChangeResult[]
  /** Dropped data of units that did not become leader, a sentence each. */
  readonly dropped: readonly string[]
}

/**
 * Folds the memories of peers, then the documents, then the changes into the state. Entries of both sides are merged. Documents count as
 * they are now. Each change is folded in on its own: if it fails, is refused or does not fit, the others are not affected.
 */
export const foldChanges = async (
  { features, clock }: { readonly features: Features; readonly clock: Pick<Clock, 'yieldTurn'> },
  memory: Memory,
  subject: Subject,
  changes: readonly Change[],
  { peers, documents: seen }: Surroundings,
  now: Date,
  check: Taking['check'] = () => undefined,
  conceal: Taking['conceal'] = (config) => config,
): Promise<FoldedMemory> => {
  const dropped = new Set<string>()
  const derive: Taking['derive'] = (before, after, by = 'document') => {
    for (const sentence of droppedPending(subject, after)) dropped.add(sentence)
    return derived(
      features,
      { subject, before, by, now, resolve: (state) => resolveRelations(subject, state, peers) },
      after,
    )
  }
  const known = marksOf(subject, peers)
  const withDocumentsOf = (before: State, documents: Documents): State => {
    const read = withDocuments(before, subject, documents, now, known)
    return isConfigGone(read, subject, documents) ? withoutConfig(features, read, now) : read
  }
  const merged = withPeers(memory.state, subject, peers, now)
  const reading = (found: Documents['found']): State =>
    derive(memory.state, withDocumentsOf(merged, { ...seen, found }))
  const { found, unread, state: first } = withRoomFor(memory, subject, seen.found, reading)
  const documents = { ...seen, found }
  const takeAll = async (excess: Taking['excess']): Promise<Pick<FoldedMemory, 'state' | 'taken'>> => {
    const taking: Taking = { subject, remembered: memory.state, documents, known, derive, check, conceal, excess }
    let state = first
    const taken: ChangeResult[] = []
    for (const change of changes) {
      // a large batch must not block the process
      if (taken.length > 0) await clock.yieldTurn()
      const { next, result } = takeChange(taking, state, change)
      state = next
      taken.push(result)
    }
    return { state, taken }
  }
  const excess: Taking['excess'] = (before, candidate) =>
    isLess(before, candidate) ? 0 : tooManyBytes(memory, before, candidate)
  // measuring reads the whole memory: if all changes fit together, it is done once
  const together = await takeAll(() => 0)
  const { state, taken } = tooManyBytes(memory, first, together.state) === 0 ? together : await takeAll(excess)
  // an event may name a relation of which a peer or a document says more
  const next = assignIds(subject, withPeers(withDocumentsOf(state, documents), subject, peers, now), peers)
  const isNews = hasNews(memory.state, next)
  return {
    state: next,
    taken: taken.map((one, index) => withNews(toldOf(one, changes[index], unread), isNews)),
    dropped: [...dropped],
  }
}

/** All that the taking of a change depends on, besides the state before it. */
type Taking = {
  readonly subject: Subject
  /** The state in the memory. */
  readonly remembered: State
  readonly documents: Documents
  readonly known: KnownMarks
  /** Adds to a state what follows from its change. */
  readonly derive: (before: State, after: State, by?: SpecSource) => State
  /** Throws for a forbidden state. Then the change between `before` and `after` is refused. */
  readonly check: (change: Change, before: State, after: State) => void
  readonly conceal: (config: Config, change: Change) => Config
  /** Returns the size in bytes of a state that does not fit into the memory, or 0. */
  readonly excess: (before: State, candidate: State) => number
}

/** Takes one change. One that fails leaves the state as it was. */
const takeChange = (taking: Taking, state: State, change: Change): { next: State; result: ChangeResult } => {
  try {
    return takeOrThrow(taking, state, change)
  } catch (error) {
    return { next: state, result: error instanceof Error ? error : new Error(String(error)) }
  }
}

const takeOrThrow = (taking: Taking, state: State, change: Change): { next: State; result: ChangeResult } => {
  const { subject, remembered, documents, known, derive, check, conceal, excess } = taking
  const isDocument = isRead(change, subject, documents)
  const folded: Folded = isDocument ? { state } : change.fold(state, known, (config) => conceal(config, change))
  const { state: after, stale, by } = isTakingOver(state, folded.state, change) ? { ...folded, state } : folded
  check(change, state, after)
  const candidate = derive(state, withEventOf(after, change), by)
  const bytes = excess(state, candidate)
  // the end of a document ends its content, regardless of the order of events
  if (bytes === 0) return { next: candidate, result: isHeldBy(remembered, change) ? {} : { stale } }
  // an observation is dropped without an error
  if (change.observation || isDocument) return { next: state, result: NOT_REMEMBERED }
  // the databags that do not fit stay as they were
  const { state: smaller, refused } = withDataOf(state, after)
  const next = derive(state, smaller)
  if (excess(state, next) > 0) throw new Refused(413, tooLarge(subject.application, bytes))
  const message = `${refused.join(', ')}: ${tooLarge(subject.application, bytes)}; what was told before stays`
  return { next, result: { message, lacksRoom: true } }
}

const withNews = (taken: ChangeResult, isNews: boolean): ChangeResult =>
  taken instanceof Error ? taken : { ...taken, isNews }

/** Adds the unread documents to the result of a change. For the event of such a document it is an error. */
const toldOf = (taken: ChangeResult, change: Change | undefined, unread: readonly Unread[]): ChangeResult => {
  if (taken instanceof Error || unread.length === 0) return taken
  const own = unread.find(({ name }) => name === change?.look?.document)
  if (own) return new Refused(413, own.problem)
  const problems = unread.map(({ problem }) => problem)
  return { ...taken, message: [...(taken.message === undefined ? [] : [taken.message]), ...problems].join('; ') }
}

/** Removes the application because the document of its config is gone. */
const withoutConfig = (features: Features, state: State, now: Date): State => {
  // a peer that heard of the config may have a clock that is ahead
  const { at: arrived } = markNow(state, state.marks?.config, now)
  const position = { source: 'document', id: `document ${arrived}`, time: arrived, arrived }
  return removeApplication(features, state, position, now).state
}

/** Merges the memories of peers in the same namespace. Across namespaces, each side follows its own platform. */
const withPeers = (state: State, subject: Subject, peers: Peers, now: Date): State => {
  const isRemote = remoteTest(subject, state)
  const near = [...peers.values()].flatMap((peer) =>
    'state' in peer && peer.subject.namespace === subject.namespace && isRemote(peer.subject) ? [peer] : [],
  )
  // if two peers share an id after a lost memory, the claimed one has it
  const { true: claimed = [], false: others = [] } = Object.groupBy(near, (peer) => String(isClaimed(peer, subject)))
  return [...claimed, ...others].reduce(
    (before, peer) => mergePeer(before, subject, peer.subject, peer.state, now),
    state,
  )
}

/** Tells if a peer carries labels of a relation with the application. */
const isClaimed = (peer: Peer & ReadablePeer, subject: Subject): boolean =>
  Object.values(peer.state.relations).some(
    (entry) => entry.claim !== undefined && isBetween(entry, peer.subject, subject),
  )

/** Tells if the documents themselves cover an event. One whose document is gone counts as it says, and ends then, unless its author is unknown. */
const isRead = ({ look }: Change, { application }: Subject, { found, areAuthored }: Documents): boolean =>
  found.some((document) => document.name === look?.document && document.application === application) ||
  (areAuthored === true && look?.isTold === true)

/** Tells if the document of an event takes over what another one declares. A document that is gone cannot. */
const isTakingOver = (before: State, after: State, { look: { document: name, isTold } = {} }: Change): boolean => {
  const isOther = (document: string | undefined) => document !== undefined && document !== name
  return (
    isTold === true &&
    ((after.document === name && isOther(before.document)) ||
      Object.entries(after.relations).some(
        ([key, { document }]) => document === name && isOther(ownValue(before.relations, key)?.document),
      ))
  )
}

const withEventOf = (state: State, { look, event }: Change): State =>
  look?.document === undefined || event === undefined ? state : withDocumentEvent(state, look.document, event)

const isHeldBy = (state: State, { look }: Change): boolean =>
  look?.document !== undefined && look.isTold !== true && rememberedDocuments(state).has(look.document)
