import { hash } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import { ownValue } from '../../platform/base/own-value.ts'
import { isSameSubject, type Subject } from '../../platform/base/subject.ts'
import { endpointOpposite } from '../state/interfaces.ts'
import type { Content, Memory } from '../state/memory.ts'
import type { RelationEntry } from '../state/relation.ts'
import { relationKey, withPublished } from '../state/relation.ts'
import { type PublicState, type State, stands } from '../state/state.ts'
import { SCRAPE, SCRAPE_JOBS } from './scrape-jobs.ts'

const OPPOSITE = { provides: 'requires', requires: 'provides', peers: 'peers' } as const

/** Returns the identity of a relation at its peer. */
export const oppositeIdentity = ({ id, endpoint, interface: name, role, remote }: RelationEntry) => ({
  id,
  endpoint: remote.endpoint ?? endpointOpposite(name, endpoint) ?? endpoint,
  interface: name,
  role: OPPOSITE[role],
})

/** A reference to an application in a relation. `namespace` is set only if it is another one. */
export type Named = { readonly application: string; readonly namespace?: string | undefined }

/** Returns the remote application of a relation of `subject`. */
export const remoteSubject = ({ namespace }: Subject, { remote }: { readonly remote: Named }): Subject => ({
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

const isOpposite = (one: RelationEntry, other: RelationEntry): boolean =>
  one.interface === other.interface && OPPOSITE[one.role] === other.role

const isPair = (one: RelationEntry, other: RelationEntry): boolean =>
  isOpposite(one, other) &&
  (one.remote.endpoint === undefined || one.remote.endpoint === other.endpoint) &&
  (other.remote.endpoint === undefined || other.remote.endpoint === one.endpoint)

const isAlike = (one: RelationEntry, other: RelationEntry): boolean =>
  one.interface === other.interface && one.role === other.role && one.endpoint === other.endpoint

/** Hashes content into a short text. */
export const contentHash = (content: unknown): string =>
  hash('sha256', JSON.stringify(content), 'base64url').slice(0, 12)

/**
 * Returns the version of what a side shows its peer: its published data, and that the relation exists. A relation that was restored never
 * has the version from before its end.
 */
export const versionOf = (state: Shown, entry: RelationEntry): string =>
  entry.published?.version ?? contentHash(shownIn(state, entry))

type Shown = Pick<State, 'removed' | 'marks' | 'relations'>

const shownIn = (state: Shown, entry: RelationEntry) => {
  const isStanding = stands(state, entry)
  const ends = isStanding ? [entry.endedAt, state.marks?.application?.at].filter((end) => end !== undefined) : []
  return [isStanding, entry.published?.digest ?? null, ...ends, ...toldAt(entry)]
}

/** The data that the peer reads here, as its platform tells them to this side: its scrape jobs, and what a consumer's charm asks for itself. */
const toldAt = ({ interface: name, role, remote: { data } }: RelationEntry): unknown[] => {
  if (name === SCRAPE && role === 'requires') return data?.[SCRAPE_JOBS] === undefined ? [] : [data[SCRAPE_JOBS]]
  return name === 'service_mesh' && role === 'provides' && data !== undefined ? [data] : []
}

/**
 * Gives each relation whose public data differ from those in the memory a new version. Data that change and change back get a new one as
 * well: the peer may be about to record the data in between as seen, or may have seen the data of a memory that was restored since.
 */
export const withVersions = ({ state: before, stored }: Memory, next: Content): Content => {
  const resourceVersion = stored?.metadata.resourceVersion ?? ''
  // usually the entry is identical, and needs no comparison
  const isKept = before.removed === next.state.removed && before.marks?.application === next.state.marks?.application
  const isShownAlike = (known: RelationEntry, entry: RelationEntry) =>
    known.published?.version !== undefined &&
    ((isKept && known === entry) || isDeepStrictEqual(shownIn(before, known), shownIn(next.state, entry)))
  const relations = Object.entries(next.state.relations).map(([key, entry]) => {
    const known = ownValue(before.relations, key)
    const version =
      known && isShownAlike(known, entry)
        ? known.published?.version
        : contentHash([resourceVersion, ...shownIn(next.state, entry)])
    return [key, withPublished(entry, { version })]
  })
  return { ...next, state: { ...next.state, relations: Object.fromEntries(relations) } }
}
