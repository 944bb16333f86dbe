import { shown } from '../mesh/problem.ts'
import type { Databag, Relation, State } from '../state.ts'

type Wanted = Partial<Pick<Relation, 'role' | 'endpoint' | 'interface'>>

/** The relations that are as `wanted`, each with its key in the memory, by id: an order that no event order can change. */
export const relationsWith = (relations: State['relations'], wanted: Wanted): (Relation & { key: string })[] =>
  Object.entries(relations)
    .map(([key, relation]) => ({ ...relation, key }))
    .filter((relation) => wanted.role === undefined || relation.role === wanted.role)
    .filter((relation) => wanted.endpoint === undefined || relation.endpoint === wanted.endpoint)
    .filter((relation) => wanted.interface === undefined || relation.interface === wanted.interface)
    .toSorted((one, other) => one.id - other.id || (one.key < other.key ? -1 : 1))

/** `relation 7 (cluster)`: how messages name it. */
export const nameOf = ({ id, endpoint }: Relation): string => `relation ${id} (${endpoint})`

/** A unit's name as messages show it: it comes from outside. */
export const titleOf = (unit: string): string => (/^[-\w/]{1,80}$/.test(unit) ? unit : shown(unit))

/** The remote units and their databags, in the order of their numbers. */
export const unitsOf = ({ remote }: Relation): [unit: string, databag: Databag][] =>
  Object.entries(remote.units ?? {}).toSorted(([one], [other]) => compareUnits(one, other))

/** `worker/2` before `worker/10`. */
export const compareUnits = (one: string, other: string): number => (orderOf(one) < orderOf(other) ? -1 : 1)

const orderOf = (unit: string): string => {
  const slash = unit.lastIndexOf('/') + 1
  const number = unit.slice(slash)
  return /^\d{1,15}$/.test(number) ? `${unit.slice(0, slash)}${number.padStart(15, '0')} ${unit}` : unit
}
