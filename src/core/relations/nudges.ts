import { isSameNamespace, isSameSubject, type Subject, subjectName } from '../../platform/base/subject.ts'
import type { Event } from '../../platform/cloudevents/cloud-event.ts'
import { applicationSource, ECHO } from '../../platform/cloudevents/source.ts'
import { parseRequester, type RelationEntry, relationName, relationsIn } from '../state/relation.ts'
import { type PublicState, publishedIn, type State, stands } from '../state/state.ts'
import { contentHash, hasProtocol, oppositeIdentity, publishedHash, remoteSubject } from './peer-entry.ts'
import { peerView } from './peer-view.ts'
import { type Peers, type ReadablePeer, remoteTest } from './peers.ts'
import { noteDelivered } from './progress.ts'
import { takesLabels } from './requested-labels.ts'

/**
 * A CloudEvent that asks a remote application to read a relation again: relation-changed or relation-broken. Our functions use nothing
 * else of it; it carries the data for third parties.
 */
export type Nudge = {
  readonly event: Event
  readonly name: string
  /** The relation, and a hash of the event's content. */
  readonly key: string
  readonly shows: string
  /** The remote side has no readable memory: the sent data are remembered. */
  readonly isRemembered: boolean
}

type Occasion = {
  /** The remote sides read again, whatever they have seen. */
  readonly isResync: boolean
  /** All applications of the namespace get a resync of their own. */
  readonly isNamespaceResync: boolean
  readonly isEcho: boolean
  readonly now: Date
}

/**
 * Collects the due nudges, one for each remote application that has not seen the current data. One with a readable memory reads all of
 * its relations, so one nudge is enough.
 */
export const nudgesDue = (subject: Subject, state: State, peers: Peers, occasion: Occasion): Nudge[] => {
  const isRemote = remoteTest(subject, state)
  const remote = relationsIn(state).filter((entry) => isRemote(remoteSubject(subject, entry)))
  const due = remote.flatMap(({ key, ...entry }) => {
    const one = dueTo(subject, state, key, entry, peers, occasion)
    return one ? [nudge(subject, state, key, entry, occasion, one)] : []
  })
  const first = new Map<string | undefined, Nudge>()
  for (const one of due) if (!one.isRemembered && !first.has(one.event.subject)) first.set(one.event.subject, one)
  return due.filter((one) => one.isRemembered || first.get(one.event.subject) === one)
}

/**
 * Marks, before it is done, what is to be sent to remote applications without a memory. Where the note that follows is lost, it is unknown
 * what they were told last, and they are told again, also of what came before or of the end.
 */
export const withSending = (subject: Subject, state: State, peers: Peers): State => {
  const isRemote = remoteTest(subject, state)
  const isUntold = (key: string, entry: RelationEntry): boolean => {
    const remote = remoteSubject(subject, entry)
    const isSettled = entry.peer?.delivered === null || !isRemote(remote) || readableOf(peers, remote) !== undefined
    return !isSettled && dueTo(subject, state, key, entry, peers, NO_RESYNC) !== undefined
  }
  const sending = relationsIn(state).filter(({ key, ...entry }) => isUntold(key, entry))
  return sending.reduce((before, { key }) => noteDelivered(before, key, null), state)
}

const NO_RESYNC = { isResync: false, isNamespaceResync: false }

/** The remote application's memory, where it has one that can be read. */
const readableOf = (peers: Peers, remote: Subject): ReadablePeer | undefined => {
  const peer = peers.get(subjectName(remote))
  return peer !== undefined && 'state' in peer ? peer : undefined
}

type Due = { readonly isRemembered: boolean }

const dueTo = (
  subject: Subject,
  state: State,
  key: string,
  entry: RelationEntry,
  peers: Peers,
  { isResync, isNamespaceResync }: Pick<Occasion, 'isResync' | 'isNamespaceResync'>,
): Due | undefined => {
  const remote = remoteSubject(subject, entry)
  // across namespaces words are not shared
  if (
    !isSameNamespace(subject, remoteSubject(subject, entry)) &&
    entry.published?.digest === undefined &&
    !hasProtocol(entry)
  )
    return undefined
  const isForced = isResync && !(isNamespaceResync && isSameNamespace(subject, remoteSubject(subject, entry)))
  const peer = readableOf(peers, remote)
  const isDue = peer ? isUnseen(subject, state, key, entry, peers, peer.state) : isUnsent(state, entry)
  return isForced || isDue ? { isRemembered: peer === undefined } : undefined
}

/** Tells if the data differ from those sent: without a memory the remote side cannot show what it has seen. */
const isUnsent = (state: State, entry: RelationEntry): boolean =>
  entry.peer?.delivered !== publishedHash(state, entry) &&
  (stands(state, entry) || entry.peer?.delivered !== undefined || entry.grant !== undefined)

const isUnseen = (
  subject: Subject,
  state: State,
  key: string,
  entry: RelationEntry,
  peers: Peers,
  peer: PublicState,
): boolean => {
  const { entry: theirs, isOver } = peerView(subject, state, key, peers)
  const isStanding = stands(state, entry)
  if (theirs === undefined) return isStanding || isKeptFor(subject, entry, peer)
  // a namespace leaves the mesh once labels are carried; grants are revoked once they are not
  const isLeft = (isOver || !isStanding) && theirs.grant !== undefined
  // a worker keeps the label of its cluster, on the mesh or not
  const isLetGo = entry.labels === undefined || entry.interface === 'cluster'
  const isAwaited =
    (peer.awaiting === 'labels-applied' && takesLabels(entry)) ||
    (peer.awaiting === 'labels-removed' && isLetGo) ||
    (entry.labels === undefined && isLeft)
  // after the merge a different status of ours is the later one; across namespaces both may stand
  const isLater = isSameNamespace(subject, remoteSubject(subject, entry)) && theirs.status !== entry.status
  return isAwaited || isLater || theirs.peer?.observed !== publishedHash(state, entry)
}

/** Tells if a side that has lost its memory keeps what it granted, until it is told what became of the relation. */
const isKeptFor = (subject: Subject, { id }: RelationEntry, { waitingSince = {} }: PublicState): boolean =>
  Object.keys(waitingSince).some((held) => {
    const kept = parseRequester(held)
    return kept?.id === String(id) && isSameSubject(kept.requester, subject)
  })

const nudge = (
  subject: Subject,
  state: State,
  key: string,
  entry: RelationEntry,
  { isEcho, now }: Occasion,
  { isRemembered }: Due,
): Nudge => {
  const to = remoteSubject(subject, entry)
  const shows = publishedHash(state, entry)
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
      extensions: { partitionkey: subjectName(to), ...(isEcho && { [ECHO]: 'true' }) },
      data: { ...to, ...(isStanding ? standing(subject, state, entry) : ended(subject, entry)) },
    },
  }
}

/** Builds the relation and this side's data, for receivers that read no memories. */
const standing = ({ namespace, application }: Subject, state: State, entry: RelationEntry) => {
  const { data = {}, units } = publishedIn(state, entry) ?? {}
  const remote = { application, namespace, endpoint: entry.endpoint, data, ...(units && { units }) }
  return { relation: oppositeIdentity(entry), remote }
}

const ended = ({ namespace, application }: Subject, entry: RelationEntry) => {
  const { id, interface: name, role } = oppositeIdentity(entry)
  return { relation: { id, interface: name, role }, remote: { application, namespace } }
}
