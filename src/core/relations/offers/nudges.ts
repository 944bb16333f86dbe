import { isSameNamespace, type Subject, subjectName } from '../../../platform/base/subject.ts'
import type { Event } from '../../../platform/cloudevents/cloud-event.ts'
import { applicationSource } from '../../../platform/cloudevents/source.ts'
import { protocolOf } from '../../state/interfaces.ts'
import { type RelationEntry, relationName, relationsIn } from '../../state/relation.ts'
import { type PublicState, publishedIn, type State, stands } from '../../state/state.ts'
import { oppositeIdentity, remoteSubject } from '../peer-entry.ts'
import { hadMemory, peerView } from '../peer-view.ts'
import { type Peers, remoteTest, stateOf } from '../peers.ts'
import { takesLabels } from '../requested-labels.ts'
import { withEntries } from '../told/entries.ts'
import { contentHash, versionOf } from './published-version.ts'

/**
 * A CloudEvent that asks a peer to read a relation again: relation-changed or relation-broken. meshstep's functions only need its relation.
 * The data are for other receivers.
 */
export type Nudge = {
  readonly event: Event
  readonly name: string
  /** The key of the relation, and the version of what it shows. */
  readonly key: string
  readonly shows: string
  /** The peer has no readable memory, so a record of the sent data is kept. */
  readonly isRemembered: boolean
}

type Occasion = {
  /** The peers read again, whatever they have observed. */
  readonly isResync: boolean
  /** All applications of the namespace get a resync of their own. */
  readonly isNamespaceResync: boolean
  /** The step was told, and has changed nothing: it tells only those who are behind. */
  readonly isAnswer?: boolean
  readonly now: Date
}

/**
 * Collects the due nudges, one for each peer that has not observed the current data. A peer with a readable memory reads all of its
 * relations at once, so it gets one nudge.
 */
export const nudgesDue = (subject: Subject, state: State, peers: Peers, occasion: Occasion): Nudge[] => {
  const isRemote = remoteTest(subject, state)
  const remote = relationsIn(state).filter((entry) => isRemote(remoteSubject(subject, entry)))
  const due = remote.flatMap(({ key, ...entry }) => {
    const one = dueTo(subject, state, key, entry, peers, occasion)
    return one ? [nudge(subject, state, key, entry, occasion, one)] : []
  })
  const first = new Map(due.toReversed().map((one) => [one.event.subject, one]))
  return due.filter((one) => one.isRemembered || first.get(one.event.subject) === one)
}

/**
 * Marks messages to peers without a memory as on their way, before they are sent. If the note after sending is lost, the last delivered
 * data are unknown, and they are sent again, even after changes or the end.
 */
export const withSending = (subject: Subject, state: State, peers: Peers): State => {
  const isRemote = remoteTest(subject, state)
  return withEntries(state, (entry, key) => {
    const remote = remoteSubject(subject, entry)
    const isSettled =
      entry.peer?.sent === null || !isRemote(remote) || stateOf(peers.get(subjectName(remote))) !== undefined
    const isUntold = !isSettled && dueTo(subject, state, key, entry, peers, NO_RESYNC) !== undefined
    return isUntold ? { peer: { ...entry.peer, sent: null } } : undefined
  })
}

/** Records the version that was sent to a peer without a memory. */
export const noteSent = (state: State, to: string, sent: string): State =>
  withEntries(state, (entry, key) => (key === to ? { peer: { ...entry.peer, sent } } : undefined))

const NO_RESYNC = { isResync: false, isNamespaceResync: false }

type Due = { readonly isRemembered: boolean }

