import { ownValue } from '../../platform/base/own-value.ts'
import type { Subject } from '../../platform/base/subject.ts'
import type { EffectiveState } from '../state/state.ts'
import { ENROLMENT_LABEL } from './enrolment-labels.ts'
import { desiredMeshLabels } from './mesh-labels.ts'
import { remoteSubject } from './peer-entry.ts'
import { MESH_KEYS } from './requestable-labels.ts'
import { relationsWith } from './select.ts'

/**
 * Selects the labels in `held` by which a coordinator still leads a worker to a waypoint. The beacon knows the workers only through their
 * coordinator, so the coordinator's memory lists these labels.
 */
export const labelsHandedOn = (
  held: Readonly<Record<string, string>>,
  { relations }: Pick<EffectiveState, 'relations'>,
): Record<string, string> => {
  const workers = workersIn(relations)
  const isWorn = ([key, value]: [string, string]): boolean =>
    workers.some(({ source, peerLabels: labels = {} }) => source === 'unknown' || ownValue(labels, key) === value)
  return Object.fromEntries(Object.entries(held).filter((label) => isLeading(label) && isWorn(label)))
}

/**
 * Selects the labels that lead workers of other namespaces to a waypoint. A coordinator that is on the mesh with its whole namespace does
 * not carry them itself.
 */
export const labelsHandedElsewhere = (
  subject: Subject,
  { relations }: Pick<EffectiveState, 'relations'>,
): Record<string, string> => {
  const isElsewhere = workersIn(relations).some(
    (worker) => remoteSubject(subject, worker).namespace !== subject.namespace,
  )
  const { elsewhere = {} } = (isElsewhere && desiredMeshLabels({ relations })) || {}
  return Object.fromEntries(Object.entries(elsewhere).filter(isLeading))
}

const workersIn = (relations: EffectiveState['relations']) =>
  relationsWith(relations, { interface: 'cluster', role: 'provides' })

const isLeading = ([key]: [string, string]): boolean => MESH_KEYS.includes(key) && key !== ENROLMENT_LABEL
