import type { Condition } from '../../platform/base/condition.ts'
import { defined } from '../../platform/base/own-value.ts'
import type { Subject } from '../../platform/base/subject.ts'
import {
  type Databag,
  hasData,
  isEmptied,
  type Provider,
  type PublishedData,
  type Relation,
  type RelationEntry,
  type Requirer,
  relationName,
} from '../state/relation.ts'
import { type EffectiveState, publishedIn, type State, stands } from '../state/state.ts'
import { selectCustomData } from './databags/application-data.ts'
import { type RelationData, readData } from './databags/relation-data.ts'
import { progressOf } from './offers/offer-and-claim.ts'
import { versionOf } from './offers/published-version.ts'
import { remoteSubject } from './peer-entry.ts'
import { type PeerView, peerView } from './peer-view.ts'
import type { Peers } from './peers.ts'
import { waitingFor } from './relation-waits.ts'
import { offersLabels, takesLabels } from './requested-labels.ts'
import { STAYS } from './told/documents.ts'
import { listEnds, type Over } from './told/ends.ts'
import { sharedIds } from './told/ids.ts'
import { type Unknown, unknownIn } from './unknown.ts'

/** The state with each relation's effective data, and the problems found. */
export type ResolvedRelations = {
  readonly state: EffectiveState
  /** The sides have no version in common. */
  readonly blocked: readonly string[]
  readonly problems: readonly string[]
  /** Waits for other applications. */
  readonly waiting: readonly Condition[]
  readonly unknown: Unknown
  /** Relations with a beacon that are over, and whose labels the application may still carry. What guards it follows them until then. */
  readonly carried: Readonly<Record<string, Relation>>
  /** Relations that are over here, and those of which only the end is known. */
  readonly over: readonly Over[]
}

/**
 * Resolves all relations: how each stands by the memories of both sides, and its effective data. The last readable data replace unreadable ones. For a
 * provider, a relation that is over remains until its requirer has removed its labels.
 */
export const resolveRelations = (subject: Subject, state: State, peers: Peers): ResolvedRelations => {
  const all = Object.entries(state.relations).map(([key, entry]) => {
    const other = peerView(subject, state, key, peers)
    const standing = standingBetween(state, entry, other)
    const isPresent = standing === 'established' || (standing === 'leaving' && offersLabels(entry))
    return { key, entry, other, standing, isPresent }
  })
  const resolved = all.flatMap(({ standing, ...one }) =>
    standing === 'over' ? [] : [{ ...one, ...resolve(one.entry, one.other, state, standing) }],
  )
  const present = resolved.filter(({ isPresent }) => isPresent)
  const { relations: _, marks: _m, ...others } = state
  const effective = { ...others, relations: byKey(present) }
  return {
    state: effective,
    unknown: unknownIn(effective),
    blocked: present.flatMap(({ relation, read }) =>
      'incompatible' in read
        ? [`${relationName(relation)}: ${relation.interface}: ${read.incompatible}; ${STAYS}`]
        : [],
    ),
    problems: present.flatMap(({ relation, read, other }) => [
      ...('unreadable' in read ? [`${relationName(relation)}: ${read.unreadable}; ${STAYS}`] : []),
      ...(other.problem === undefined ? [] : [`${relationName(relation)}: ${other.problem}`]),
    ]),
    waiting: [
      ...present.flatMap(({ relation, read, other }) =>
        'incompatible' in read ? [] : (waitingFor(subject, relation, other) ?? []),
      ),
      ...sharedIds(subject, state, peers),
    ],
    carried: byKey(resolved.filter(({ isPresent }) => !isPresent)),
    over: [
      ...all.flatMap(({ entry, other, isPresent }) => (isPresent ? [] : [overAs(subject, entry, other)])),
      ...listEnds(subject, state, peers),
    ],
  }
}

const byKey = (resolved: readonly { readonly key: string; readonly relation: Relation }[]): Record<string, Relation> =>
  Object.fromEntries(resolved.map(({ key, relation }) => [key, relation]))

const overAs = (subject: Subject, entry: RelationEntry, { entry: theirs }: PeerView): Over => ({
  ...{ interface: entry.interface, role: entry.role, endpoint: entry.endpoint },
  id: `${takesLabels(entry) && theirs ? theirs.id : entry.id}`,
  remote: remoteSubject(subject, entry),
})

