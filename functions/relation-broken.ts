import * as z from 'zod'
import { ObjectName } from '../src/config.ts'
import { defineFunction } from '../src/define-function.ts'
import { Refused } from '../src/errors.ts'
import { accept, isOvertaken } from '../src/order.ts'
import { RelationIdentity, type State } from '../src/state.ts'

/** A relation is named by its id, and by the document it is kept in: what that says may have become unreadable. */
const BrokenRelation = z.strictObject({ ...RelationIdentity.partial().shape, id: RelationIdentity.shape.id })

/** A relation is gone: it is forgotten, but for a tombstone that keeps late events from bringing it back. */
export const relationBroken = defineFunction({
  name: 'relation-broken',
  data: { relation: BrokenRelation.optional(), document: ObjectName.optional() },
  fold: (state, { relation, document }, { position, now }) => {
    if (!relation && document === undefined) throw new Refused(400, 'data.relation: expected the id of the relation')
    const ids = relationsOf(state, relation?.id, document)
    const passed = ids.filter((id) => isOvertaken(state, `relation/${id}`, position))
    const broken = ids.filter((id) => !passed.includes(id))
    if (passed.length > 0 && broken.length === 0)
      return { state, stale: `relation ${passed[0]} has moved on since this event` }
    const relations = Object.entries(state.relations).filter(([id]) => !broken.includes(Number(id)))
    const about = [...broken.map((id) => `relation/${id}`), ...(document === undefined ? [] : [`document/${document}`])]
    const left: State = { ...state, relations: Object.fromEntries(relations) }
    return { state: about.reduce((before, name) => accept(before, name, position, now.toISOString()), left) }
  },
})

/** The relations that go: the one named, unless another document holds it by now, and what the document holds. */
const relationsOf = ({ relations }: State, named: number | undefined, document: string | undefined): number[] => {
  const holder = named === undefined ? undefined : relations[named]?.document
  const isOurs = document === undefined || holder === undefined || holder === document
  const kept = Object.values(relations).filter((known) => document !== undefined && known.document === document)
  return [...new Set([...(named !== undefined && isOurs ? [named] : []), ...kept.map(({ id }) => id)])]
}
