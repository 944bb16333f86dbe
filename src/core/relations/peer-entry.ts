import { ownValue } from '../../platform/base/own-value.ts'
import { isSameSubject, type RemoteName, type Subject } from '../../platform/base/subject.ts'
import { endpointOpposite } from '../state/interfaces.ts'
import { type RelationEntry, relationKey } from '../state/relation.ts'
import { type PublicState, stands } from '../state/state.ts'

const OPPOSITE = { provides: 'requires', requires: 'provides', peers: 'peers' } as const

/** Returns the identity of a relation at its peer. */
export const oppositeIdentity = ({ id, endpoint, interface: name, role, remote }: RelationEntry) => ({
  id,
  endpoint: remote.endpoint ?? endpointOpposite(name, endpoint) ?? endpoint,
  interface: name,
  role: OPPOSITE[role],
})

/** Returns the remote application of a relation of `subject`. */
export const remoteSubject = ({ namespace }: Subject, { remote }: { readonly remote: RemoteName }): Subject => ({
  namespace: remote.namespace ?? namespace,
  application: remote.application,
})
/** Tells if an entry in the memory of `from` is of a relation with `to`. */
export const isBetween = (entry: Pick<RelationEntry, 'remote'> | undefined, from: Subject, to: Subject): boolean =>
  entry !== undefined && isSameSubject(remoteSubject(from, entry), to)

/** Builds the entry of a relation that was announced only to `peer`, in the same namespace. */
export const peerEntry = (theirs: RelationEntry, peer: Subject): RelationEntry => ({
  ...oppositeIdentity(theirs),
  remote: { application: peer.application, endpoint: theirs.endpoint },
  status: theirs.status,
  position: theirs.position,
  ...(theirs.document !== undefined && { document: theirs.document }),
  ...(theirs.endedAt !== undefined && { endedAt: theirs.endedAt }),
})

/**
 * Finds the peer's entry of a relation. Within a namespace the id matches. Namespaces count ids separately, so across them applications,
 * interface and endpoints match, and among several candidates the rank by id.
 */
export const findPeerEntry = (
  subject: Subject,
  state: PublicState,
  key: string,
  theirs: PublicState,
): RelationEntry | undefined => {
  const own = ownValue(state.relations, key)
  if (own === undefined) return undefined
  const peer = remoteSubject(subject, own)
  if (peer.namespace === subject.namespace) {
    const { id, interface: name, role } = own
    const remote = { application: subject.application }
    return ownValue(theirs.relations, relationKey({ id, interface: name, role: OPPOSITE[role], remote }))
  }
  const candidates = alike(theirs, (other) => isPair(own, other) && isBetween(other, peer, subject))
  const rivals = alike(state, (other) => isAlike(own, other) && isBetween(other, subject, peer))
  return candidates[rivals.findIndex((rival) => rival.id === own.id)] ?? candidates.at(-1)
}

/** Sorts existing relations before ended ones, then by id. */
const alike = (state: PublicState, isMeant: (entry: RelationEntry) => boolean): RelationEntry[] =>
  Object.values(state.relations)
    .filter(isMeant)
    .toSorted((one, other) => Number(stands(state, other)) - Number(stands(state, one)) || one.id - other.id)

const isPair = (one: RelationEntry, other: RelationEntry): boolean =>
  one.interface === other.interface &&
  OPPOSITE[one.role] === other.role &&
  (one.remote.endpoint === undefined || one.remote.endpoint === other.endpoint) &&
  (other.remote.endpoint === undefined || other.remote.endpoint === one.endpoint)

const isAlike = (one: RelationEntry, other: RelationEntry): boolean =>
  one.interface === other.interface && one.role === other.role && one.endpoint === other.endpoint
