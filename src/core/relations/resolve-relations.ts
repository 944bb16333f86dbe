import { defined } from '../../platform/base/own-value.ts'
import { isSameNamespace, type Subject, subjectName } from '../../platform/base/subject.ts'
import type { Wait } from '../../platform/base/wait.ts'
import {
  type Databag,
  hasData,
  isEmptied,
  type PublishedData,
  type Relation,
  type RelationEntry,
  relationName,
} from '../state/relation.ts'
import { type EffectiveState, type PublicState, publishedIn, type State, stands } from '../state/state.ts'
import { selectCustomData } from './application-data.ts'
import { STAYS } from './documents.ts'
import { ENROLMENT_LABEL } from './enrolment-labels.ts'
import { sharedIds } from './ids.ts'
import { isApplied } from './offer-and-claim.ts'
import { isBetween, remoteSubject } from './peer-entry.ts'
import { mayCarryLabels, type PeerView, peerView } from './peer-view.ts'
import type { Peers } from './peers.ts'
import { versionOf } from './published-version.ts'
import { type RelationData, readData } from './relation-data.ts'
import { grantsLabels, isEnrolling, requestedLabels, takesLabels } from './requested-labels.ts'
import { endsAlone, tombstoneOf } from './tombstones.ts'

/** The state with each relation's effective data, and the problems found. */
export type ResolvedRelations = {
  readonly state: EffectiveState
  /** The sides have no version in common. */
  readonly blocked: readonly string[]
  readonly problems: readonly string[]
  /** Waits for other applications. */
  readonly waiting: readonly Wait[]
  /** The memory was lost, and only the config, which is not known yet, says what the policies stand for that guard the application. */
  readonly isConfigAwaited?: true
  /** Relations with a beacon that are over, and whose labels may still be carried. What guards the application follows them until then. */
  readonly departing: Readonly<Record<string, Relation>>
  /** Relations that are over, with nothing left of them at the peer. Their ids are those that the provider knows. */
  readonly over: readonly RelationEntry[]
  /** The ids of relations of which only the end is known. */
  readonly ended: readonly string[]
  /** Relations with unknown data. Labels and objects that were applied for them stay. */
  readonly unknown: readonly Relation[]
}

/**
 * Resolves the effective data of all relations. The last readable data replace unreadable ones. For a provider, an ended relation remains
 * until its requirer has removed its labels.
 */
export const resolveRelations = (subject: Subject, state: State, peers: Peers): ResolvedRelations => {
  const all = Object.entries(state.relations)
    .map(([key, entry]) => ({ key, entry, other: peerView(subject, state, key, peers) }))
    .map((one) => ({ ...one, standing: standingBetween(state, one.entry, one.other) }))
  const resolveOne = ({ key, entry, other, standing }: (typeof all)[number]) => ({
    ...{ key, other },
    ...resolve(entry, other, state, standing),
  })
  const resolved = all.filter(({ standing }) => standing !== 'over').map(resolveOne)
  const { relations: _, marks: _m, ...others } = state
  return {
    state: { ...others, relations: Object.fromEntries(resolved.map(({ key, relation }) => [key, relation])) },
    blocked: resolved.flatMap(({ relation, read }) =>
      'incompatible' in read
        ? [`${relationName(relation)}: ${relation.interface}: ${read.incompatible}; ${STAYS}`]
        : [],
    ),
    problems: resolved.flatMap(({ relation, read, other }) => [
      ...('unreadable' in read ? [`${relationName(relation)}: ${read.unreadable}; ${STAYS}`] : []),
      ...(other.problem === undefined ? [] : [`${relationName(relation)}: ${other.problem}`]),
    ]),
    waiting: [
      ...resolved.flatMap(({ relation, read, other }) =>
        'incompatible' in read ? [] : (waitingFor(subject, relation, other) ?? []),
      ),
      ...sharedIds(subject, state, peers),
    ],
    departing: Object.fromEntries(
      all
        .filter(
          ({ entry, standing }) =>
            standing !== 'established' && entry.interface === 'service_mesh' && entry.claim !== undefined,
        )
        .map(resolveOne)
        .map(({ key, relation }) => [key, relation]),
    ),
    ended: endedIds(subject, state, peers),
    over: all.flatMap(({ entry, other, standing }) =>
      standing === 'over' ? [takesLabels(entry) && other.entry ? { ...entry, id: other.entry.id } : entry] : [],
    ),
    unknown: resolved.flatMap(({ relation }) => (relation.isUnknown ? [relation] : [])),
  }
}

