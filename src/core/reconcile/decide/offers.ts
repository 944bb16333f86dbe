import { type Subject, subjectName } from '../../../platform/base/subject.ts'
import type { Mesh } from '../../feature/mesh.ts'
import { offersLabels } from '../../relations/requested-labels.ts'
import type { ResolvedRelations } from '../../relations/resolve-relations.ts'
import { requesterNames } from '../../state/requesters.ts'
import type { State } from '../../state/state.ts'
import type { Plan } from './operation.ts'
import { dueIn } from './plan.ts'

/**
 * Lists the relations whose offer rests on objects that do not stand yet: the waypoint, the policies of a cluster, and those that a beacon
 * writes for the relation. Such an offer is published once they do.
 */
export const heldOffers = (
  mesh: Pick<Mesh, 'isBasis' | 'requestersOf'>,
  subject: Subject,
  state: State,
  { state: { relations } }: Pick<ResolvedRelations, 'state'>,
  planned: Plan,
): string[] => {
  const missing = [
    ...planned.blocked.map(({ object }) => object),
    ...dueIn(planned).flatMap((operation) => (operation.verb === 'apply' ? [operation.desired] : [])),
  ]
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