const dueTo = (
  subject: Subject,
  state: State,
  key: string,
  entry: RelationEntry,
  peers: Peers,
  { isResync, isNamespaceResync, isAnswer = false }: Omit<Occasion, 'now'>,
): Due | undefined => {
  const remote = remoteSubject(subject, entry)
  const isSame = isSameNamespace(subject, remote)
  // across namespaces, each platform announces relations to its own side
  if (!isSame && entry.published?.digest === undefined && !protocolOf(entry.interface)) return undefined
  const isForced = isResync && !(isNamespaceResync && isSame)
  const peer = stateOf(peers.get(subjectName(remote)))
  const { entry: theirs } = peerView(subject, state, key, peers)
  if (isAnswer) return peer && isBehind(subject, state, entry, theirs, peer) ? { isRemembered: false } : undefined
  const isDue = peer ? isUnseen(subject, state, entry, theirs, peer) : isUnsent(state, entry)
  return isForced || isDue ? { isRemembered: peer === undefined } : undefined
}

/** Tells if the data differ from the last sent ones. Without a memory the peer cannot show what it has observed. */
const isUnsent = (state: State, entry: RelationEntry): boolean =>
  entry.peer?.sent !== versionOf(state, entry) &&
  (stands(state, entry) || entry.peer?.sent !== undefined || hadMemory(entry))

const isUnseen = (
  subject: Subject,
  state: State,
  entry: RelationEntry,
  theirs: RelationEntry | undefined,
  peer: PublicState,
): boolean =>
  isBehind(subject, state, entry, theirs, peer) ||
  (theirs === undefined ? stands(state, entry) : theirs.peer?.seen !== versionOf(state, entry))

/**
 * Tells if the peer awaits this application, does not know the relation, or has another status of it. Or it lags behind, and this side does not: what
 * was sent may be lost with a process that died. Who lags behind itself does not answer, so no two do so for ever.
 */
const isBehind = (
  subject: Subject,
  state: State,
  entry: RelationEntry,
  theirs: RelationEntry | undefined,
  peer: PublicState,
): boolean => {
  // after the merge, our status is the later one if they differ; across namespaces both may be in effect
  const isSame = isSameNamespace(subject, remoteSubject(subject, entry))
  const isOther = theirs === undefined ? stands(state, entry) : theirs.status !== entry.status
  const isLagging =
    theirs !== undefined &&
    theirs.peer?.seen !== versionOf(state, entry) &&
    entry.peer?.seen === versionOf(peer, theirs)
  return isAwaited(peer, entry) || isLagging || (isSame && isOther)
}

/** Tells if the peer asked to be told when labels or claims are there or gone, and they may be. */
const isAwaited = ({ awaiting }: PublicState, entry: RelationEntry): boolean => {
  // a worker keeps the label of its cluster even if it is off the mesh
  if (awaiting === 'labels-removed') return entry.claim === undefined || entry.interface === 'cluster'
  return awaiting !== undefined && takesLabels(entry)
}

const nudge = (
  subject: Subject,
  state: State,
  key: string,
  entry: RelationEntry,
  { now }: Occasion,
  { isRemembered }: Due,
): Nudge => {
  const to = remoteSubject(subject, entry)
  const shows = versionOf(state, entry)
  const isStanding = stands(state, entry)
  return {
    key,
    shows,
    isRemembered,
    name: `${relationName(entry)} to ${subjectName(to)}`,
    event: {
      id: `${subjectName(subject)}/${key}/${subjectName(to)}/${contentHash([shows, entry.position.at])}`,
      source: applicationSource(subject),
      type: `dev.meshstep.relation-${isStanding ? 'changed' : 'broken'}.v1`,
      subject: subjectName(to),
      time: now.toISOString(),
      datacontenttype: 'application/json',
      extensions: { partitionkey: subjectName(to) },
      data: { ...to, ...(isStanding ? established(subject, state, entry) : ended(subject, entry)) },
    },
  }
}

/** Builds the relation and this side's data, for receivers that do not read memories. */
const established = ({ namespace, application }: Subject, state: State, entry: RelationEntry) => {
  const { data = {}, units } = publishedIn(state, entry) ?? {}
  const remote = { application, namespace, endpoint: entry.endpoint, data, ...(units && { units }) }
  return { relation: oppositeIdentity(entry), remote }
}

const ended = ({ namespace, application }: Subject, entry: RelationEntry) => {
  const { id, interface: name, role } = oppositeIdentity(entry)
  return { relation: { id, interface: name, role }, remote: { application, namespace } }
}