/** Lists the ids of relations of which the application knows only the end, from its own memory or from a peer of its namespace. */
const endedIds = (subject: Subject, { tombstones = {} }: State, peers: Peers): string[] => [
  ...Object.keys(tombstones).map((key) => tombstoneOf(subject, key).id),
  ...[...peers.values()].flatMap((peer) =>
    'state' in peer
      ? [...endsAlone(subject, peer.subject, peer.state), ...endsIn(subject, peer.subject, peer.state)].map(
          ({ id }) => `${id}`,
        )
      : [],
  ),
]

const endsIn = (subject: Subject, peer: Subject, { relations }: PublicState): RelationEntry[] =>
  isSameNamespace(subject, peer)
    ? Object.values(relations).filter((entry) => entry.status === 'ended' && isBetween(entry, peer, subject))
    : []

/** Adds the departing relations. */
export const withDeparting = (resolved: ResolvedRelations): ResolvedRelations => {
  const { state, departing } = resolved
  return { ...resolved, state: { ...state, relations: { ...departing, ...state.relations } } }
}

/** The standing of a relation by the memories of both sides. One that is over is `leaving` for its provider as long as its requirer may carry its labels. */
type StandingBetween = 'established' | 'leaving' | 'over'

const standingBetween = (state: State, entry: RelationEntry, other: PeerView): StandingBetween => {
  if (stands(state, entry) && other.standing === 'established') return 'established'
  return grantsLabels(entry) && mayCarryLabels(entry, other) ? 'leaving' : 'over'
}

const waitingFor = (subject: Subject, relation: Relation, { entry }: PeerView): Wait | undefined => {
  const remote = subjectName(remoteSubject(subject, relation))
  if (relation.isUnknown) {
    // a consumer with a memory publishes its request as soon as it has a config
    const isAsked = entry !== undefined && entry.published?.digest === undefined && relation.role === 'provides'
    const who = isAsked ? `${remote}, which needs its config, {} if it has none` : remote
    return relationWait(relation, remote, `waiting for the data of ${who}; what was applied for it stays in effect`)
  }
  return relation.isLeaving ? relationWait(relation, remote, `waiting for ${remote} to leave the mesh`) : undefined
}

export const relationWait = (relation: Pick<Relation, 'id' | 'endpoint'>, remote: string, what: string): Wait => {
  const held = relationName(relation)
  return { held, for: [remote], message: `${held}: ${what}` }
}

const flag = (isSet: boolean): true | undefined => isSet || undefined

type Resolved = { relation: Relation; read: RelationData }

const resolve = (entry: RelationEntry, other: PeerView, state: State, standing: StandingBetween): Resolved => {
  const { entry: theirs, published, labels } = other
  const { remote, lastReadable } = entry
  const read = readData(entry.interface, platformData(entry, other), published?.data, state.config?.versions)
  const own = publishedIn(state, entry)
  const data = 'data' in read ? read.data : (lastReadable ?? {})
  const units = published?.units ?? remote.units
  const { id, endpoint, interface: name, role } = entry
  const isSilent = entry.peer?.publishes === true && published === undefined
  const isUnknown = isSilent || (!('data' in read) && (published !== undefined || lastReadable === undefined))
  const relation: Relation = defined({
    ...{ id, endpoint, interface: name, role, lastReadable },
    emptied: flag(isEmptied(entry)),
    remote: defined({ ...remote, data, units }),
    publishes: flag(published !== undefined),
    isPartial: published?.partial,
    peerLabels: labels,
    isConfigured: flag(own !== undefined && !own.partial),
    ...(takesLabels(entry) && requirerSide(entry, other, state)),
    ...(grantsLabels(entry) && providerSide(entry, other, state)),
    ...ownDataIn(entry, theirs),
    customData: selectCustomData(entry.interface, published),
    isUnknown: flag(isUnknown),
    isLeaving: flag(standing !== 'established'),
  })
  return { relation, read }
}

/** Returns the peer's databag by the platform. A provider of labels that has a memory is asked first, and says what its labels rest on. */
const platformData = (entry: RelationEntry, { isKnown, entry: theirs }: PeerView): Databag =>
  takesLabels(entry) && isKnown && theirs === undefined ? {} : (entry.remote.data ?? {})

/** The knowledge of a requirer of labels: the version of the offer, and its own side as the provider reads it. */
const requirerSide = (
  entry: RelationEntry,
  { entry: theirs, published, shows }: PeerView,
  state: State,
): Pick<Relation, 'requested' | 'offered' | 'mirror'> => {
  const own = publishedIn(state, entry)
  const said = own && readData(entry.interface, own.data, undefined)
  return defined({
    requested: said && 'data' in said ? said.data : undefined,
    offered: theirs && published && shows,
    mirror: theirs && mirrorOf(theirs, own, state),
  })
}

