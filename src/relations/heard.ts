import { type Databag, type Relation, relationName, type State } from '../state.ts'
import { payload } from './payload.ts'
import { type Interface, SUPPORTED, type Versions, versionsOf } from './versions.ts'

/** What the remote side of a relation says, in the flat keys of its interface; or why that cannot be told. */
export type Said = { data: Databag } | { incompatible: string } | { unreadable: string }

/**
 * What the remote application published itself goes before what others say of it. But whoever never asked for policies itself leaves
 * that to others: something else may run it, and ask for it.
 */
export const saidIn = ({ interface: name, remote, published }: Relation, versions: Versions = {}): Said => {
  const data = { ...remote.data, ...published?.data }
  const said = isVersioned(name) ? payload(data, versionsOf(name, versions)) : { data }
  if (!('data' in said) || !published || published.asked || !Object.hasOwn(remote.data, 'policies')) return said
  return { data: { ...said.data, policies: remote.data.policies } }
}

/** Whether an application databag asks for policies. */
export const asks = ({ policies = [] }: Databag): boolean =>
  policies !== '[]' && !(Array.isArray(policies) && policies.length === 0)

export const isVersioned = (name: string): name is Interface => Object.hasOwn(SUPPORTED, name)

/**
 * A memory whose relations say what is to be gone by, and what is wrong with the others: a sentence each. Of those that are `unheard`
 * nothing is known, not even what was said before.
 */
export type Heard = { state: State; blocked: string[]; problems: string[]; unheard: Relation[] }

/** Where the two sides have no version in common, or nothing can be read, what was said last holds on. */
export const heard = (state: State): Heard => {
  const entries = Object.entries(state.relations).map(([key, relation]) => {
    const said = saidIn(relation, state.config?.versions)
    const data = 'data' in said ? said.data : (relation.kept ?? {})
    const units = relation.published?.units ?? relation.remote.units
    return { key, relation: { ...relation, remote: { ...relation.remote, data, ...(units && { units }) } }, said }
  })
  const named = entries.map(({ relation, said }) => ({ name: relationName(relation), said, relation }))
  return {
    state: { ...state, relations: Object.fromEntries(entries.map(({ key, relation }) => [key, relation])) },
    blocked: named.flatMap(({ name, said, relation }) =>
      'incompatible' in said
        ? [`${name}: ${relation.interface}: ${said.incompatible}; what was said before holds`]
        : [],
    ),
    problems: named.flatMap(({ name, said, relation }) =>
      'unreadable' in said && relation.interface !== 'k8s-service'
        ? [`${name}: ${said.unreadable}; what was said before holds`]
        : [],
    ),
    unheard: named.flatMap(({ said, relation }) => ('data' in said || relation.kept ? [] : [relation])),
  }
}
