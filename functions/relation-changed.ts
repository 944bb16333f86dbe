import { ObjectName } from '../src/config.ts'
import { type Arrival, defineFunction } from '../src/define-function.ts'
import { accept, isGoneForOthers, isStale } from '../src/order.ts'
import { contentHash, isFrom } from '../src/publications.ts'
import { asks } from '../src/relations/heard.ts'
import { withKept } from '../src/relations/kept.ts'
import { isSameRemote, publishedKey, relationKey } from '../src/relations/key.ts'
import { type Relation, RelationIdentity, Remote, type State } from '../src/state.ts'

/** The remote side of a relation changed its databags: they are remembered as they are now. */
export const relationChanged = defineFunction({
  name: 'relation-changed',
  data: { relation: RelationIdentity, remote: Remote, document: ObjectName.optional() },
  fold: (state, { relation, remote: { heard, ...remote }, document }, arrival) => {
    const { position, namespace } = arrival
    const isPublished = isFrom(arrival, remote)
    const key = relationKey(namespace, state, relation, { remote, isPublished })
    const known = state.relations[key]
    const about = [`relation/${key}`, ...(document === undefined ? [] : [`document/${document}`])]
    const isLate = isPublished && !known && isGoneForOthers(state, `relation/${key}`, position.source)
    if (isLate || about.some((name) => isStale(state, name, position)))
      return { state, stale: `relation ${relation.id} has moved on since this event` }
    const told = { ...relation, remote, ...(document !== undefined && { document }) }
    const changed = isPublished ? spoken(known, told) : described(known, told, namespace)
    const before = isPublished ? heardBack(state, key, heard) : redirected(state, key, remote, namespace)
    const left = withoutFormer(before, key, document, arrival)
    const relations = { ...left.relations, [key]: withKept(known, changed, state.config?.versions) }
    return { state: about.reduce((next, name) => accept(next, name, position), { ...left, relations }) }
  },
})

/** What somebody else says of the relation, a platform or a document, leaves what the remote application published itself. */
const described = (known: Relation | undefined, told: Relation, namespace: string): Relation => {
  const isSame = known !== undefined && isSameRemote(namespace, known.remote, told.remote)
  const document = told.document ?? known?.document
  return {
    ...told,
    ...(document !== undefined && { document }),
    ...(isSame && known.published && { published: known.published }),
  }
}

/** What the remote application published itself; it makes the relation where nobody else did. */
const spoken = (known: Relation | undefined, { remote: { data, units, ...remote }, ...told }: Relation): Relation => {
  const asked = known?.published?.asked || asks(data)
  const published = {
    data,
    ...(units && { units }),
    hash: contentHash({ data, units }),
    ...(asked && { asked: true as const }),
  }
  return { ...(known ?? { ...told, remote: { ...remote, data: {} } }), published }
}

/** What was published to another application than the relation is with now: it is over for that one. */
const redirected = (state: State, key: string, remote: Relation['remote'], namespace: string): State => {
  const { [key]: before, ...others } = state.published ?? {}
  if (before === undefined || isSameRemote(namespace, before.to, remote)) return state
  return { ...state, published: { ...others, [publishedKey(namespace, before, before.to)]: before } }
}

/** What the remote application has not heard, as it lost its memory or refused it, is published again. */
const heardBack = (state: State, key: string, heard: string | undefined): State => {
  const before = state.published?.[key]
  if (before === undefined || before.hash === heard) return state
  const { hash: _, ...again } = before
  return { ...state, published: { ...state.published, [key]: again } }
}

/** A document that names another relation than before has given the former one up. */
const withoutFormer = (state: State, key: string, document: string | undefined, { position, now }: Arrival): State => {
  const isFormer = ([other, known]: [string, Relation]) =>
    document !== undefined && known.document === document && other !== key
  const entries = Object.entries(state.relations)
  const left = { ...state, relations: Object.fromEntries(entries.filter((entry) => !isFormer(entry))) }
  return entries
    .filter(isFormer)
    .reduce((before, [former]) => accept(before, `relation/${former}`, position, now.toISOString()), left as State)
}
