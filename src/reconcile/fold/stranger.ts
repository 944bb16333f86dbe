import type { Subject } from '../../base/subject.ts'
import type { State } from '../../state/state.ts'
import type { Change } from '../change.ts'
import { isDeployed, type Observed } from '../observe/cluster.ts'
import type { Surroundings } from '../observe/surroundings.ts'

/**
 * An application of which no platform, document or workload has told, and of which others only know the name: an alias, perhaps. No memory
 * is made for it.
 */
export const isStranger = (
  subject: Subject,
  changes: readonly Change[],
  state: State,
  { documents }: Surroundings,
  observed: Observed,
): boolean =>
  changes.every(({ nudge, look }) => nudge !== undefined || look?.isResync === true) &&
  Object.keys(state.relations).length > 0 &&
  [...(state.owned ?? []), ...(state.previousTargets ?? [])].length === 0 &&
  !documents.found.some((one) => one.application === subject.application && !('isForbidden' in one)) &&
  !isDeployed(observed)
