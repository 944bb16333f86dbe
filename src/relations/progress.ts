import { isDeepStrictEqual } from 'node:util'
import { changed, ownValue } from '../base/own-value.ts'
import { type Subject, subjectName } from '../base/subject.ts'
import type { Wait } from '../base/wait.ts'
import { ENROLMENT_LABEL } from '../istio/names.ts'
import { type Grant, type Relation, type RelationEntry, relationName, requesterName } from '../state/relation.ts'
import { isConfigUnknown, type State, stands } from '../state/state.ts'
import { endsAlone, tombstoneOf } from './announcements.ts'
import { grantIntent, labelsIntent, nextGrant, nextLabels, type ProviderSees, type RequirerSees } from './handshake.ts'
import { desiredMeshLabels } from './mesh-labels.ts'
import { remoteSubject } from './peer-entry.ts'
import type { Peer, Peers } from './peers.ts'
import {
  hasPublished,
  isEnrolling,
  leavingWorkers,
  mayCarryLabels,
  type PeerView,
  peerView,
  type ResolvedRelations,
  requestedLabels,
} from './resolve-relations.ts'

/** A change during which the remote side must not move: a first enrolment, or labels or a grant that are withdrawn. */
export type Intent = { readonly key: string; readonly remote: Subject; readonly entry: Partial<RelationEntry> }

/**
 * Collects the intents to save before the other side is read again and they are done. Of two sides that move at once one then sees the
 * other. `before` is the state that was read.
 */
export const dueIntents = (
  subject: Subject,
  before: Pick<State, 'relations'>,
  state: State,
  { state: { relations } }: ResolvedRelations,
  peers: Peers,
): Intent[] =>
  Object.entries(state.relations).flatMap(([key, entry]): Intent[] => {
    const relation = ownValue(relations, key)
    const due = isRequirer(entry)
      ? intentOf({ labels: labelsIntent(entry, seenByRequirer(relation)) })
      : withdrawn(ownValue(before.relations, key), state, entry, relation, peerView(subject, state, key, peers))
    return due ? [{ key, remote: remoteSubject(subject, entry), entry: due }] : []
  })

/** The changes of an intent, where there is one. */
const intentOf = (entry: Pick<RelationEntry, 'labels' | 'grant'>): Partial<RelationEntry> | undefined =>
  Object.values(entry).every((value) => value === undefined) ? undefined : entry

const withdrawn = (
  before: RelationEntry | undefined,
  state: State,
  entry: RelationEntry,
  relation: Relation | undefined,
  peer: PeerView,
): Partial<RelationEntry> | undefined => {
  if (!isProvider(entry) || entry.grant === undefined) return undefined
  const grant = grantIntent(entry, seenByProvider(state, entry, relation, peer))
  if (grant !== undefined) return isDeepStrictEqual(grant, entry.grant) ? READ_AGAIN : { grant }
  // who takes the labels that were asked for until now needs what goes with them
  const digest = before?.published?.digest
  if (digest !== undefined && digest !== entry.published?.digest) return READ_AGAIN
  // the changed request may change back before anything is revoked
  return peer.published && peer.entry?.published?.digest !== entry.grant.digest ? READ_AGAIN : undefined
}

/** Nothing is to be saved for what follows, but the peer is to be read again. */
const READ_AGAIN = {}

const seenByRequirer = (relation: Relation | undefined): RequirerSees => {
  if (relation === undefined) return 'nothing'
  if (relation.isUnknown) return 'unknown'
  return isCarried(relation) ? 'granted' : 'nothing'
}

const seenByProvider = (
  state: State,
  entry: RelationEntry,
  relation: Relation | undefined,
  peer: PeerView,
): ProviderSees => {
  if (relation === undefined) return 'over'
  const isRun = entry.interface === 'cluster' ? state.config?.coordinator : state.config?.mesh
  if (!isRun) return isConfigUnknown(state) || mayCarryLabels(entry, peer) ? 'unknown' : 'over'
  if (relation.isLeaving) return 'leaving'
  return relation.isUnknown || peer.entry === undefined ? 'unknown' : 'established'
}

/** The digest of what the peer asks for; while the relation is established, only where its data can be read. */
const requestedBy = ({ entry, published }: PeerView, sees: ProviderSees): string | undefined =>
  sees === 'leaving' || published !== undefined ? entry?.published?.digest : undefined

/** Merges what is new into the entries of relations, as far as these are there. */
export const withEntries = (state: State, intents: readonly Pick<Intent, 'key' | 'entry'>[]): State => ({
  ...state,
  relations: {
    ...state.relations,
    ...Object.fromEntries(
      intents.flatMap(({ key, entry }) => {
        const before = ownValue(state.relations, key)
        return before ? [[key, { ...before, ...entry }] as const] : []
      }),
    ),
  },
})

