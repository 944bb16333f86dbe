import { ObjectName } from '../src/config.ts'
import { defineFunction } from '../src/define-function.ts'
import { accept, isStale } from '../src/order.ts'
import { RelationIdentity, Remote } from '../src/state.ts'

/** The remote side of a relation changed its databags: they are remembered as they are now. */
export const relationChanged = defineFunction({
  name: 'relation-changed',
  data: { relation: RelationIdentity, remote: Remote, document: ObjectName.optional() },
  fold: (state, { relation, remote, document }, { position, now }) => {
    const about = [`relation/${relation.id}`, ...(document === undefined ? [] : [`document/${document}`])]
    if (about.some((name) => isStale(state, name, position)))
      return { state, stale: `relation ${relation.id} has moved on since this event` }
    // a document that names another relation than before has given the former one up
    const former = Object.values(state.relations)
      .filter((known) => document !== undefined && known.document === document && known.id !== relation.id)
      .map(({ id }) => id)
    const ended = former.reduce((before, id) => accept(before, `relation/${id}`, position, now.toISOString()), state)
    const others = Object.entries(state.relations).filter(([id]) => !former.includes(Number(id)))
    const changed = { ...relation, remote, ...(document !== undefined && { document }) }
    const relations = { ...Object.fromEntries(others), [relation.id]: changed }
    return { state: about.reduce((before, name) => accept(before, name, position), { ...ended, relations }) }
  },
})
