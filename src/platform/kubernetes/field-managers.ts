import { identityOf, type KubernetesObject, type ManagedFields } from './objects.ts'

/** A path of field names from the object's root. */
export type FieldPath = readonly string[]

/** The field managers of a map's keys. */
export type FieldManagers = {
  /** Keys that the given manager holds through server-side apply. */
  readonly own: ReadonlySet<string>
  /** Other managers of each key, through any operation. */
  readonly others: ReadonlyMap<string, readonly string[]>
}

/** Reads `metadata.managedFields` for the map at `path`, relative to `manager`. */
export const fieldManagersAt = ({ metadata }: KubernetesObject, path: FieldPath, manager: string): FieldManagers => {
  const own = new Set<string>()
  const others = new Map<string, string[]>()
  for (const entry of metadata.managedFields ?? [])
    for (const key of keysAt(entry, path)) {
      if (entry.manager === manager && isApply(entry)) own.add(key)
      else others.set(key, [...(others.get(key) ?? []), entry.manager])
    }
  return { own, others }
}

/** Tells if the entry is of a server-side apply of the object itself. */
export const isApply = ({ operation, subresource }: ManagedFields): boolean =>
  operation === 'Apply' && subresource === undefined

/** Lists the field managers with a server-side apply on the object. */
export const listAppliers = ({ metadata }: KubernetesObject): string[] =>
  (metadata.managedFields ?? []).filter(isApply).map(({ manager }) => manager)

/** Tells if any of the field managers wrote a part of the object. */
export const isManagedBy = ({ metadata }: KubernetesObject, managers: readonly string[]): boolean =>
  (metadata.managedFields ?? []).some(({ manager }) => managers.includes(manager))

/** Lists the keys at a path. fieldsV1 nests names with `f:`, and `.` is the map itself. */
const keysAt = ({ fieldsV1 }: ManagedFields, path: FieldPath): string[] => {
  let fields = fieldsV1 ?? {}
  for (const name of path) fields = fields[`f:${name}`] ?? {}
  return Object.keys(fields)
    .filter((name) => name.startsWith('f:'))
    .map((name) => name.slice(2))
}

/** Reads the map of strings at `path`, or an empty one. */
export const stringsAt = (object: KubernetesObject, path: FieldPath): Record<string, string> => {
  let value: unknown = object
  for (const name of path) value = (value as Record<string, unknown> | undefined)?.[name]
  return (value ?? {}) as Record<string, string>
}

/**
 * Builds a server-side apply of only the map at `path`. An empty map is left out, so that the field manager disappears too. The uid prevents recreation of
 * a deleted object, and the resourceVersion an overwrite of a changed one.
 */
export const withStringsAt = (
  seen: KubernetesObject,
  path: FieldPath,
  strings: Readonly<Record<string, string>>,
): KubernetesObject => {
  const { apiVersion, kind } = seen
  const identity = identityOf(seen)
  const object: KubernetesObject = { apiVersion, kind, metadata: identity }
  if (Object.keys(strings).length === 0) return object
  let value: unknown = strings
  for (const field of path.toReversed()) value = { [field]: value }
  const { metadata: nested, ...others } = value as Partial<KubernetesObject>
  return { ...object, ...others, metadata: { ...nested, ...identity } }
}