/** Records what was sent to the peer of a relation that has no memory; null while it is on its way. */
export const withDelivered = (state: State, key: string, delivered: string | null): State =>
  withEntries(state, [{ key, entry: { peer: { ...ownValue(state.relations, key)?.peer, delivered } } }])

/** Tells if the relation asks this side for labels. */
export const isRequirer = (entry: Pick<RelationEntry, 'interface' | 'role'>): boolean =>
  isEnrolling(entry) && entry.role === 'requires'

const isProvider = (entry: Pick<RelationEntry, 'interface' | 'role'>): boolean =>
  isEnrolling(entry) && entry.role === 'provides'

/** Tells if the labels of the relation are carried from now on. */
const isCarried = (relation: Relation): boolean =>
  relation.awaits === undefined && Object.keys(requestedLabels(relation)).length > 0

/**
 * Restores the state of a memory lost while the workload was on the mesh. The enrolment is kept until the requesting relation, or its
 * end, is known: off the mesh nothing guards the application. One that has ended counts as carried until the labels are gone.
 */
export const withRecoveredLabels = (state: State): State => ({
  ...withEntries(
    state,
    Object.entries(state.relations).flatMap(([key, entry]) =>
      isRequirer(entry) ? [{ key, entry: recovered(entry) }] : [],
    ),
  ),
  recovering: true,
})

const recovered = ({ peer }: RelationEntry) => ({ labels: 'applied', peer: { ...peer, publishes: true } }) as const

/**
 * The other sides of the relations of which it is known what they ask of the application: labels, none any more, or none as it is over. One is
 * undefined for a coordinator, whose labels are those of its beacon.
 */
export const knownEnrolments = (
  subject: Subject,
  state: State,
  { state: { relations } }: ResolvedRelations,
): (Subject | undefined)[] =>
  Object.entries(state.relations)
    .filter(([key, entry]) => isRequirer(entry) && !ownValue(relations, key)?.isUnknown)
    .map(([, entry]) => beaconOf(subject, entry))

const beaconOf = (subject: Subject, entry: RelationEntry): Subject | undefined =>
  entry.interface === 'service_mesh' ? remoteSubject(subject, entry) : undefined

/**
 * The other sides of the relations that enrol the application and have ended, also those that only the other side was told of. One is undefined
 * where it is not named, or is a coordinator, whose labels are those of its beacon; of a cluster's end that only the other side knows, it is not
 * known which side is enrolled.
 */
export const endedBy = (subject: Subject, state: State, peers: Peers): (Subject | undefined)[] => {
  const ended = Object.values(state.relations).filter((entry) => isRequirer(entry) && !stands(state, entry))
  const buried = Object.entries(state.tombstones ?? {}).flatMap(([key, { interface: name = '' }]) => {
    const beacon = name === 'service_mesh' ? tombstoneOf(subject, key).remote : undefined
    return isEnrolling({ interface: name }) ? [beacon] : []
  })
  const elsewhere = [...peers.values()].filter(
    (peer) => 'state' in peer && endsAlone(subject, peer.subject, peer.state).includes('service_mesh'),
  )
  return [...ended.map((entry) => beaconOf(subject, entry)), ...buried, ...elsewhere.map((peer) => peer.subject)]
}

/** The failures of a step: requesters without their grants, and labels that could not be removed. */
export type StepFailures = { readonly requesters: ReadonlySet<string>; readonly isLabelling: boolean }

/** Records the progress of a step: labels, grants, and the remote data they were applied for. */
export const recordProgress = (
  subject: Subject,
  state: State,
  { state: { relations } }: ResolvedRelations,
  peers: Peers,
  failed: StepFailures,
): State => {
  const next = (key: string, entry: RelationEntry): RelationEntry => {
    const relation = ownValue(relations, key)
    const other = peerView(subject, state, key, peers)
    const { published, shows } = other
    const isFailed =
      relation !== undefined && requesterNames(subject, relation).some((name) => failed.requesters.has(name))
    const { peer = {} } = entry
    const observed = changed(peer, {
      observed: isFailed ? peer.observed : (shows ?? peer.observed),
      publishes: published ? true : peer.publishes,
    })
    return changed(entry, {
      labels: isRequirer(entry) ? nextLabels(entry, seenByRequirer(relation), failed.isLabelling) : undefined,
      grant: isProvider(entry) ? grantNow(state, entry, relation, isFailed, other) : undefined,
      peer: Object.keys(observed).length === 0 ? undefined : observed,
    })
  }
  const entries = Object.entries(state.relations).map(([key, entry]) => [key, next(key, entry)] as const)
  return { ...state, relations: Object.fromEntries(entries) }
}

