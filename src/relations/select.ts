import { type Relation, relationsIn } from '../state/relation.ts'
import type { EffectiveState } from '../state/state.ts'

type Wanted = Partial<Pick<Relation, 'role' | 'endpoint' | 'interface'>>

/** Selects relations by interface and role, with their keys, by id: independent of the order of events. */
export const relationsWith = (relations: EffectiveState['relations'], wanted: Wanted): (Relation & { key: string })[] =>
  relationsIn({ relations })
    .filter((relation) => wanted.role === undefined || relation.role === wanted.role)
    .filter((relation) => wanted.endpoint === undefined || relation.endpoint === wanted.endpoint)
    .filter((relation) => wanted.interface === undefined || relation.interface === wanted.interface)
