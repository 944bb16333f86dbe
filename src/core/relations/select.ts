import { type Relation, type RelationIdentity, relationsIn } from '../state/relation.ts'

type Wanted = Partial<Pick<Relation, 'role' | 'endpoint' | 'interface'>>

/** Selects relations by interface, role and endpoint, with their keys. Sorted by id, so independent of the order of events. */
export const relationsWith = <R extends RelationIdentity>(
  relations: Readonly<Record<string, R>>,
  wanted: Wanted,
): (R & { key: string })[] =>
  relationsIn({ relations }, (relation) =>
    FIELDS.every((field) => wanted[field] === undefined || relation[field] === wanted[field]),
  )

const FIELDS = ['role', 'endpoint', 'interface'] as const
