import { identityOf, type KubernetesObject, type ManagedFields } from './objects.ts'

/** A place in an object, as field names from its root. */
export type FieldPath = readonly string[]

/** Who holds the members of a map, by their key. */
export type FieldManagers = {
  /** Those that one manager holds through server-side apply. */
  readonly own: ReadonlySet<string>
  /** The managers that hold a member besides, through whichever operation. */
  readonly others: ReadonlyMap<string, readonly string[]>
}

/** Reads `metadata.managedFields` for the map at `path`, seen by `manager`. */
export const fieldManagersAt = ({ metadata }: KubernetesObject, path: FieldPath, manager: string): FieldManagers => {
  const own = new Set<string>()
  const others = new Map<string, string[]>()
  for (const entry of metadata.managedFields ?? [])
    for (const key of keysAt(entry, path)) {
      if (entry.manager === manager && isApplied(entry)) own.add(key)
      else others.set(key, [...(others.get(key) ?? []), entry.manager])
    }
  return { own, others }
}

const isApplied = ({ operation, subresource }: ManagedFields): boolean =>
  operation === 'Apply' && subresource === undefined

/** Who applied something to this object, by field manager. */
export const listAppliers = ({ metadata }: KubernetesObject): string[] =>
  (metadata.managedFields ?? []).filter(isApplied).map(({ manager }) => manager)

/** fieldsV1 nests `f:` names; `.` stands for the map itself. */
const keysAt = ({ fieldsV1 }: ManagedFields, path: FieldPath): string[] => {
  let fields: Record<string, unknown> = fieldsV1 ?? {}
  for (const name of path) fields = (fields[`f:${name}`] ?? {}) as Record<string, unknown>
  return Object.keys(fields)
    .filter((name) => name.startsWith('f:'))
    .map((name) => name.slice(2))
}

/** The map of strings at `path`, empty where there is none. */
export const stringsAt = (object: KubernetesObject, path: FieldPath): Record<string, string> => {
  let value: unknown = object
  for (const name of path) value = (value as Record<string, unknown> | undefined)?.[name]
  return (value ?? {}) as Record<string, string>
}

/**
 * An object that says nothing but the map at `path`: what a server-side apply of that map sends. An empty map is left out, so that the
 * field manager's name goes from the object too. The uid keeps the apply from making an object that is gone, and the resourceVersion from
 * changing one that has changed since it was seen.
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
