import type { Clock } from '../../../platform/base/clock.ts'
import { Refused } from '../../../platform/base/errors.ts'
import type { Mark } from '../../../platform/base/event-order.ts'
import { isSameSubject, type Subject } from '../../../platform/base/subject.ts'
import type { Features } from '../../feature/combine.ts'
import { type KnownMarks, markNow, mergePeer, tombstoneOf } from '../../relations/announcements.ts'
import { rememberedDocuments } from '../../relations/documents.ts'
import { assignIds } from '../../relations/ids.ts'
import { isBetween, remoteSubject } from '../../relations/peer-entry.ts'
import { type Peer, type Peers, type ReadablePeer, remoteTest } from '../../relations/peers.ts'
import { resolveRelations } from '../../relations/resolve-relations.ts'
import type { Config, SpecSource } from '../../state/config.ts'
import { type Memory, tooLarge } from '../../state/memory.ts'
import type { PublicState, State } from '../../state/state.ts'
import type { Conceal } from '../../workload/conceal.ts'
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
  /** Data of units that did not come to lead, a sentence each. */
  readonly dropped: readonly string[]
}

/**
 * Takes what others say, and then the changes, into the state: words are merged with those of the other sides, documents are the platform's
 * word as they are now, and each change is folded in on its own; one that fails, that is refused, or that would not fit, leaves the others as
 * they are.
 */
export const foldChanges = async (
  { features, clock }: { readonly features: Features; readonly clock: Pick<Clock, 'yieldTurn'> },
  memory: Memory,
  subject: Subject,
  changes: readonly Change[],
  { peers, documents: seen }: Surroundings,
  now: Date,
  /** Throws for a state that must not be; the change that leads to it from the one before is refused. */
  check: (change: Change, before: State, after: State) => void = () => undefined,
  conceal: (config: Config, change: Change) => Config = (config) => config,
): Promise<FoldedMemory> => {
  const dropped = new Set<string>()
  const derive = (before: State, after: State, by: SpecSource = 'document') => {
    for (const sentence of droppedPending(subject, after)) dropped.add(sentence)
    return derived(
      features,
      { subject, before, by, now, resolve: (state) => resolveRelations(subject, state, peers) },
      after,
    )
  }
  const known = marksOf(subject, peers)
  const merged = withPeers(memory.state, subject, peers, now)
  const reading = (found: Documents['found']): State => {
    const documents = { ...seen, found }
    const read = withDocuments(merged, subject, documents, now, known)
    // what is seen at once was there before the application went
    const present = isConfigGone(read, subject, documents) ? withoutConfig(features, read, now) : read
    return derive(memory.state, present)
  }
  const { found, unread, state: first } = withRoomFor(memory, subject, seen.found, reading)
  const documents = { ...seen, found }
  const takeAll = async (
    excess: (before: State, candidate: State) => number,
  ): Promise<Pick<FoldedMemory, 'state' | 'taken'>> => {
    let state = first
    const concealing =
      (change: Change): Conceal =>
      (config) =>
        conceal(config, change)
    const take = (change: Change): ChangeResult => {
      const isDocument = isRead(change, subject, documents)
      const { state: after, stale, by }: Folded = isDocument ? { state } : change.fold(state, known, concealing(change))
      check(change, state, after)
      const candidate = derive(state, withEventOf(after, change), by)
      const bytes = excess(state, candidate)
      if (bytes > 0) return takeLess(change, after, bytes)
      state = candidate
      // what a document held is over with it, whenever its event was sent
      return isHeldBy(memory.state, change) ? {} : { stale }
    }
    /** A databag for which there is no room leaves its relation as it was told before, and the rest counts. */
    const takeLess = (change: Change, after: State, bytes: number): ChangeResult => {
      // what is only observed is not worth a refusal
      if (change.observation || isRead(change, subject, documents)) return NOT_REMEMBERED
      const { state: smaller, refused } = withDataOf(state, after)
      const candidate = derive(state, smaller)
      if (refused.length === 0 || excess(state, candidate) > 0)
        throw new Refused(413, tooLarge(subject.application, bytes))
      state = candidate
      return { message: `${refused.join(', ')}: ${tooLarge(subject.application, bytes)}; what was told before stays` }
    }
    const taken: ChangeResult[] = []
    for (const change of changes) {
      // a large batch must not keep the process from all else
      if (taken.length > 0) await clock.yieldTurn()
      taken.push(orError(() => take(change)))
    }
    return { state, taken }
  }
  const excess = (before: State, candidate: State) =>
    isLess(before, candidate) ? 0 : tooManyBytes(memory, before, candidate)
  // to measure is to look at all that is remembered: where all changes fit, it is done once for them
  const together = await takeAll(() => 0)
  const { state, taken } = tooManyBytes(memory, first, together.state) === 0 ? together : await takeAll(excess)
  return {
    state: assignIds(
      subject,
      withPeers(withDocuments(state, subject, documents, now, known), subject, peers, now),
      peers,
    ),
    taken: taken.map((one, index) => toldOf(one, changes[index], unread)),
    dropped: [...dropped],
  }
}

