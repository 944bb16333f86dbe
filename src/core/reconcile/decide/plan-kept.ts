import { type Condition, waitFor } from '../../../platform/base/condition.ts'
import { objectDifference } from '../../../platform/kubernetes/apply-objects.ts'
import { type KubernetesObject, objectKey } from '../../../platform/kubernetes/objects.ts'
import { isTouchOpen } from '../../../platform/kubernetes/touch.ts'
import { managerOf } from '../../workload/objects.ts'
import { type Operation, type Plan, writeOf } from './operation.ts'
import type { Situation } from './situation.ts'
import { isOfConfig, isStaying, waitsForConfig } from './stays.ts'

/** `touches` go to objects that stay as they are, and `operations` change others. `kept`: the stale objects that stay. */
type Kept = Pick<Plan, 'operations' | 'waiting'> & {
  readonly touches: readonly Operation[]
  readonly kept: readonly KubernetesObject[]
}

/** Plans what is written to objects that stay: those in `staying`, and stale ones that something still rests on. */
export const planKept = (
  situation: Situation,
  staying: readonly KubernetesObject[],
  stale: readonly KubernetesObject[],
): Kept => {
  const kept = stale.filter(isStaying(situation))
  return {
    touches: [...staying, ...kept].flatMap((object) => touching(situation, object)),
    operations: planCarried(situation, stale),
    waiting: [
      ...keeping(situation, kept),
      ...waitsForConfig(
        situation,
        kept.some((object) => isOfConfig(situation, object)),
      ),
    ],
    kept,
  }
}

/**
 * Plans the touch of an object that a late write may still reach. The late write then finds another resourceVersion, and fails. A touch that a dead process
 * has begun is ended so.
 */
export const touching = ({ subject, fence }: Situation, found: KubernetesObject): Operation[] => {
  if (fence === undefined && !isTouchOpen(found)) return []
  const reason = 'a write may be on its way'
  return [{ ...writeOf(subject, 'touch', found), needs: [], reason, verb: 'touch', found, fence: fence ?? 'ended' }]
}

/** Plans the changes of stale policies that stay until the labels of their relation are gone: clients come and go meanwhile. */
const planCarried = ({ subject, desired }: Situation, stale: readonly KubernetesObject[]): Operation[] =>
  objectDifference(stale, desired.carried, managerOf(subject, 'AuthorizationPolicy'))
    .apply.filter(({ live }) => live !== undefined)
    .map(({ desired: object, live: found }) => ({
      ...{ ...writeOf(subject, 'apply', object), needs: [] },
      ...{ reason: 'it is not as it was asked for last', verb: 'apply', desired: object, found },
    }))

const MOST_NAMED = 3

/** Returns the wait of stale objects for the consumers that still need them. Pods have a wait of their own. */
const keeping = ({ keptFor, waitForPods }: Situation, kept: readonly KubernetesObject[]): Condition[] => {
  if (kept.length === 0 || keptFor.length === 0 || waitForPods !== undefined) return []
  const left = kept.length - MOST_NAMED
  const names = [...kept.slice(0, MOST_NAMED).map(objectKey), ...(left > 0 ? [`${left} more`] : [])].join(', ')
  const message = `${names}: not desired any more, and kept until no application carries its labels: waiting for ${keptFor.join(', ')}`
  return [waitFor(keptFor, 'PeerOnMesh', names, message)]
}
