import * as z from 'zod'
import { defined, ownValue } from '../base/own-value.ts'
import { type Subject, subjectName } from '../base/subject.ts'
import type { Wait } from '../base/wait.ts'
import { ENROLMENT_LABEL } from '../istio/names.ts'
import type { Interface, Versions } from '../state/config.ts'
import {
  type Databag,
  type Grant,
  hasData,
  isEmptied,
  type PublishedData,
  type Relation,
  type RelationEntry,
  relationName,
} from '../state/relation.ts'
import {
  type EffectiveState,
  isEstablished,
  type PublicState,
  publishedIn,
  type State,
  stands,
} from '../state/state.ts'
import { selectCustomData } from './application-data.ts'
import { decodePayload } from './codec.ts'
import { readValue } from './databag.ts'
import { sharedIds } from './ids.ts'
import { desiredMeshLabels } from './mesh-labels.ts'
import { findPeerEntry, publishedHash, remoteSubject } from './peer-entry.ts'
import type { Peers, ReadablePeer } from './peers.ts'
import { SUPPORTED, spokenVersions } from './versions.ts'

/** The peer of a relation, as read from its memory. */
export type PeerView = {
  readonly entry?: RelationEntry | undefined
  readonly published?: PublishedData | undefined
  /** The relation has ended there, the application was removed, or another relation has its id. */
  readonly isOver: boolean
  /** The other relation that has its id there. */
  readonly rival?: RelationEntry | undefined
  /** The workload carries labels of the relation; undefined where unknown. */
  readonly hasLabels?: boolean | undefined
  /** The labels that the workload carries for its relations. */
  readonly labels?: Readonly<Record<string, string>> | undefined
  /** The workload is on the mesh, and by no other relation. */
  readonly isEnrolled?: true | undefined
  /** A hash of its public data of the relation. */
  readonly shows?: string | undefined
  /** The reason why the memory could not be read. */
  readonly problem?: string | undefined
}

/** Reads the peer of the relation `key`; empty for an alias or without a memory. */
export const peerView = (subject: Subject, state: State, key: string, peers: Peers): PeerView => {
  const own = ownValue(state.relations, key)
  const peer = own && peers.get(subjectName(remoteSubject(subject, own)))
  if (own === undefined || peer === undefined) return { isOver: false }
  if ('unknown' in peer)
    return {
      isOver: false,
      ...(peer.unknown === 'unreadable' && { problem: peer.problem }),
      ...(peer.isGone && { hasLabels: false }),
    }
  const entry = findPeerEntry(subject, state, key, peer.state)
  const { labels } = peer
  const rival = isNear(subject, peer.subject) ? rivalOf(entry, own.id, peer.state) : undefined
  // only a lost memory may carry labels of a relation that it does not know
  if (entry === undefined)
    return { isOver: rival !== undefined, rival, labels, hasLabels: peer.state.recovering === true }
  return {
    entry,
    rival,
    labels,
    published: publishedOf(peer, entry, isNear(subject, peer.subject) && own.status === 'established'),
    // within the namespace both words are merged, and the later counts
    isOver:
      rival !== undefined || !isEstablished(peer.state, isNear(subject, peer.subject) ? asEstablished(entry) : entry),
    hasLabels: entry.labels !== undefined,
    ...(isEnrolledBy(entry, peer) && { isEnrolled: true }),
    get shows() {
      return publishedHash(peer.state, entry)
    },
  }
}

/** Returns the data that the peer publishes. Data from before the end do not answer a relation that was told again here: the peer has yet to observe that. */
const publishedOf = (
  { state }: Pick<ReadablePeer, 'state'>,
  entry: RelationEntry,
  isEstablished: boolean,
): PublishedData | undefined => (isEstablished && entry.status === 'ended' ? undefined : publishedIn(state, entry))

const asEstablished = (entry: RelationEntry): RelationEntry => ({ ...entry, status: 'established' })

/** Returns the relation that has an id in a state, where that is another one than `entry`. */
const rivalOf = (entry: RelationEntry | undefined, id: number, state: PublicState): RelationEntry | undefined => {
  if (entry !== undefined && !entry.waitsForId) return undefined
  const holder = Object.values(state.relations).find((other) => other.id === id && !other.waitsForId)
  return holder && isEstablished(state, holder) ? holder : undefined
}

const isEnrolledBy = (entry: RelationEntry, { labels, state }: Pick<ReadablePeer, 'labels' | 'state'>): boolean =>
  Object.hasOwn(labels, ENROLMENT_LABEL) &&
  !Object.values(state.relations).some((other) => other !== entry && other.labels !== undefined)

const isNear = (one: Subject, other: Subject): boolean => one.namespace === other.namespace

/** The data of a relation in the flat keys of its interface, or the reason why they are unknown. */
export type RelationData = { data: Databag } | { incompatible: string } | { unreadable: string }

