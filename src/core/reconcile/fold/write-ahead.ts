import type { Subject } from '../../../platform/base/subject.ts'
import type { Features } from '../../feature/combine.ts'
import type { Memory } from '../../state/memory.ts'
import { ownedName } from '../../state/owned-kinds.ts'
import { type State, withPreviousTargets } from '../../state/state.ts'

/** Adds the write-ahead record: previous targets, and the kinds of objects that may be created. */
export const withWriteAhead = (
  features: Features,
  memory: Memory,
  { application }: Subject,
  state: State,
  now: Date,
): State => {
  const since = now.toISOString()
  const places = features.targets(application, memory.state.config).map((target) => ({ ...target, since }))
  const former = [...(state.previousTargets ?? []), ...places]
  const owned = [
    ...new Set([
      ...(state.owned ?? []),
      ...features.kinds(state.config).map(ownedName),
      ...Object.keys(state.previouslyOwned ?? {}),
    ]),
  ]
  const next = withPreviousTargets(state, former, features.targets(application, state.config))
  return owned.length === 0 ? next : { ...next, owned: owned.toSorted() }
}