/** The grant once the step has written; where policies of the requester failed, it is that of before. */
const grantNow = (
  state: State,
  entry: RelationEntry,
  relation: Relation | undefined,
  isFailed: boolean,
  peer: PeerView,
): Grant | undefined => {
  const seen = seenByProvider(state, entry, relation, peer)
  const sees = isFailed && seen === 'established' ? 'unknown' : seen
  return nextGrant(entry, sees, isFailed || relation?.isUnknown ? undefined : requestedBy(peer, sees))
}

/** Names a relation's requester as a beacon and as a coordinator do. */
const requesterNames = (subject: Subject, relation: Relation): string[] => [
  requesterName(subject, relation),
  `${relationName(relation)} of ${subjectName(subject)}`,
]

/**
 * Lists those for whom nothing of a mesh or cluster goes that the application may not run any more: consumers that still carry its labels,
 * and the application itself while its config is unknown.
 */
export const keptFor = (subject: Subject, state: State, resolved: ResolvedRelations, peers: Peers): string[] => [
  ...leavingWorkers(subject, state, resolved, peers),
  ...(isConfigUnknown(state) ? [`the config of ${subjectName(subject)}`] : []),
  ...Object.entries(state.relations).flatMap(([key, entry]) => {
    const isRun = entry.interface === 'cluster' ? state.config?.coordinator : state.config?.mesh
    if (!isProvider(entry) || isRun) return []
    const other = peerView(subject, state, key, peers)
    const isKept = other.hasLabels ?? (entry.grant !== undefined && hasPublished(entry))
    return isKept ? [subjectName(remoteSubject(subject, entry))] : []
  }),
]

/** Lists the consumers without labels of their own, for which the namespace stays on the mesh. */
export const namespaceAwaits = (
  subject: Subject,
  state: State,
  resolved: ResolvedRelations,
  peers: Peers,
): string[] => {
  const { mesh } = state.config ?? {}
  if (mesh === undefined || mesh.modelOnMesh) return []
  return withoutLabels(subject, state, resolved, peers, { interface: 'service_mesh', isDone: isLabelled })
}

/** Lists the workers of a coordinator on a mesh that do not carry its labels yet: the namespace stays on the mesh for them as well. */
export const workersAwaited = (subject: Subject, state: State, resolved: ResolvedRelations, peers: Peers): string[] => {
  const { labels = {} } = desiredMeshLabels(resolved.state) ?? {}
  const isCoordinator = state.config?.coordinator !== undefined || isConfigUnknown(state)
  if (!isCoordinator || !Object.hasOwn(labels, ENROLMENT_LABEL)) return []
  return withoutLabels(subject, state, resolved, peers, { interface: 'cluster', isDone: isOnMesh })
}

/** Lists the workers whose labels a beacon of the coordinator waits for. */
export const awaitedByBeacon = (subject: Subject, state: State, resolved: ResolvedRelations, peers: Peers): Wait[] => {
  const beacons = Object.values(state.relations).filter(
    (entry) => entry.interface === 'service_mesh' && isRequirer(entry),
  )
  const isAwaited = beacons.some((entry) => awaitsLabels(peers.get(subjectName(remoteSubject(subject, entry)))))
  if (!isAwaited) return []
  return workersAwaited(subject, state, resolved, peers).map((worker) => ({
    held: 'the labels of the namespace',
    for: [worker],
    message: `waiting for ${worker} to carry labels of the mesh`,
  }))
}

const awaitsLabels = (peer: Peer | undefined): boolean =>
  peer !== undefined && 'state' in peer && peer.state.awaiting === 'labels-applied'

/** The relations to look at, and the test for applications that carry their labels. */
type Provided = { readonly interface: string; readonly isDone: (peer: Peer | undefined) => boolean }

const withoutLabels = (
  subject: Subject,
  state: State,
  { state: { relations } }: ResolvedRelations,
  peers: Peers,
  { interface: name, isDone }: Provided,
): string[] =>
  Object.entries(relations).flatMap(([key, relation]) => {
    if (relation.interface !== name || relation.role !== 'provides' || relation.isLeaving) return []
    const remote = subjectName(remoteSubject(subject, relation))
    const { hasLabels, entry } = peerView(subject, state, key, peers)
    const isCarrying = hasLabels === true && isDone(peers.get(remote))
    const isAwaited = relation.isUnknown === true || (entry !== undefined && !isCarrying)
    return isAwaited ? [remote] : []
  })

/** Tells if the workload is on the mesh, and those of its own workers are: labels may be refused there while all else was done. */
const isLabelled = (peer: Peer | undefined): boolean => isOnMesh(peer) && !awaitsLabels(peer)

/** Tells if the workload is on the mesh: it may carry labels of its own, or of its cluster, without that. */
const isOnMesh = (peer: Peer | undefined): boolean =>
  peer !== undefined && 'labels' in peer && Object.hasOwn(peer.labels, ENROLMENT_LABEL)
