import { type Relation, relationsIn } from '../state/relation.ts'
import type { EffectiveState } from '../state/state.ts'

type Wanted = Partial<Pick<Relation, 'role' | 'endpoint' | 'interface'>>

/** Selects relations by interface and role, with their keys, by id: independent of the order of events. */
export const relationsWith = (relations: EffectiveState['relations'], wanted: Wanted): (Relation & { key: string })[] =>
  relationsIn({ relations }, (relation) =>
    FIELDS.every((field) => wanted[field] === undefined || relation[field] === wanted[field]),
  )

const FIELDS = ['role', 'endpoint', 'interface'] as const
