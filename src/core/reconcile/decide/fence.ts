import { objectKey } from '../../../platform/kubernetes/apply-objects.ts'
import type { KubernetesObject } from '../../../platform/kubernetes/objects.ts'
import { managerOf } from '../../workload/objects.ts'
import { idOf, type Operation } from './operation.ts'
import type { Situation } from './situation.ts'

/** Plans the touch of an object that a late write may still reach. The late write then finds another resourceVersion, and fails. */
export const planFence = (situation: Situation, found: KubernetesObject): Operation[] => {
  const object = objectKey(found)
  const { fence } = situation
  if (fence === undefined) return []
  const manager = managerOf(situation.subject, found.kind)
  const reason = 'a write may be on its way'
  const { isPolicy, isDenying } = situation.features.mesh
  // labels come after the policies that they rest on, which a late write could remove
  const phase = isPolicy(found) && !isDenying(found) ? 'allow' : 'touch'
  return [{ id: idOf('touch', object), phase, object, manager, after: [], reason, verb: 'touch', found, fence }]
}
