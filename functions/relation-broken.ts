import * as z from 'zod'
import { ObjectName } from '../src/config.ts'
import { defineFunction } from '../src/define-function.ts'
import { accept, isOvertaken } from '../src/order.ts'
import { RelationIdentity } from '../src/state.ts'

/** A relation is named by its id, and by the document it is kept in: what that says may have become unreadable. */
const Broken = z.strictObject({ ...RelationIdentity.partial().shape, id: RelationIdentity.shape.id })

/** A relation is gone: it is forgotten, but for a tombstone that keeps late events from bringing it back. */
export const relationBroken = defineFunction({
  name: 'relation-broken',
  data: { relation: Broken.optional(), document: ObjectName.optional() },
  fold: (state, { relation, document }, { position, now }) => {
    const known = Object.values(state.relations).filter((one) => document !== undefined && one.document === document)
    const ids = [...new Set([...(relation ? [relation.id] : []), ...known.map(({ id }) => id)])]
    const passed = ids.filter((id) => isOvertaken(state, `relation/${id}`, position))
    const broken = ids.filter((id) => !passed.includes(id))
    if (passed.length > 0 && broken.length === 0)
      return { state, stale: `relation ${passed[0]} has moved on since this event` }
    const relations = Object.entries(state.relations).filter(([id]) => !broken.includes(Number(id)))
    const ended = broken.reduce((before, id) => accept(before, `relation/${id}`, position, now.toISOString()), state)
    return { state: { ...ended, relations: Object.fromEntries(relations) } }
  },
})
