import { ownValue } from '../../platform/base/own-value.ts'
import { isSameNamespace, type Subject, subjectName } from '../../platform/base/subject.ts'
import type { PublishedData, RelationEntry } from '../state/relation.ts'
import { type PublicState, publishedIn, type State, stands, type Word, wordOf } from '../state/state.ts'
import { ENROLMENT_LABEL } from './mesh-labels.ts'
import { versionOf } from './offers/published-version.ts'
import { findPeerEntry, remoteSubject } from './peer-entry.ts'
import type { Peer, Peers, ReadablePeer } from './peers.ts'

/** The peer of a relation, according to its memory. */
export type PeerView = {
  readonly entry?: RelationEntry | undefined
  readonly published?: PublishedData | undefined
  /** The word of the peer's memory on the relation: established where it says nothing. */
  readonly word: Word
  /** The other relation that has its id there, so that this one is waiting. */
  readonly rival?: RelationEntry | undefined
  /** The peer has a memory that can be read. */
  readonly isKnown?: true
  /** The peer has claimed the labels of the relation, or may carry them: its memory may not be read, or is missing although it published once. */
  readonly mayCarry: boolean
  /** The labels that the workload carries for its relations. */
  readonly labels?: Readonly<Record<string, string>> | undefined
  /** The workload is on the mesh because of this relation alone. */
  readonly isEnrolled?: true | undefined
  /** The version of the peer's public data in the relation. */
  readonly shows?: string | undefined
  /** The reason why the memory could not be read. */
  readonly problem?: string | undefined
}

/** The view of a peer without a memory that can be read, or of an alias. */
const unknownView = (own: RelationEntry | undefined, peer?: Extract<Peer, { readonly unknown: string }>): PeerView => {
  const mayCarry = own !== undefined && hadMemory(own) && !peer?.isGone
  return peer?.unknown === 'unreadable'
    ? { word: 'established', mayCarry: true, problem: peer.problem }
    : { word: 'established', mayCarry }
}

/** Reads the peer of the relation `key` from its memory. Empty for an alias, or without a memory. */
export const peerView = (subject: Subject, state: State, key: string, peers: Peers): PeerView => {
  const own = ownValue(state.relations, key)
  const peer = own && peers.get(subjectName(remoteSubject(subject, own)))
  if (own === undefined || peer === undefined) return unknownView(own)
  if ('unknown' in peer) return unknownView(own, peer)
  const entry = findPeerEntry(subject, state, key, peer.state)
  const { labels } = peer
  const isSame = isSameNamespace(subject, peer.subject)
  const rival = isSame ? rivalOf(entry, own.id, peer.state) : undefined
  const word = rival ? 'waiting' : wordAt(peer.state, entry, isSame)
  // only an application with a lost memory may carry labels of a relation that it does not know
  if (entry === undefined) return { isKnown: true, word, rival, labels, mayCarry: peer.state.lost?.labels === true }
  return {
    isKnown: true,
    entry,
    rival,
    labels,
    // data from before an end do not count: the peer has yet to observe that the relation was announced here again
    published:
      isSame && own.status === 'established' && entry.status === 'ended' ? undefined : publishedIn(peer.state, entry),
    word,
    mayCarry: entry.claim !== undefined,
    ...(isEnrolledBy(entry, peer) && { isEnrolled: true }),
    get shows() {
      return versionOf(peer.state, entry)
    },
  }
}

/** Returns the word of a peer's memory, where no other relation has the id. Within the namespace the own status counts, as both are merged. */
const wordAt = (state: PublicState, entry: RelationEntry | undefined, isSame: boolean): Word =>
  entry && wordOf(state, isSame ? { ...entry, status: 'established' } : entry) === 'over' ? 'over' : 'established'

/** Returns the relation that has an id in a state, if it is another one than `entry`. */
const rivalOf = (entry: RelationEntry | undefined, id: number, state: PublicState): RelationEntry | undefined => {
  if (entry !== undefined && !entry.waitsForId) return undefined
  const holder = Object.values(state.relations).find((other) => other.id === id && !other.waitsForId)
  return holder && stands(state, holder) ? holder : undefined
}

const isEnrolledBy = (entry: RelationEntry, { labels, state }: Pick<ReadablePeer, 'labels' | 'state'>): boolean =>
  Object.hasOwn(labels, ENROLMENT_LABEL) &&
  !Object.values(state.relations).some((other) => other !== entry && other.claim !== undefined)

/** Tells if the peer once had a memory of the relation. If that is missing now, the relation may be unchanged. */
export const hadMemory = ({ peer }: Pick<RelationEntry, 'peer'>): boolean =>
  peer?.publishes === true || peer?.seen !== undefined
