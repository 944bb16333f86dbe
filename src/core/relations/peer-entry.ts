import { hash } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import { ownValue } from '../../platform/base/own-value.ts'
import { isSameSubject, type Subject } from '../../platform/base/subject.ts'
import type { Content, Memory } from '../state/memory.ts'
import type { RelationEntry } from '../state/relation.ts'
import { relationKey, withPublished } from '../state/relation.ts'
import { type PublicState, type State, stands } from '../state/state.ts'
import { SCRAPE, SCRAPE_JOBS } from './scrape-jobs.ts'

const OPPOSITE = { provides: 'requires', requires: 'provides', peers: 'peers' } as const

/** The names of remote endpoints, used if the platform has not sent one. */
const ENDPOINTS: Readonly<Record<string, string>> = {
  'require-cmr-mesh': 'provide-cmr-mesh',
  'provide-cmr-mesh': 'require-cmr-mesh',
}

/** Returns the identity of a relation at its peer. */
export const oppositeIdentity = ({ id, endpoint, interface: name, role, remote }: RelationEntry) => ({
  id,
  endpoint: remote.endpoint ?? ownValue(ENDPOINTS, endpoint) ?? endpoint,
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
 * Hashes the published data, the grant and the existence of a relation, so that the peer notices changes. A relation that was restored
 * never has the hash from before its end. So a peer that has only heard of the end, and writes late, fails its save.
 */
export const publishedHash = (state: Shown, entry: RelationEntry): string =>
  contentHash([
    ...shownIn(state, entry),
    ...(entry.published?.generation === undefined ? [] : [entry.published.generation]),
  ])

type Shown = Pick<State, 'removed' | 'marks' | 'relations'>

const shownIn = (state: Shown, entry: RelationEntry) => {
  const isStanding = stands(state, entry)
  const ends = isStanding ? [entry.endedAt, state.marks?.application?.at].filter((end) => end !== undefined) : []
  return [isStanding, entry.published?.digest ?? null, entry.grant ?? null, ...ends, ...scrapeJobsAt(entry)]
}

/** The scrape jobs of the peer, which it reads here: its platform tells them to this side. */
const scrapeJobsAt = ({ interface: name, role, remote: { data } }: RelationEntry) =>
  name === SCRAPE && role === 'requires' && data?.[SCRAPE_JOBS] !== undefined ? [data[SCRAPE_JOBS]] : []

/**
 * Gives each relation whose public data differ from those in the memory a new generation. Data that change and change back get a new hash
 * this way: the peer may be about to record the data in between as observed, or may have observed the data of a memory that was restored
 * since.
 */
export const withGenerations = ({ state: before, stored }: Memory, next: Content): Content => {
  const resourceVersion = stored?.metadata.resourceVersion
  // usually the entry is identical, and needs no comparison
  const isKept = before.removed === next.state.removed && before.marks?.application === next.state.marks?.application
  const isShownAlike = (known: RelationEntry, entry: RelationEntry) =>
    (isKept && known === entry) || isDeepStrictEqual(shownIn(before, known), shownIn(next.state, entry))
  const relations = Object.entries(next.state.relations).map(([key, entry]) => {
    const known = ownValue(before.relations, key)
    const generation = known && isShownAlike(known, entry) ? known.published?.generation : resourceVersion
    return [key, withPublished(entry, { generation })]
  })
  return { ...next, state: { ...next.state, relations: Object.fromEntries(relations) } }
}

/** Tells if meshstep has a protocol for the interface, so that both sides publish data. */
export const hasProtocol = ({ interface: name }: Pick<RelationEntry, 'interface'>): boolean =>
  ['service_mesh', 'cross_model_mesh', 'cluster', 'k8s-service'].includes(name)
