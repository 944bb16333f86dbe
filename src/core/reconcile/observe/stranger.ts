import type { Subject } from '../../../platform/base/subject.ts'
import type { Change } from '../change.ts'
import type { FoldedObservation, Observation } from '../observe.ts'
import { isDeployed } from './cluster.ts'

/**
 * Tells if no platform, document or workload has introduced the application, and other memories merely name it. The name may be an alias,
 * so no memory is created.
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
