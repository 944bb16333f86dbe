import { ownValue } from '../../../platform/base/own-value.ts'
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
  // the objects of a former config may be in other namespaces, where those of relations never are
  const current = features.kinds({ config: state.config, relations: {} })
  const released = features
    .kinds({ config: memory.state.config, relations: {} })
    .filter((kind) => !current.includes(kind))
  const owned = {
    ...Object.fromEntries(features.kinds(state).map((kind) => [ownedName(kind), null])),
    ...state.owned,
    ...Object.fromEntries(
      released.map((kind) => [ownedName(kind), ownValue(state.owned, ownedName(kind)) ?? since] as const),
    ),
  }
  const next = withPreviousTargets(state, former, features.targets(application, state.config))
  return Object.keys(owned).length === 0 ? next : { ...next, owned }
}
