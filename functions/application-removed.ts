import { defineFunction } from '../src/define-function.ts'
import { accept, isOvertaken } from '../src/order.ts'
import { emptyState } from '../src/state.ts'

/** The application goes: all is forgotten but tombstones, and so everything is let go of. */
export const applicationRemoved = defineFunction({
  name: 'application-removed',
  data: {},
  fold: (state, _, { position, now }) => {
    if (isOvertaken(state, position)) return { state, stale: 'the application has moved on since this event' }
    const gone = now.toISOString()
    const accepted = Object.entries(state.accepted).map(([about, entry]) => [
      about,
      { ...entry, gone: entry.gone ?? gone },
    ])
    const { inherited, former } = state
    const removed = {
      ...emptyState(),
      ...(inherited && { inherited }),
      ...(former && { former }),
      accepted: Object.fromEntries(accepted),
    }
    return { state: accept(removed, 'application', position, gone) }
  },
})
