import { type Subject, subjectName } from '../../../platform/base/subject.ts'
import type { KubernetesObject } from '../../../platform/kubernetes/objects.ts'
import type { Mesh } from '../../feature/mesh.ts'
import { offersLabels } from '../../relations/requested-labels.ts'
import type { ResolvedRelations } from '../../relations/resolve-relations.ts'
import { requesterNames } from '../../state/requesters.ts'
import type { State } from '../../state/state.ts'
import type { Operation, Plan } from './operation.ts'
import { dueIn } from './plan.ts'

/**
 * Lists the relations whose offer rests on objects that do not stand yet, or that a late write of another step may still remove: the waypoint, the
 * policies of a cluster, and those that a beacon writes for the relation. Such an offer is published once they stand, and are touched.
 */
export const heldOffers = (
  mesh: Pick<Mesh, 'isBasis' | 'requestersOf'>,
  subject: Subject,
  state: State,
  { state: { relations } }: Pick<ResolvedRelations, 'state'>,
  planned: Plan,
): string[] => {
  const missing = [...planned.blocked.map(({ object }) => object), ...dueIn(planned).flatMap(objectsToCome)]
  if (missing.length === 0) return []
  const requesters = new Set(missing.flatMap(mesh.requestersOf))
  const isBare = missing.some(mesh.isBasis)
  return Object.entries(state.relations).flatMap(([key, entry]) => {
    const relation = relations[key]
    if (!offersLabels(entry) || relation === undefined) return []
    const names = [...requesterNames(subject, relation), `cluster of ${subjectName(subject)}`]
    return isBare || names.some((name) => requesters.has(name)) ? [key] : []
  })
}

const objectsToCome = (operation: Operation): KubernetesObject[] => {
  if (operation.verb === 'apply') return [operation.desired]
  return operation.verb === 'touch' ? [operation.found] : []
}

/**
 * Lists the offers to workers while labels of a beacon are not claimed yet, which may take away what they rest on until then. Policies of the cluster
 * may stand already, by late writes.
 */
export const unclaimedOffers = (state: State, { state: { relations } }: Pick<ResolvedRelations, 'state'>): string[] => {
  const isUnclaimed = Object.entries(relations).some(
    ([key, { interface: name, role, remote }]) =>
      name === 'service_mesh' &&
      role === 'requires' &&
      Object.hasOwn(remote.data, 'labels') &&
      state.relations[key]?.claim === undefined,
  )
  return Object.entries(state.relations).flatMap(([key, entry]) =>
    isUnclaimed && offersLabels(entry) && entry.interface === 'cluster' ? [key] : [],
  )
}
