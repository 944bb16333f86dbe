import { defineFunction } from '../src/define-function.ts'
import { accept, isStale } from '../src/order.ts'
import { RelationIdentity, Remote } from '../src/state.ts'

/** The remote side of a relation changed its databags: they are remembered as they are now. */
export const relationChanged = defineFunction({
  name: 'relation-changed',
  data: { relation: RelationIdentity, remote: Remote },
  fold: (state, { relation, remote }, { position }) => {
    const about = `relation/${relation.id}`
    if (isStale(state, about, position))
      return { state, stale: `relation ${relation.id} has moved on since this event` }
    const relations = { ...state.relations, [relation.id]: { ...relation, remote } }
    return { state: accept({ ...state, relations }, about, position) }
  },
})
