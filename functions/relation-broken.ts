import * as z from 'zod'
import { defineFunction } from '../src/define-function.ts'
import { accept, isOvertaken } from '../src/order.ts'
import { RelationIdentity } from '../src/state.ts'

/** A relation is gone: it is forgotten, but for a tombstone that keeps late events from bringing it back. */
export const relationBroken = defineFunction({
  name: 'relation-broken',
  data: { relation: z.strictObject({ ...RelationIdentity.partial().shape, id: RelationIdentity.shape.id }) },
  fold: (state, { relation: { id } }, { position, now }) => {
    const about = `relation/${id}`
    const { [id]: known, ...relations } = state.relations
    if (isOvertaken(state, about, position)) return { state, stale: `relation ${id} has moved on since this event` }
    return { state: accept({ ...state, relations }, about, position, now.toISOString()) }
  },
})
