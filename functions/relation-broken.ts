import * as z from 'zod'
import { Application, Namespace, ObjectName } from '../src/config.ts'
import { defineFunction } from '../src/define-function.ts'
import { Refused } from '../src/errors.ts'
import { accept, isOvertaken } from '../src/order.ts'
import { isFrom } from '../src/publications.ts'
import { RelationIdentity, relationKey, type State } from '../src/state.ts'

/** A relation is named by its id, and by the document it is kept in: what that says may have become unreadable. */
const BrokenRelation = z.strictObject({ ...RelationIdentity.partial().shape, id: RelationIdentity.shape.id })

/** Whose side is gone: each namespace counts its own relations. */
const BrokenRemote = z.strictObject({ application: Application.optional(), namespace: Namespace.optional() })

/** A relation is gone: it is forgotten, but for a tombstone that keeps late events from bringing it back. */
export const relationBroken = defineFunction({
  name: 'relation-broken',
  data: { relation: BrokenRelation.optional(), remote: BrokenRemote.optional(), document: ObjectName.optional() },
  fold: (state, { relation, remote, document }, arrival) => {
    const { position, now, namespace } = arrival
    if (!relation && document === undefined) throw new Refused(400, 'data.relation: expected the id of the relation')
    const named = relation && keyOf(state, relation.id, namespace, remote?.namespace)
    const keys = relationsOf(state, named, document)
    const passed = keys.filter((key) => isOvertaken(state, `relation/${key}`, position))
    const broken = keys.filter((key) => !passed.includes(key))
    if (passed.length > 0 && broken.length === 0)
      return { state, stale: `relation ${relation?.id ?? passed[0]} has moved on since this event` }
    const relations = Object.entries(state.relations).filter(([key]) => !broken.includes(key))
    const about = [
      ...broken.map((key) => `relation/${key}`),
      ...(document === undefined ? [] : [`document/${document}`]),
    ]
    const left = isFrom(arrival, remote ?? {}) ? withoutPublished(state, broken) : state
    return {
      state: about.reduce((before, name) => accept(before, name, position, now.toISOString()), {
        ...left,
        relations: Object.fromEntries(relations),
      }),
    }
  },
})

/** Of a relation with another namespace the id is enough, where there is no other with it. */
const keyOf = ({ relations }: State, id: number, namespace: string, remoteNamespace: string | undefined): string => {
  const key = relationKey(namespace, id, remoteNamespace)
  if (remoteNamespace !== undefined || Object.hasOwn(relations, key)) return key
  const others = Object.keys(relations).filter((other) => other.endsWith(`/${id}`))
  if (others.length > 1)
    throw new Refused(400, `data.remote.namespace: expected one, as there are relations ${others.join(', ')}`)
  return others[0] ?? key
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
