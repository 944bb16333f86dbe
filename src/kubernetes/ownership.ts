import type { KubernetesObject, ManagedFields } from './objects.ts'

/** A place in an object, as field names from its root. */
export type FieldPath = readonly string[]

/** The keys of the map at `path` that `manager` holds through server-side apply. */
export const ownedKeys = (object: KubernetesObject, manager: string, path: FieldPath): string[] =>
  entriesOf(object)
    .filter((entry) => entry.manager === manager && entry.operation === 'Apply')
    .flatMap((entry) => keysAt(entry, path))

/** The managers besides `manager` that hold `key` in the map at `path`, through whichever operation. */
export const otherHolders = (object: KubernetesObject, manager: string, path: FieldPath, key: string): string[] =>
  entriesOf(object)
    .filter((entry) => entry.manager !== manager && keysAt(entry, path).includes(key))
    .map((entry) => entry.manager)

/** Who applied something to this object, by field manager. */
export const appliers = (object: KubernetesObject): string[] =>
  entriesOf(object)
    .filter(({ operation }) => operation === 'Apply')
    .map(({ manager }) => manager)

const entriesOf = (object: KubernetesObject): ManagedFields[] =>
  (object.metadata.managedFields ?? []).filter(({ subresource }) => subresource === undefined)

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
 * field manager's name goes from the object too. The uid keeps the apply from making an object that is gone.
 */
export const withStringsAt = (
  { apiVersion, kind, metadata }: KubernetesObject,
  path: FieldPath,
  strings: Readonly<Record<string, string>>,
): KubernetesObject => {
  const { name, namespace, uid } = metadata
  const identity = { name, ...(namespace && { namespace }), ...(uid && { uid }) }
  const object: KubernetesObject = { apiVersion, kind, metadata: identity }
  if (Object.keys(strings).length === 0) return object
  let value: unknown = strings
  for (const field of path.toReversed()) value = { [field]: value }
  const { metadata: nested, ...others } = value as Partial<KubernetesObject>
  return { ...object, ...others, metadata: { ...nested, ...identity } }
}