/**
 * Merges the data of a relation; published data precede the platform's. A requirer that never published policies leaves these to the
 * platform, since another program may request them.
 */
export const readData = (
  name: string,
  platform: Databag,
  published: Databag | undefined,
  versions: Versions = {},
): RelationData => {
  const data = { ...platform, ...published }
  const read = isVersioned(name) ? decodePayload(data, spokenVersions(name, versions)) : { data }
  if (!('data' in read) || !published || Object.hasOwn(published, 'policies') || !Object.hasOwn(platform, 'policies'))
    return read
  return { data: { ...read.data, policies: platform.policies } }
}

export const isVersioned = (name: string): name is Interface => Object.hasOwn(SUPPORTED, name)

/** The state with each relation's effective data, and the problems found. */
export type ResolvedRelations = {
  readonly state: EffectiveState
  /** Both sides must speak a version in common first. */
  readonly blocked: readonly string[]
  readonly problems: readonly string[]
  /** Waits for other applications. */
  readonly waiting: readonly Wait[]
  /** Relations with unknown data: what was applied for them is kept. */
  readonly unknown: readonly Relation[]
  /** Relations with beacons that are over, though their labels are carried still: until these are gone, what is asked for is told. */
  readonly departing: Readonly<Record<string, Relation>>
}

/**
 * Resolves the effective data of all relations; unreadable data are replaced by the last readable ones. For a provider an ended
 * relation remains until its requirer has removed its labels.
 */
export const resolveRelations = (subject: Subject, state: State, peers: Peers): ResolvedRelations => {
  const all = Object.entries(state.relations)
    .map(([key, entry]) => ({ key, entry, other: peerView(subject, state, key, peers) }))
    .map((one) => ({ ...one, isOver: !stands(state, one.entry) || one.other.isOver }))
  const resolveOne = ({ key, entry, other, isOver }: (typeof all)[number]) => ({
    ...{ key, other },
    ...resolve(entry, other, state, isOver),
  })
  const resolved = all.filter(({ entry, other, isOver }) => !isOver || isLeaving(entry, other)).map(resolveOne)
  const departing = all.filter(({ entry, isOver }) => isOver && isDeparting(state, entry)).map(resolveOne)
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
      ...resolved.flatMap(({ relation, read, other }) => waitingFor(subject, relation, 'data' in read, other) ?? []),
      ...sharedIds(subject, state, peers),
    ],
    unknown: resolved.flatMap(({ relation }) => (relation.isUnknown ? [relation] : [])),
    departing: Object.fromEntries(departing.map(({ key, relation }) => [key, relation])),
  }
}

/** The relations in which the application speaks: also those of which it still carries labels. */
export const withDeparting = (resolved: ResolvedRelations): ResolvedRelations => {
  const { state, departing } = resolved
  if (Object.keys(departing).length === 0) return resolved
  return { ...resolved, state: { ...state, relations: { ...departing, ...state.relations } } }
}

/** Tells if a consumer on the mesh of a relation that is over still has a config to say what it asks for. */
const isDeparting = ({ config, removed }: State, { interface: name, role, labels }: RelationEntry): boolean =>
  name === 'service_mesh' &&
  role === 'requires' &&
  labels !== undefined &&
  config !== undefined &&
  removed === undefined

const STAYS = 'the last readable data stays in effect'

/** Tells if the requirer may still carry the labels of an ended relation. Its grant, perhaps of a lost memory, is not revoked yet. */
const isLeaving = (entry: RelationEntry, other: PeerView): boolean =>
  entry.grant === undefined ? other.entry?.labels !== undefined : mayCarryLabels(entry, other)

/** Tells if the other side has ever shown anything of the relation: without its memory it may be as it was. */
export const hasPublished = ({ peer }: Pick<RelationEntry, 'peer'>): boolean =>
  peer?.publishes === true || peer?.observed !== undefined

/** Tells if the requirer may carry labels of the relation. */
export const mayCarryLabels = (entry: RelationEntry, { hasLabels }: PeerView): boolean =>
  hasLabels ?? hasPublished(entry)

const waitingFor = (
  subject: Subject,
  relation: Relation,
  isReadable: boolean,
  { entry }: PeerView,
): Wait | undefined => {
  const remote = subjectName(remoteSubject(subject, relation))
  if (relation.isUnknown && isReadable) {
    // a consumer with a memory says what it asks for as soon as it has a config
    const isAsked = entry !== undefined && entry.published?.digest === undefined && relation.role === 'provides'
    const who = isAsked ? `${remote}, which needs its config, {} if it has none` : remote
    return relationWait(relation, remote, `waiting for the data of ${who}; what was applied for it stays in effect`)
  }
  return relation.isLeaving ? relationWait(relation, remote, `waiting for ${remote} to leave the mesh`) : undefined
}