/** Adds the relations that are over, and whose labels the application may carry. */
export const withCarried = (resolved: ResolvedRelations): ResolvedRelations => {
  const { state, carried } = resolved
  return withEffective(resolved, { ...state, relations: { ...carried, ...state.relations } })
}

/** Replaces the effective state. */
export const withEffective = (resolved: ResolvedRelations, state: EffectiveState): ResolvedRelations => ({
  ...resolved,
  state,
  unknown: unknownIn(state, resolved.unknown.guards),
})

/** Tells how a relation stands by the memories of both sides. One that is over is `leaving` as long as its requirer may carry its labels. */
const standingBetween = (state: State, entry: RelationEntry, other: PeerView): Relation['standing'] | 'over' => {
  if (stands(state, entry) && other.word === 'established') return 'established'
  const mayCarry = offersLabels(entry)
    ? other.mayCarry
    : entry.interface === 'service_mesh' && entry.claim !== undefined
  return mayCarry ? 'leaving' : 'over'
}

type Resolved = { relation: Relation; read: RelationData }

const resolve = (entry: RelationEntry, other: PeerView, state: State, standing: Relation['standing']): Resolved => {
  const { entry: theirs, published, labels } = other
  const { id, endpoint, interface: name, role, lastReadable, remote } = entry
  const read = readData(name, platformData(entry, other), published?.data, state.config?.versions)
  const known = { data: 'data' in read ? read.data : (lastReadable ?? {}), units: published?.units ?? remote.units }
  const relation: Relation = defined({
    ...{ id, endpoint, interface: name, role, standing, lastReadable },
    remote: defined({ ...remote, ...known }),
    source: isUnknown(entry, other, read) ? ('unknown' as const) : sourceOf(entry, other, known),
    isPartial: published?.partial,
    peerLabels: labels,
    customData: selectCustomData(name, published),
    ownData: publishedIn(state, entry),
    // what is told in another namespace needs no right in this one, and does not count
    ownPlatformData:
      theirs && remote.namespace === undefined
        ? { data: theirs.remote.data, lastReadable: theirs.lastReadable }
        : undefined,
    provider: takesLabels(entry) && theirs ? providerOf(entry, theirs, other, state) : undefined,
    requirer: offersLabels(entry) ? requirerOf(entry, other, state) : undefined,
  })
  return { relation, read }
}

/** Returns the peer's databag by the platform. That of a provider with a memory does not count before its memory knows the relation. */
const platformData = (entry: RelationEntry, { isKnown, entry: theirs }: PeerView): Databag =>
  takesLabels(entry) && isKnown && theirs === undefined ? {} : (entry.remote.data ?? {})

/** Tells if the peer has published what cannot be read now. */
const isUnknown = ({ peer, lastReadable }: RelationEntry, { published }: PeerView, read: RelationData): boolean => {
  if (published === undefined && peer?.publishes) return true
  return !('data' in read) && (published !== undefined || lastReadable === undefined)
}

const sourceOf = (
  entry: RelationEntry,
  { published }: PeerView,
  known: Pick<Partial<RelationEntry['remote']>, 'data' | 'units'>,
): Relation['source'] => {
  if (published !== undefined) return 'peer'
  return isEmptied(entry) || hasData(defined(known)) ? 'platform' : 'nobody'
}

const providerOf = (
  entry: RelationEntry,
  theirs: RelationEntry,
  { published, shows }: PeerView,
  state: State,
): Provider => defined({ version: published && shows, self: selfAt(theirs, publishedIn(state, entry), state) })

/** This side as its provider knows it. */
const selfAt = (theirs: RelationEntry, own: PublishedData | undefined, state: State): Provider['self'] => {
  const { id, endpoint, remote, lastReadable } = theirs
  const read = readData(theirs.interface, remote.data ?? {}, own?.data, state.config?.versions)
  const data = 'data' in read ? read.data : (lastReadable ?? {})
  // the charm of the application may speak for it, and emptied its databag if it had
  const isTold = hasData(remote) || (isEmptied(theirs) && theirs.peer?.publishes !== true)
  const isPartial = !isTold && (own === undefined || own.partial === true)
  return { id, endpoint, data, ...(isPartial && { isPartial }) }
}

const requirerOf = ({ peer, ...entry }: RelationEntry, other: PeerView, state: State): Requirer => {
  const { isKnown, problem, entry: theirs } = other
  if (!isKnown && !peer?.publishes) return problem === undefined ? 'unmanaged' : 'unreadable'
  return progressOf(theirs?.claim, versionOf(state, { peer, ...entry }))
}
