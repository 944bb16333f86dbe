import { defineFunction } from '../src/define-function.ts'
import { accept, isOvertaken, isPassed, isStale } from '../src/order.ts'
import { emptyState, type State } from '../src/state.ts'
import { WORKLOAD_KINDS } from '../src/workload/objects.ts'

/**
 * The application goes, and so everything is let go of. Events are not ordered between functions: what the same source said after the
 * removal is kept, what it said before is forgotten but for tombstones, whichever of them comes first.
 */
export const applicationRemoved = defineFunction({
  name: 'application-removed',
  data: {},
  fold: (state, _, { position, now }) => {
    if (isOvertaken(state, 'application', position))
      return { state, stale: 'the application was removed again after this event' }
    // told again: what has come since is not its business
    if (isStale(state, 'application', position)) return { state }
    const isLater = (about: string) => isPassed(state, about, position)
    const { config, settings, leader, inherited, former, published, owned, generation, announced } = state
    const pending = laterPart(state, isLater)
    const relations = Object.entries(state.relations).filter(([id]) => isLater(`relation/${id}`))
    const gone = now.toISOString()
    const accepted = Object.entries(state.accepted).map(([about, entry]) => [
      about,
      isLater(about) ? entry : { goneBy: position.source, gone, ...entry },
    ])
    const kept: State = {
      ...emptyState(),
      relations: Object.fromEntries(relations),
      accepted: Object.fromEntries(accepted),
      ...(config && isLater('config') && { config }),
      ...(settings && isLater('settings') && { settings }),
      ...(pending && { pending }),
      ...(leader && isLater('leader') && { leader }),
      ...(inherited && { inherited }),
      ...(former && { former }),
      ...(published && { published }),
      // also what runs of a memory that was lost
      owned: [...new Set([...(owned ?? []), ...WORKLOAD_KINDS])],
      ...(announced && { announced }),
      ...(generation !== undefined && { generation }),
    }
    return { state: accept(kept, 'application', position, gone) }
  },
})

/** What still waits for a leader of what was asked for after the removal. */
const laterPart = ({ pending }: State, isLater: (about: string) => boolean): State['pending'] => {
  const left = Object.entries(pending?.data ?? {}).filter(([about]) => isLater(about))
  return pending && left.length > 0 ? { ...pending, data: Object.fromEntries(left) } : undefined
}