const relationWait = (relation: Pick<Relation, 'id' | 'endpoint'>, remote: string, what: string): Wait => {
  const held = relationName(relation)
  return { held, for: [remote], message: `${held}: ${what}` }
}

const flag = (isSet: boolean): true | undefined => isSet || undefined

type Resolved = { relation: Relation; read: RelationData }

const resolve = (entry: RelationEntry, { published, labels }: PeerView, state: State, isOver: boolean): Resolved => {
  const { remote, lastReadable } = entry
  const read = readData(entry.interface, remote.data ?? {}, published?.data, state.config?.versions)
  const own = publishedIn(state, entry)
  const isRequest = own !== undefined && entry.role === 'requires' && isEnrolling(entry)
  const requested = isRequest ? readData(entry.interface, own.data, undefined) : undefined
  const data = 'data' in read ? read.data : (lastReadable ?? {})
  const units = published?.units ?? remote.units
  const { id, endpoint, interface: name, role } = entry
  const isSilent = entry.peer?.publishes === true && published === undefined && !hasData(remote)
  const isUnknown = isSilent || (!('data' in read) && lastReadable === undefined)
  const relation: Relation = defined({
    ...{ id, endpoint, interface: name, role, lastReadable },
    emptied: flag(isEmptied(entry)),
    remote: defined({ ...remote, data, units }),
    publishes: flag(published !== undefined),
    isPartial: published?.partial,
    peerLabels: labels,
    isConfigured: flag(own !== undefined && !own.partial),
    requested: requested && 'data' in requested ? requested.data : undefined,
    customData: selectCustomData(entry.interface, published),
    isUnknown: flag(isUnknown),
    isLeaving: flag(isOver),
  })
  return { relation, read }
}

/** Tells if the relation enrols its requirer: it carries labels, and policies for them. */
export const isEnrolling = ({ interface: name }: Pick<Relation, 'interface'>): boolean =>
  name === 'service_mesh' || name === 'cluster'

const Labels = z.record(z.string(), z.unknown())

const labelsKey = ({ interface: name }: Pick<Relation, 'interface'>): string =>
  name === 'cluster' ? 'worker_labels' : 'labels'

/** The labels that a relation asks its requirer for. */
export const requestedLabels = (relation: Relation): Readonly<Record<string, unknown>> => {
  const labels = readValue(relation.remote.data, labelsKey(relation), Labels)
  return 'value' in labels ? (labels.value ?? {}) : {}
}

/** Tells if a requirer has yet to take the labels of a relation, as far as its own state knows. */
export const isUnenrolled = ({ labels }: RelationEntry): boolean => labels !== 'applied'

/** The labels of a workload as it is now, and the keys of those that the application holds there; these are undefined without a workload. */
export type WorkloadLabels = {
  readonly labels: Readonly<Record<string, string>>
  readonly own: readonly string[] | undefined
}

/** Tells if the workload exists and carries none of the labels that the relation asks for. */
const isBare = ({ own }: WorkloadLabels, relation: Relation): boolean =>
  own !== undefined && !Object.keys(requestedLabels(relation)).some((key) => own.includes(key))

/** Tells if an interrupted requirer has taken the labels of a relation: no other relation brought them. */
const hasTakenLabels = (state: State, entry: RelationEntry, relation: Relation, { labels, own = [] }: WorkloadLabels) =>
  entry.labels === 'applying' &&
  !Object.values(state.relations).some((other) => other !== entry && other.labels !== undefined) &&
  Object.entries(requestedLabels(relation)).some(
    ([key, value]) =>
      ownValue(labels, key) === value && own.includes(key) && ownValue(state.config?.labels, key) === undefined,
  )

/**
 * Gates enrolment: a requirer first takes labels once its provider has granted its request. Later changes do not wait, unless the
 * workload lost its labels or was recreated; nothing waits for a provider that has withdrawn its labels. While the config is lost that another
 * provider has granted, a grant of nothing is none.
 */
