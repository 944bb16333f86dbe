import { type Subject, subjectName } from '../../../platform/base/subject.ts'
import type { Mesh } from '../../feature/mesh.ts'
import { offersLabels } from '../../relations/requested-labels.ts'
import type { ResolvedRelations } from '../../relations/resolve-relations.ts'
import { requesterNames } from '../../state/requesters.ts'
import type { State } from '../../state/state.ts'
import type { Operation, Plan } from './operation.ts'
import { dueIn } from './plan.ts'

type Judge = Pick<Mesh, 'isBasis' | 'requestersOf' | 'isDenying' | 'isForAll' | 'isDryRun'>

/**
 * Lists the relations whose offer rests on objects that do not stand yet: the waypoint, the policies of a cluster, and those that a beacon
 * writes for the relation. Such an offer is published once they do. While something denies all that no policy allows, and is about to go, each offer is as
 * it was: by the next one, consumers may allow less.
 */
export const heldOffers = (
  mesh: Judge,
  subject: Subject,
  state: State,
  { state: { relations } }: Pick<ResolvedRelations, 'state'>,
  planned: Plan,
): string[] => {
  const due = dueIn(planned)
  const offering = Object.entries(state.relations).filter(([, entry]) => offersLabels(entry))
  if (due.some(endsDenial(mesh))) return offering.map(([key]) => key)
  const missing = [
    ...planned.blocked.map(({ object }) => object),
    ...due.flatMap((operation) => (operation.verb === 'apply' ? [operation.desired] : [])),
  ]
  if (missing.length === 0) return []
  const requesters = new Set(missing.flatMap(mesh.requestersOf))
  const isBare = missing.some(mesh.isBasis)
  return offering.flatMap(([key]) => {
    const relation = relations[key]
    if (relation === undefined) return []
    const names = [...requesterNames(subject, relation), `cluster of ${subjectName(subject)}`]
    return isBare || names.some((name) => requesters.has(name)) ? [key] : []
  })
}

/** Creates a test for operations after which a policy does not deny any more all that no other one allows. */
const endsDenial =
  ({ isDenying, isForAll, isDryRun }: Judge) =>
  (operation: Operation): boolean => {
    const found = 'found' in operation ? operation.found : undefined
    if (found === undefined || !isDenying(found) || !isForAll(found)) return false
    return operation.verb === 'remove' || (operation.verb === 'apply' && isDryRun(operation.desired))
  }
