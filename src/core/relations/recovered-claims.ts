import { ownValue } from '../../platform/base/own-value.ts'
import type { Subject } from '../../platform/base/subject.ts'
import { hasData, type RelationEntry } from '../state/relation.ts'
import { type State, stands } from '../state/state.ts'
import { withEntries } from './entries.ts'
import { remoteSubject } from './peer-entry.ts'
import type { Peers } from './peers.ts'
import { isEnrolling, takesLabels } from './requested-labels.ts'
import type { ResolvedRelations } from './resolve-relations.ts'
import { endsAlone, tombstoneOf } from './tombstones.ts'

/**
 * Restores the state of a memory that was lost while the workload was on the mesh. The enrolment is kept until its relation, or the end of
 * it, is known, because nothing guards the application off the mesh. An ended relation counts as carried until the labels are gone.
 */
export const withRecoveredLabels = (state: State): State => ({
  ...withEntries(state, (entry) => (takesLabels(entry) ? recovered(entry) : undefined)),
  recovering: true,
})

/** Marks the labels as carried. A provider that the platform says nothing of may have published for itself, and counts as if. */
const recovered = ({ peer, claim, remote }: RelationEntry) =>
  ({
    claim: claim ?? { version: '', phase: 'applied' },
    ...(!hasData(remote) && { peer: { ...peer, publishes: true as const } }),
  }) as const

/**
 * Lists the providers of relations whose effect on the application's labels is known: labels, none any more, or none because it is over. An
 * element is undefined for a coordinator, because its labels are those of its beacon.
 */
export const knownEnrolments = (
  subject: Subject,
  state: State,
  { state: { relations } }: ResolvedRelations,
): (Subject | undefined)[] =>
  Object.entries(state.relations)
    .filter(([key, entry]) => takesLabels(entry) && ownValue(relations, key)?.source !== 'unknown')
    .map(([, entry]) => beaconOf(subject, entry))

const beaconOf = (subject: Subject, entry: RelationEntry): Subject | undefined =>
  entry.interface === 'service_mesh' ? remoteSubject(subject, entry) : undefined

/**
 * Lists the enrolling relations that have ended, including ends that only the peer knows: their ids and providers. A provider is undefined if
 * it is not named, or for a coordinator, because its labels are those of its beacon. For a cluster whose end only the peer knows, it is
 * unknown which side is enrolled, so it is left out.
 */
export const endedEnrolments = (
  subject: Subject,
  state: State,
  peers: Peers,
): { id: string; by?: Subject | undefined }[] => {
  const ended = Object.values(state.relations).filter((entry) => takesLabels(entry) && !stands(state, entry))
  const buried = Object.entries(state.tombstones ?? {}).flatMap(([key, { interface: name = '' }]) => {
    const { id, remote } = tombstoneOf(subject, key)
    return isEnrolling({ interface: name }) ? [{ id, by: name === 'service_mesh' ? remote : undefined }] : []
  })
  const elsewhere = [...peers.values()].flatMap((peer) => {
    const ends = 'state' in peer ? endsAlone(subject, peer.subject, peer.state) : []
    return ends.flatMap(({ id, interface: name }) => (name === 'service_mesh' ? [{ id, by: peer.subject }] : []))
  })
  return [...ended.map((entry) => ({ id: `${entry.id}`, by: beaconOf(subject, entry) })), ...buried, ...elsewhere]
}
