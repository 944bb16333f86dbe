import { type Condition, waitFor } from '../../../platform/base/condition.ts'
import { type Subject, subjectName } from '../../../platform/base/subject.ts'
import { type Relation, type RelationEntry, relationsWith } from '../../state/relation.ts'
import type { EffectiveState, State } from '../../state/state.ts'
import { ENROLMENT_LABEL } from '../mesh-labels.ts'
import { remoteSubject } from '../peer-entry.ts'
import { peerView } from '../peer-view.ts'
import { type Peer, type Peers, stateOf } from '../peers.ts'
import { desiredMeshLabels, offersLabels, runsProvider, takesLabels } from '../requested-labels.ts'
import type { ResolvedRelations } from '../resolve-relations.ts'

/**
 * Lists the applications whose mesh or cluster objects must stay, although this one may no longer run the mesh or cluster: consumers that
 * still carry its labels, and workers that still have to leave.
 */
export const keptFor = (subject: Subject, state: State, resolved: ResolvedRelations, peers: Peers): string[] => [
  ...leavingWorkers(subject, state, resolved, peers),
  ...Object.entries(state.relations).flatMap(([key, entry]) => {
    if (!offersLabels(entry) || runsProvider(state, entry)) return []
    return peerView(subject, state, key, peers).mayCarry ? [subjectName(remoteSubject(subject, entry))] : []
  }),
]

/**
 * Lists the relations with consumers that have yet to write their policies by the present offer, or to take them away with its labels. Until then nothing
 * else may be denied, and the namespace not enrolled.
 */
export const lateConsumers = ({ relations }: Pick<EffectiveState, 'relations'>): Relation[] =>
  relationsWith(relations, { interface: 'service_mesh', role: 'provides' }).filter(
    ({ requirer }) => requirer !== 'unmanaged' && requirer !== 'applied',
  )

/** Lists the consumers without labels of their own. The namespace stays on the mesh for them. */
export const labelsAwaited = (subject: Subject, state: State, resolved: ResolvedRelations, peers: Peers): string[] => {
  const { mesh } = state.config ?? {}
  if (mesh === undefined || mesh.modelOnMesh) return []
  return withoutLabels(subject, state, resolved, peers, { interface: 'service_mesh', isDone: isLabelled })
}

/** Lists the workers of a coordinator on a mesh that do not carry its labels yet. The namespace stays on the mesh for them as well. */
export const workersAwaited = (subject: Subject, state: State, resolved: ResolvedRelations, peers: Peers): string[] => {
  const { labels = {} } = desiredMeshLabels(resolved.state) ?? {}
  const isCoordinator = state.config?.coordinator !== undefined || resolved.unknown.config
  if (!isCoordinator || !Object.hasOwn(labels, ENROLMENT_LABEL)) return []
  return withoutLabels(subject, state, resolved, peers, { interface: 'cluster', isDone: isOnMesh })
}

/** Lists the waits for workers whose labels a beacon of the coordinator needs. */
export const awaitedByBeacon = (
  subject: Subject,
  state: State,
  resolved: ResolvedRelations,
  peers: Peers,
): Condition[] => {
  const isOfBeacon = (entry: RelationEntry) => entry.interface === 'service_mesh' && takesLabels(entry)
  if (!isAwaitedByProvider(subject, state, peers, isOfBeacon)) return []
  return workersAwaited(subject, state, resolved, peers).map((worker) =>
    waitFor([worker], 'PeerLags', 'the labels of the namespace', `waiting for ${worker} to carry labels of the mesh`),
  )
}

/** Tells if a provider waits until its labels are carried, by all pods. */
export const isAwaitedByProvider = (
  subject: Subject,
  state: State,
  peers: Peers,
  isMeant: (entry: RelationEntry) => boolean = takesLabels,
): boolean =>
  Object.values(state.relations).some(
    (entry) => isMeant(entry) && awaitsLabels(peers.get(subjectName(remoteSubject(subject, entry)))),
  )

const awaitsLabels = (peer: Peer | undefined): boolean => stateOf(peer)?.awaiting === 'labels-applied'

/** An interface of provided relations, and a test for peers that carry their labels. */
type Provided = { readonly interface: string; readonly isDone: (peer: Peer | undefined) => boolean }

const withoutLabels = (
  subject: Subject,
  state: State,
  { state: { relations } }: ResolvedRelations,
  peers: Peers,
  { interface: name, isDone }: Provided,
): string[] =>
  Object.entries(relations).flatMap(([key, relation]) => {
    if (relation.interface !== name || relation.role !== 'provides' || relation.standing === 'leaving') return []
    const remote = subjectName(remoteSubject(subject, relation))
    const { entry } = peerView(subject, state, key, peers)
    const isCarrying = relation.requirer === 'applied' && isDone(peers.get(remote))
    const isAwaited = relation.source === 'unknown' || (entry !== undefined && !isCarrying)
    return isAwaited ? [remote] : []
  })

/** Tells if a workload and its workers are on the mesh. The labels of workers may be refused although everything else is done. */
const isLabelled = (peer: Peer | undefined): boolean => isOnMesh(peer) && !awaitsLabels(peer)

/** Tells if a workload is on the mesh. Labels of its own, or of its cluster, do not mean that. */
const isOnMesh = (peer: Peer | undefined): boolean =>
  peer !== undefined && 'labels' in peer && Object.hasOwn(peer.labels, ENROLMENT_LABEL)

/** Lists the workers that are still on a mesh that their coordinator has left. Until they leave, they must reach each other. */
const leavingWorkers = (subject: Subject, state: State, resolved: ResolvedRelations, peers: Peers): string[] => {
  if (state.config?.coordinator === undefined || desiredMeshLabels(resolved.state)) return []
  return Object.entries(state.relations).flatMap(([key, entry]) =>
    entry.interface === 'cluster' && peerView(subject, state, key, peers).isEnrolled
      ? [subjectName(remoteSubject(subject, entry))]
      : [],
  )
}