export const gateEnrolment = (
  subject: Subject,
  state: State,
  resolved: ResolvedRelations,
  peers: Peers,
  workload: WorkloadLabels,
): ResolvedRelations => {
  const kept = keptGrants(subject, state, peers)
  const relations = Object.entries(resolved.state.relations).map(([key, relation]) => {
    const entry = ownValue(state.relations, key)
    if (entry?.role !== 'requires' || !isEnrolling(entry)) return [key, relation] as const
    const other = peerView(subject, state, key, peers)
    // another relation has a grant of what was asked for, and nothing is known of it but that
    const isUnasked = kept.length > 0 && isOfNoRequest(other.entry?.grant)
    const isWaiting =
      (isBare(workload, relation) || isUnenrolled(entry) || isUnasked) &&
      relation.publishes &&
      Object.hasOwn(relation.remote.data, labelsKey(relation)) &&
      !hasTakenLabels(state, entry, relation, workload)
    if (!isWaiting || (!isUnasked && isGranted(entry, other))) return [key, relation] as const
    return [key, { ...relation, awaits: subjectName(remoteSubject(subject, relation)) }] as const
  })
  const awaiting = relations.flatMap(([, { awaits, ...relation }]) =>
    awaits === undefined ? [] : [relationWait(relation, awaits, `waiting for the policies of ${awaits}`)],
  )
  return {
    ...resolved,
    state: { ...resolved.state, relations: Object.fromEntries(relations) },
    waiting: [
      ...resolved.waiting,
      ...awaiting,
      ...keptLabels(subject, state, resolved, workload),
      ...kept,
      ...leavingWorkers(subject, state, resolved, peers).map((worker) => ({
        held: CLUSTER_POLICIES,
        for: [worker],
        message: `waiting for ${worker} to leave the mesh`,
      })),
    ],
  }
}

/** Lists the providers of labels that have not granted yet what the application asks for now. */
export const ungrantedBy = (
  subject: Subject,
  state: State,
  { state: { relations } }: ResolvedRelations,
  peers: Peers,
): string[] =>
  Object.entries(relations).flatMap(([key, relation]) => {
    const entry = ownValue(state.relations, key)
    const isRequest = entry?.role === 'requires' && isEnrolling(entry) && relation.publishes
    if (!isRequest || Object.keys(requestedLabels(relation)).length === 0) return []
    return isGranted(entry, peerView(subject, state, key, peers)) ? [] : [subjectName(remoteSubject(subject, relation))]
  })

/** Tells if labels of some relation wait for its provider. Labels carried for another one stay until then, also after its end. */
export const isAwaiting = ({ state: { relations } }: ResolvedRelations): boolean =>
  Object.values(relations).some((relation) => relation.awaits !== undefined || isSilentProvider(relation))

/** Tells if the provider of a relation that may bring labels has not said anything. */
const isSilentProvider = (relation: Relation): boolean =>
  isEnrolling(relation) &&
  relation.role === 'requires' &&
  !relation.publishes &&
  !relation.emptied &&
  !hasData(relation.remote)

/** Names the relations for which labels stay that nothing else asks for any more. */
const keptLabels = (
  subject: Subject,
  { config }: State,
  { state: { relations } }: ResolvedRelations,
  { own = [] }: WorkloadLabels,
): Wait[] => {
  const asking = [config?.labels ?? {}, ...Object.values(relations).map(requestedLabels)]
  const isKept = own.includes(ENROLMENT_LABEL) && !asking.some((labels) => Object.hasOwn(labels, ENROLMENT_LABEL))
  if (!isKept) return []
  return Object.values(relations).flatMap((relation) => {
    const remote = subjectName(remoteSubject(subject, relation))
    return isSilentProvider(relation) && !relation.isUnknown
      ? [relationWait(relation, remote, `waiting for the data of ${remote}; the labels stay`)]
      : []
  })
}

const CLUSTER_POLICIES = 'the policies of the cluster'

/** Lists the workers on a mesh that their coordinator has left: until they leave, they must reach each other. */
export const leavingWorkers = (subject: Subject, state: State, resolved: ResolvedRelations, peers: Peers): string[] => {
  if (state.config?.coordinator === undefined || desiredMeshLabels(resolved.state)) return []
  return Object.entries(state.relations).flatMap(([key, entry]) =>
    entry.interface === 'cluster' && peerView(subject, state, key, peers).isEnrolled
      ? [subjectName(remoteSubject(subject, entry))]
      : [],
  )
}

/** Explains grants that are kept while the application's config is unknown. */
const keptGrants = (subject: Subject, state: State, peers: Peers): Wait[] => {
  if (state.config !== undefined || state.removed !== undefined) return []
  return Object.entries(state.relations).flatMap(([key, entry]) => {
    const isKept =
      !isOfNoRequest(peerView(subject, state, key, peers).entry?.grant) && entry.published?.digest === undefined
    if (!isKept || entry.role !== 'requires') return []
    const own = subjectName(subject)
    return [relationWait(entry, own, `waiting for the config of ${own}, {} if it has none; its grants stay in effect`)]
  })
}

/** Tells if a grant is none, or of a requirer of which no request is known. */
const isOfNoRequest = (grant: Grant | undefined): boolean =>
  grant === undefined || (grant.phase === 'standing' && grant.digest === undefined)

const isGranted = ({ published }: RelationEntry, { entry }: PeerView): boolean =>
  entry?.grant?.phase === 'standing' && (published?.digest === undefined || entry.grant.digest === published.digest)