/** This side as its provider knows it. */
const mirrorOf = (theirs: RelationEntry, own: PublishedData | undefined, state: State): Relation['mirror'] => {
  const { id, endpoint, remote, lastReadable } = theirs
  const read = readData(theirs.interface, remote.data ?? {}, own?.data, state.config?.versions)
  const data = 'data' in read ? read.data : (lastReadable ?? {})
  // the charm of the application may speak for it, and emptied its databag if it had
  const isTold = hasData(remote) || (isEmptied(theirs) && theirs.peer?.publishes !== true)
  const isPartial = !isTold && (own === undefined || own.partial === true)
  return { id, endpoint, data, ...(isPartial && { isPartial }) }
}

/** The knowledge of a provider of labels: whether the requirer has a memory, and so guards itself, and how far it has taken the offer. */
const providerSide = (
  entry: RelationEntry,
  { entry: theirs, isKnown, problem }: PeerView,
  state: State,
): Pick<Relation, 'hasMemory' | 'hasApplied' | 'isClaiming' | 'isUnreadable'> => ({
  ...(problem !== undefined && { isUnreadable: true }),
  ...((isKnown || entry.peer?.publishes) && { hasMemory: true }),
  ...(isApplied(theirs?.claim, versionOf(state, entry)) && { hasApplied: true }),
  ...(theirs?.claim?.phase === 'claiming' && { isClaiming: true }),
})

/** Returns the databag of this side as the peer was told, and its last readable values. What is told in another namespace needs no right in this one, and does not count. */
const ownDataIn = (
  { remote: { namespace } }: RelationEntry,
  theirs: RelationEntry | undefined,
): Pick<Relation, 'ownData' | 'ownLastReadable'> =>
  namespace === undefined && theirs ? { ownData: theirs.remote.data, ownLastReadable: theirs.lastReadable } : {}

/** Tells if the provider of an enrolling relation has not published anything. */
const isSilentProvider = (relation: Relation): boolean =>
  isEnrolling(relation) &&
  relation.role === 'requires' &&
  !relation.publishes &&
  !relation.emptied &&
  !hasData(relation.remote)

/** Tells if a provider has yet to offer labels. Until then, labels of another relation stay, even after its end. */
export const isAwaiting = ({
  state: { relations },
  isConfigAwaited,
}: Pick<ResolvedRelations, 'state' | 'isConfigAwaited'>): boolean =>
  isConfigAwaited === true || Object.values(relations).some(isSilentProvider)

/**
 * Lists the waits for providers that have yet to offer labels, if no other source does. Without these labels the application does not join
 * their mesh, or keeps its present labels.
 */
export const silentProviders = (
  subject: Subject,
  state: State,
  { state: { relations } }: ResolvedRelations,
  peers: Peers,
  own: readonly string[],
): Wait[] => {
  const { config } = state
  const asking = [config?.labels ?? {}, ...Object.values(relations).map(requestedLabels)]
  if (asking.some((labels) => Object.hasOwn(labels, ENROLMENT_LABEL))) return []
  return Object.entries(relations).flatMap(([key, relation]) => {
    if (relation.isUnknown) return []
    const remote = subjectName(remoteSubject(subject, relation))
    if (own.includes(ENROLMENT_LABEL) && isSilentProvider(relation))
      return [relationWait(relation, remote, `waiting for the data of ${remote}; the labels stay`)]
    const asks = 'a beacon of meshstep does once its config has mesh'
    // a provider that does not know the relation yet may still offer labels
    return knows(subject, state, key, peers) && isMeshless(relation)
      ? [relationWait(relation, remote, `waiting for the labels of ${remote}, which asks for none: ${asks}`)]
      : []
  })
}

/**
 * Lists the waits for beacons that do not know a relation yet. A step that has just told a beacon does not report this wait. Questions do,
 * if the beacon has not reacted.
 */
export const unawareBeacons = (
  subject: Subject,
  state: State,
  { state: { relations } }: ResolvedRelations,
  peers: Peers,
): Wait[] =>
  Object.entries(relations).flatMap(([key, relation]) => {
    const isMissing = isMeshless(relation) && !relation.emptied && !knows(subject, state, key, peers)
    if (!isMissing || relation.isUnknown) return []
    const remote = subjectName(remoteSubject(subject, relation))
    const ending = `its next event, or a resync of ${remote.split('/')[0]}, tells it`
    return [relationWait(relation, remote, `waiting for ${remote}, which does not know of the relation yet: ${ending}`)]
  })

/** Tells if the peer knows the relation as it is now. In its memory one that was established again may still be over, and then it has answered nothing yet. */
const knows = (subject: Subject, state: State, key: string, peers: Peers): boolean =>
  peerView(subject, state, key, peers).entry?.status === 'established'

/** Tells if the beacon of a relation has published no labels at all. With its whole namespace on the mesh it publishes an empty set. */
const isMeshless = ({ interface: name, role, remote }: Relation): boolean =>
  name === 'service_mesh' && role === 'requires' && !Object.hasOwn(remote.data, 'labels')
