import type { Subject } from '../../../platform/base/subject.ts'
import type { Change } from '../change.ts'
import type { FoldedObservation, Observation } from '../observe.ts'
import { isDeployed } from './cluster.ts'

/**
 * An application of which no platform, document or workload has told, and of which others only know the name: an alias, perhaps. No memory
 * is made for it.
 */
export const isStranger = (
  subject: Subject,
  changes: readonly Change[],
  { memory, found: { documents } }: Observation,
  { state, observed }: FoldedObservation,
): boolean =>
  memory.stored === undefined &&
  changes.every(({ nudge, look }) => nudge !== undefined || look?.isResync === true) &&
  Object.keys(state.relations).length > 0 &&
  [...(state.owned ?? []), ...(state.previousTargets ?? [])].length === 0 &&
  !documents.found.some((one) => one.application === subject.application && !('isForbidden' in one)) &&
  !isDeployed(observed)
