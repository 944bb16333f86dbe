import type { Mark } from '../../../platform/base/event-order.ts'
import { isSameSubject, type Subject, subjectName } from '../../../platform/base/subject.ts'
import type { PublicState } from '../../state/state.ts'
import { isBetween, remoteSubject } from '../peer-entry.ts'
import { type Peer, type Peers, stateOf } from '../peers.ts'
import type { KnownMarks } from './announcements.ts'
import { tombstoneOf } from './tombstones.ts'

/** A mark of a relation in the memory of a peer, as far as the memory names the relation. */
type PeerMark = {
  readonly id: number
  readonly mark: Mark
  /** The remote side. */
  readonly peer: Subject
  readonly interface?: string | undefined
}

/** Lists a peer's marks of relations with the application, and of ended relations whose other side is not recorded. */
const marksAt = (subject: Subject, peer: Subject, { relations, tombstones = {} }: PublicState): PeerMark[] => [
  ...Object.values(relations).flatMap((entry) =>
    isBetween(entry, peer, subject) ? [{ id: entry.id, mark: entry.position, peer, interface: entry.interface }] : [],
  ),
  ...Object.entries(tombstones).flatMap(([key, { position: mark, interface: name }]): PeerMark[] => {
    const { id, remote } = tombstoneOf(peer, key)
    if (remote && isSameSubject(remote, subject)) return [{ id: Number(id), mark, peer, interface: name }]
    // the other side was not recorded, but the relation is one of the peer
    const isAnybodys = remote === undefined && !Object.values(relations).some((entry) => String(entry.id) === id)
    return isAnybodys ? [{ id: Number(id), mark, peer }] : []
  }),
]

/** Indexes the marks of peers in the same namespace. Other namespaces count ids separately. */
export const marksOf = (subject: Subject, peers: Peers): KnownMarks => {
  const all = [...peers.values()].flatMap((peer) =>
    'state' in peer && peer.subject.namespace === subject.namespace ? marksAt(subject, peer.subject, peer.state) : [],
  )
  const known = Map.groupBy(all, ({ id }) => id)
  return (id, relation, withRemoval) => {
    const remote = relation && remoteSubject(subject, relation)
    const isMeant = ({ peer, interface: name }: PeerMark) =>
      (remote === undefined || isSameSubject(peer, remote)) && [undefined, name].includes(name && relation?.interface)
    return [
      ...(known.get(id) ?? []).flatMap((one) => (isMeant(one) ? one.mark : [])),
      ...(withRemoval && remote ? removalOf(peers.get(subjectName(remote))) : []),
    ]
  }
}

/** Returns the place of the removal of a peer. Sequences are left out: they order the events of one application. */
const removalOf = (peer: Peer | undefined): Mark[] => {
  const removal = stateOf(peer)?.marks?.application
  return removal === undefined ? [] : [{ at: removal.at }]
}
