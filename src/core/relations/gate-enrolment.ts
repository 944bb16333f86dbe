import { ownValue } from '../../platform/base/own-value.ts'
import { type Subject, subjectName } from '../../platform/base/subject.ts'
import type { Wait } from '../../platform/base/wait.ts'
import { type Grant, hasData, type Relation, type RelationEntry } from '../state/relation.ts'
import type { State } from '../state/state.ts'
import { ENROLMENT_LABEL } from './enrolment-labels.ts'
import { desiredMeshLabels } from './mesh-labels.ts'
import { remoteSubject } from './peer-entry.ts'
import { type PeerView, peerView } from './peer-view.ts'
import type { Peers } from './peers.ts'
import { isEnrolling, labelsKey, requestedLabels } from './requested-labels.ts'
import { type ResolvedRelations, relationWait } from './resolve-relations.ts'

/** Tells if a requirer has yet to apply the labels of a relation, according to its own state. */
const isUnenrolled = ({ labels }: RelationEntry): boolean => labels !== 'applied'

/** The current labels of a workload, and the keys of those that the application holds there. `own` is undefined without a workload. */
export type WorkloadLabels = {
  readonly labels: Readonly<Record<string, string>>
  readonly own: readonly string[] | undefined
}

/** Tells if the workload exists and the application holds none of the relation's labels on it. */
const isBare = ({ own }: WorkloadLabels, relation: Relation): boolean =>
  own !== undefined && !Object.keys(requestedLabels(relation)).some((key) => own.includes(key))

/** Tells if an interrupted requirer has applied the labels of a relation, and no other relation can have brought them. */
const hasTakenLabels = (state: State, entry: RelationEntry, relation: Relation, { labels, own = [] }: WorkloadLabels) =>
  entry.labels === 'applying' &&
  !Object.values(state.relations).some((other) => other !== entry && other.labels !== undefined) &&
  Object.entries(requestedLabels(relation)).some(
    ([key, value]) =>
      ownValue(labels, key) === value && own.includes(key) && ownValue(state.config?.labels, key) === undefined,
  )

/**
 * Gates enrolment: a requirer first applies labels after its provider has granted its request. Later changes do not wait, unless the
 * workload lost its labels or was recreated. Nothing waits for a provider that has withdrawn its labels. If another provider has granted a
 * request of a config that is lost, a grant without a request does not count.
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
    // another relation has a grant of the lost config's request, which is all that is known of the request
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
      ...silentProviders(subject, state, resolved, peers, workload),
      ...kept,
      ...leavingWorkers(subject, state, resolved, peers).map((worker) => ({
        held: CLUSTER_POLICIES,
        for: [worker],
        message: `waiting for ${worker} to leave the mesh`,
      })),
    ],
  }
}

/** Lists the providers of labels that the application takes, if they have not granted its current request. Relations whose own labels wait are left out. */
export const ungrantedBy = (
  subject: Subject,
  state: State,
  { state: { relations } }: ResolvedRelations,
  peers: Peers,
): string[] =>
  Object.entries(relations).flatMap(([key, relation]) => {
    const entry = ownValue(state.relations, key)
    const isRequest =
      entry?.role === 'requires' && isEnrolling(entry) && relation.publishes && relation.awaits === undefined
    if (!isRequest || Object.keys(requestedLabels(relation)).length === 0) return []
    return isGranted(entry, peerView(subject, state, key, peers)) ? [] : [subjectName(remoteSubject(subject, relation))]
  })

/** Tells if labels of some relation wait for its provider. Until then, labels of another relation stay, even after its end. */
export const isAwaiting = ({ state: { relations } }: ResolvedRelations): boolean =>
  Object.values(relations).some((relation) => relation.awaits !== undefined || isSilentProvider(relation))

/** Tells if the provider of an enrolling relation has not published anything. */
const isSilentProvider = (relation: Relation): boolean =>
  isEnrolling(relation) &&
  relation.role === 'requires' &&
  !relation.publishes &&
  !relation.emptied &&
  !hasData(relation.remote)

/**
 * Lists the waits for providers that have yet to request labels, if no other source does. Without these labels the application does not
 * join their mesh, or keeps its present labels.
 */
const silentProviders = (
  subject: Subject,
  state: State,
  { state: { relations } }: ResolvedRelations,
  peers: Peers,
  { own = [] }: WorkloadLabels,
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
    // a provider that does not know the relation yet may still request labels
    return isHeard(subject, state, key, peers) && isMeshless(relation)
      ? [relationWait(relation, remote, `waiting for the labels of ${remote}, which asks for none: ${asks}`)]
      : []
  })
}

/**
 * Lists the waits for beacons that do not know a relation yet. A step that has just notified a beacon does not report this wait. Questions
 * do, if the beacon has not reacted.
 */
export const unheardBy = (
  subject: Subject,
  state: State,
  { state: { relations } }: ResolvedRelations,
  peers: Peers,
): Wait[] =>
  Object.entries(relations).flatMap(([key, relation]) => {
    const isMissing = isMeshless(relation) && !relation.emptied && !isHeard(subject, state, key, peers)
    if (!isMissing || relation.isUnknown) return []
    const remote = subjectName(remoteSubject(subject, relation))
    const ending = `its next event, or a resync of ${remote.split('/')[0]}, tells it`
    return [relationWait(relation, remote, `waiting for ${remote}, which does not know of the relation yet: ${ending}`)]
  })

/** Tells if the peer knows the relation as it is now. In its memory one that was established again may still be over, and then it has answered nothing yet. */
const isHeard = (subject: Subject, state: State, key: string, peers: Peers): boolean =>
  peerView(subject, state, key, peers).entry?.status === 'established'

/** Tells if the beacon of a relation has published no labels at all. With its whole namespace on the mesh it publishes an empty set. */
const isMeshless = ({ interface: name, role, remote }: Relation): boolean =>
  name === 'service_mesh' && role === 'requires' && !Object.hasOwn(remote.data, 'labels')

const CLUSTER_POLICIES = 'the policies of the cluster'

/** Lists the workers that are still on a mesh that their coordinator has left. Until they leave, they must reach each other. */
export const leavingWorkers = (subject: Subject, state: State, resolved: ResolvedRelations, peers: Peers): string[] => {
  if (state.config?.coordinator === undefined || desiredMeshLabels(resolved.state)) return []
  return Object.entries(state.relations).flatMap(([key, entry]) =>
    entry.interface === 'cluster' && peerView(subject, state, key, peers).isEnrolled
      ? [subjectName(remoteSubject(subject, entry))]
      : [],
  )
}

/** Lists the waits for the application's unknown config, for grants that are kept until then. */
const keptGrants = (subject: Subject, state: State, peers: Peers): Wait[] => {
  if (state.config !== undefined || state.removed !== undefined) return []
  return Object.entries(state.relations).flatMap(([key, entry]) => {
    const isKept =
      !isOfNoRequest(peerView(subject, state, key, peers).entry?.grant) && entry.published?.digest === undefined
    if (!isKept) return []
    const own = subjectName(subject)
    return [relationWait(entry, own, `waiting for the config of ${own}, {} if it has none; its grants stay in effect`)]
  })
}

/** Tells if there is no grant, or only one without a known request. */
const isOfNoRequest = (grant: Grant | undefined): boolean =>
  grant === undefined || (grant.phase === 'standing' && grant.digest === undefined)

const isGranted = ({ published }: RelationEntry, { entry }: PeerView): boolean =>
  entry?.grant?.phase === 'standing' && (published?.digest === undefined || entry.grant.digest === published.digest)
