import { type Relation, type RelationIdentity, relationsIn } from '../state/relation.ts'

/** The interfaces of the mesh itself. No requests between applications follow from their relations. */
export const OF_MESH: readonly string[] = ['service_mesh', 'cross_model_mesh']

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
