import { ownValue } from '../../platform/base/own-value.ts'
import type { Subject } from '../../platform/base/subject.ts'
import type { RelationEntry } from '../state/relation.ts'
import { type State, stands } from '../state/state.ts'
import { endsAlone, tombstoneOf } from './announcements.ts'
import { remoteSubject } from './peer-entry.ts'
import type { Peers } from './peers.ts'
import { withEntries } from './progress.ts'
import { isEnrolling, takesLabels } from './requested-labels.ts'
import type { ResolvedRelations } from './resolve-relations.ts'

/**
 * Restores the state of a memory lost while the workload was on the mesh. The enrolment is kept until the requesting relation, or its
 * end, is known: off the mesh nothing guards the application. One that has ended counts as carried until the labels are gone.
 */
export const withRecoveredLabels = (state: State): State => ({
  ...withEntries(
    state,
    Object.entries(state.relations).flatMap(([key, entry]) =>
      takesLabels(entry) ? [{ key, entry: recovered(entry) }] : [],
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
    .filter(([key, entry]) => takesLabels(entry) && !ownValue(relations, key)?.isUnknown)
    .map(([, entry]) => beaconOf(subject, entry))

const beaconOf = (subject: Subject, entry: RelationEntry): Subject | undefined =>
  entry.interface === 'service_mesh' ? remoteSubject(subject, entry) : undefined

/**
 * The other sides of the relations that enrol the application and have ended, also those that only the other side was told of. One is undefined
 * where it is not named, or is a coordinator, whose labels are those of its beacon; of a cluster's end that only the other side knows, it is not
 * known which side is enrolled.
 */
export const endedBy = (subject: Subject, state: State, peers: Peers): (Subject | undefined)[] => {
  const ended = Object.values(state.relations).filter((entry) => takesLabels(entry) && !stands(state, entry))
  const buried = Object.entries(state.tombstones ?? {}).flatMap(([key, { interface: name = '' }]) => {
    const beacon = name === 'service_mesh' ? tombstoneOf(subject, key).remote : undefined
    return isEnrolling({ interface: name }) ? [beacon] : []
  })
  const elsewhere = [...peers.values()].filter(
    (peer) => 'state' in peer && endsAlone(subject, peer.subject, peer.state).includes('service_mesh'),
  )
  return [...ended.map((entry) => beaconOf(subject, entry)), ...buried, ...elsewhere.map((peer) => peer.subject)]
}
