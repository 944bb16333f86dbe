import { type Subject, subjectName } from '../../platform/base/subject.ts'
import type { Wait } from '../../platform/base/wait.ts'
import { isConfigUnknown, type State } from '../state/state.ts'
import { ENROLMENT_LABEL } from './enrolment-labels.ts'
import { leavingWorkers } from './gate-enrolment.ts'
import { desiredMeshLabels } from './mesh-labels.ts'
import { remoteSubject } from './peer-entry.ts'
import { hasPublished, peerView } from './peer-view.ts'
import type { Peer, Peers } from './peers.ts'
import { grantsLabels, runsProvider, takesLabels } from './requested-labels.ts'
import type { ResolvedRelations } from './resolve-relations.ts'

/**
 * Lists those for whom nothing of a mesh or cluster goes that the application may not run any more: consumers that still carry its labels,
 * and the application itself while its config is unknown.
 */
export const keptFor = (subject: Subject, state: State, resolved: ResolvedRelations, peers: Peers): string[] => [
  ...leavingWorkers(subject, state, resolved, peers),
  ...(isConfigUnknown(state) ? [`the config of ${subjectName(subject)}`] : []),
  ...Object.entries(state.relations).flatMap(([key, entry]) => {
    if (!grantsLabels(entry) || runsProvider(state, entry)) return []
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
    (entry) => entry.interface === 'service_mesh' && takesLabels(entry),
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