/** The result of a change with the documents that are not read: to the event of one of them that is an error. */
const toldOf = (taken: ChangeResult, change: Change | undefined, unread: readonly Unread[]): ChangeResult => {
  if (taken instanceof Error || unread.length === 0) return taken
  const own = unread.find(({ name }) => name === change?.look?.document)
  if (own) return new Refused(413, own.problem)
  const problems = unread.map(({ problem }) => problem)
  return { ...taken, message: [...(taken.message === undefined ? [] : [taken.message]), ...problems].join('; ') }
}

/** A mark of a relation in the memory of a remote side, as far as that names it. */
type PeerMark = {
  readonly id: number
  readonly mark: Mark
  /** The remote side. */
  readonly peer: Subject
  readonly interface?: string | undefined
}

/** Lists what a remote side knows of relations with the own side, and of ends of which it does not know with whom they were. */
const marksAt = (subject: Subject, peer: Subject, { relations, tombstones = {} }: PublicState): PeerMark[] => [
  ...Object.values(relations).flatMap((entry) =>
    isBetween(entry, peer, subject) ? [{ id: entry.id, mark: entry.position, peer, interface: entry.interface }] : [],
  ),
  ...Object.entries(tombstones).flatMap(([key, { position: mark, interface: name }]): PeerMark[] => {
    const { id, remote } = tombstoneOf(peer, key)
    if (remote && isSameSubject(remote, subject)) return [{ id: Number(id), mark, peer, interface: name }]
    // whose it is was not said, but it is a relation of the peer
    const isAnybodys = remote === undefined && !Object.values(relations).some((entry) => String(entry.id) === id)
    return isAnybodys ? [{ id: Number(id), mark, peer }] : []
  }),
]

/** The marks of the other sides of the namespace; across namespaces ids are counted apart. */
const marksOf = (subject: Subject, peers: Peers): KnownMarks => {
  const all = [...peers.values()].flatMap((peer) =>
    'state' in peer && peer.subject.namespace === subject.namespace ? marksAt(subject, peer.subject, peer.state) : [],
  )
  const known = Map.groupBy(all, ({ id }) => id)
  return (id, relation) => {
    const remote = relation && remoteSubject(subject, relation)
    const isMeant = ({ peer, interface: name }: PeerMark) =>
      (remote === undefined || isSameSubject(peer, remote)) && [undefined, name].includes(name && relation?.interface)
    return (known.get(id) ?? []).flatMap((one) => (isMeant(one) ? one.mark : []))
  }
}

/** The config was kept in a document, and so the application goes with it. */
const withoutConfig = (features: Features, state: State, now: Date): State => {
  // whoever heard of the config may have a clock that is ahead
  const { at: arrived } = markNow(state, state.marks?.config, now)
  const position = { source: 'document', id: `document ${arrived}`, time: arrived, arrived }
  return removeApplication(features, state, position, now).state
}

const orError = <T>(action: () => T): T | Error => {
  try {
    return action()
  } catch (error) {
    return error instanceof Error ? error : new Error(String(error))
  }
}

/** The words of the other sides of the namespace; across namespaces each side goes by its own platform's. */
const withPeers = (state: State, subject: Subject, peers: Peers, now: Date): State => {
  const isRemote = remoteTest(subject, state)
  const near = [...peers.values()].flatMap((peer) =>
    'state' in peer && peer.subject.namespace === subject.namespace && isRemote(peer.subject) ? [peer] : [],
  )
  // of two that share an id after a lost memory the one that was granted has it
  const { true: granted = [], false: others = [] } = Object.groupBy(near, (peer) => String(isGranted(peer, subject)))
  return [...granted, ...others].reduce(
    (before, peer) => mergePeer(before, subject, peer.subject, peer.state, now),
    state,
  )
}

/** Tells if a peer carries labels of a relation with the application, or grants it anything. */
const isGranted = (peer: Peer & ReadablePeer, subject: Subject): boolean =>
  Object.values(peer.state.relations).some(
    (entry) => (entry.labels !== undefined || entry.grant !== undefined) && isBetween(entry, peer.subject, subject),
  )

/** An event about a document that is there, or known to be gone, says nothing that the documents do not. */
const isRead = ({ look }: Change, { application }: Subject, { found, expected }: Documents): boolean => {
  const { document: name, isTold } = look ?? {}
  if (name === undefined) return false
  const isThere = found.some((document) => document.name === name && document.application === application)
  return isThere || (isTold === true && !expected.includes(name))
}

const withEventOf = (state: State, { look, event }: Change): State =>
  look?.document === undefined || event === undefined ? state : withDocumentEvent(state, look.document, event)

const isHeldBy = (state: State, { look }: Change): boolean =>
  look?.document !== undefined && look.isTold !== true && rememberedDocuments(state).has(look.document)
