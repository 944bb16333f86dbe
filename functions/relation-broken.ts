import * as z from 'zod'
import { Application, Namespace, ObjectName } from '../src/config.ts'
import { type Arrival, defineFunction } from '../src/define-function.ts'
import { Refused } from '../src/errors.ts'
import { accept, isOvertaken } from '../src/order.ts'
import { isFrom } from '../src/publications.ts'
import { publishedKey, relationKey } from '../src/relations/key.ts'
import { RelationIdentity, type State } from '../src/state.ts'

/** A relation is named by its id, and by the document it is kept in: what that says may have become unreadable. */
const BrokenRelation = z.strictObject({ ...RelationIdentity.partial().shape, id: RelationIdentity.shape.id })

/** With whom the relation was, where its id is not enough. */
const BrokenRemote = z.strictObject({ application: Application, namespace: Namespace.optional() })

/** A relation is gone: it is forgotten, but for a tombstone that keeps late events from bringing it back. */
export const relationBroken = defineFunction({
  name: 'relation-broken',
  data: { relation: BrokenRelation.optional(), remote: BrokenRemote.optional(), document: ObjectName.optional() },
  fold: (state, { relation, remote, document }, arrival) => {
    const { position, now } = arrival
    if (!relation && document === undefined) throw new Refused(400, 'data.relation: expected the id of the relation')
    const named = relation && keyOf(state, relation, remote, arrival)
    const keys = relationsOf(state, named, document)
    const passed = keys.filter((key) => isOvertaken(state, `relation/${key}`, position))
    const broken = keys.filter((key) => !passed.includes(key))
    if (passed.length > 0 && broken.length === 0)
      return { state, stale: `relation ${relation?.id ?? passed[0]} has moved on since this event` }
    const relations = Object.entries(state.relations).filter(([key]) => !broken.includes(key))
    const about = [
      ...new Set(broken.flatMap((key) => namesOf(state, key, arrival.namespace))),
      ...(document === undefined ? [] : [`document/${document}`]),
    ]
    const left = remote && isFrom(arrival, remote) ? withoutPublished(state, broken) : state
    return {
      state: about.reduce((before, name) => accept(before, name, position, now.toISOString()), {
        ...left,
        relations: Object.fromEntries(relations),
      }),
    }
  },
})

type Named = z.infer<typeof BrokenRelation>
type Remote = z.infer<typeof BrokenRemote>

/** The id is enough where there is no other relation with it. */
const keyOf = (state: State, relation: Named, remote: Remote | undefined, arrival: Arrival): string => {
  if (remote) return relationKey(arrival.namespace, state, relation, { remote, isPublished: isFrom(arrival, remote) })
  const key = String(relation.id)
  const [numbered = key, ...others] = Object.keys(state.relations).filter(
    (other) => state.relations[other]?.id === relation.id,
  )
  if (Object.hasOwn(state.relations, key)) return key
  if (others.length === 0) return numbered
  const names = [numbered, ...others].slice(0, 5).join(', ')
  throw new Refused(400, `data.remote: expected one, as relation ${key} may be ${names}`)
}

/** A late event may call the relation by any of its names. */
const namesOf = ({ relations }: State, key: string, namespace: string): string[] => {
  const known = relations[key]
  const names = known ? [key, String(known.id), publishedKey(namespace, known, known.remote)] : [key]
  return names.map((name) => `relation/${name}`)
}

/** The remote application has ended the relation itself: it need not be told. */
const withoutPublished = (state: State, keys: readonly string[]): State => {
  const { published, ...others } = state
  const left = Object.entries(published ?? {}).filter(([key]) => !keys.includes(key))
  return left.length === 0 ? others : { ...others, published: Object.fromEntries(left) }
}

/** The relations that go: the one named, unless another document holds it by now, and what the document holds. */
const relationsOf = ({ relations }: State, named: string | undefined, document: string | undefined): string[] => {
  const holder = named === undefined ? undefined : relations[named]?.document
  const isOurs = document === undefined || holder === undefined || holder === document
  const kept = Object.entries(relations).filter(([, known]) => document !== undefined && known.document === document)
  return [...new Set([...(named !== undefined && isOurs ? [named] : []), ...kept.map(([key]) => key)])]
}
