import type { KubernetesObject } from '../../../platform/kubernetes/objects.ts'
import type { Mesh } from '../../feature/mesh.ts'
import type { DueWrites } from '../../relations/offers/held-offers.ts'
import type { Operation, Plan } from './operation.ts'
import { dueIn } from './plan.ts'

type Judge = Pick<Mesh, 'isDenying' | 'isForAll' | 'isDryRun'>

/** Returns the writes of a plan, as offers see them. */
export const dueWrites = (mesh: Judge, planned: Plan): DueWrites => {
  const due = dueIn(planned)
  return {
    isAny: due.length > 0,
    isDenialEnding: due.some(endsDenial(mesh)),
    missing: missingObjects(planned, due),
    touched: due.flatMap((operation) => (operation.verb === 'touch' ? [operation.found] : [])),
  }
}

/** Lists the desired objects that do not stand as long as the operations are not done. */
export const missingObjects = ({ blocked }: Plan, operations: readonly Operation[]): KubernetesObject[] => [
  ...blocked.map(({ object }) => object),
  ...operations.flatMap((operation) => (operation.verb === 'apply' ? [operation.desired] : [])),
]

/** Creates a test for operations after which a policy does not deny any more all that no other one allows. */
const endsDenial =
  ({ isDenying, isForAll, isDryRun }: Judge) =>
  (operation: Operation): boolean => {
    const found = 'found' in operation ? operation.found : undefined
    if (found === undefined || !isDenying(found) || !isForAll(found)) return false
    return operation.verb === 'remove' || (operation.verb === 'apply' && isDryRun(operation.desired))
  }
