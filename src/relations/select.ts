import { type Relation, relationsIn } from '../state/relation.ts'
import type { EffectiveState } from '../state/state.ts'

type Wanted = Partial<Pick<Relation, 'role' | 'endpoint' | 'interface'>>

/** The relations that are as `wanted`, each with its key in the memory, by id: an order that no event order can change. */
export const relationsWith = (relations: EffectiveState['relations'], wanted: Wanted): (Relation & { key: string })[] =>
  relationsIn({ relations })
    .filter((relation) => wanted.role === undefined || relation.role === wanted.role)
    .filter((relation) => wanted.endpoint === undefined || relation.endpoint === wanted.endpoint)
    .filter((relation) => wanted.interface === undefined || relation.interface === wanted.interface)
