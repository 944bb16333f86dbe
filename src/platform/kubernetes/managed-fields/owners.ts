import { equal, type JsonMap, listOf, mapOf } from '../../base/json.ts'
import { difference, type FieldSet, unionFields, withoutFields } from './field-set.ts'
import type { StoredObject } from './object.ts'
import type { Shape } from './shape.ts'

/** The facts of a kind that ownership depends on. */
export type Applicable = {
  readonly shape: Shape
  /** The fields of an empty object. A client that first fills them does not own them. */
  readonly zero: JsonMap
  /** Status is not written through the object itself. */
  readonly status: boolean
  /** A custom resource keeps nulls. */
  readonly custom: boolean
}

/** A writer: managedFields has one entry for each manager, operation, apiVersion and subresource. */
export type Writer = {
  readonly manager: string
  readonly operation: 'Apply' | 'Update'
  readonly apiVersion: string
  readonly subresource?: string
}

export type Owner = Writer & { readonly time?: string; readonly fields: FieldSet }

const systemFields = [
  'name',
  'namespace',
  'creationTimestamp',
  'selfLink',
  'uid',
  'generation',
  'managedFields',
  'resourceVersion',
]

/** The tracked part of an object, as the main resource or a subresource writes it. */
export const tracked = (object: JsonMap, kind: Applicable, subresource: string | undefined): JsonMap => {
  const { apiVersion: _, kind: __, metadata, status, ...others } = object
  if (subresource === 'status') return { status: status ?? kind.zero.status }
  const kept: JsonMap = { ...mapOf(metadata) }
  for (const field of systemFields) delete kept[field]
  const rest = kind.status || status === undefined ? others : { ...others, status }
  return { ...rest, metadata: kept }
}

export const ownersOf = (object: StoredObject | undefined): Owner[] =>
  listOf(object?.metadata.managedFields).map((entry) => {
    const { fieldsV1, fieldsType: _, ...owner } = mapOf(entry)
    return { ...owner, fields: mapOf(fieldsV1) } as unknown as Owner
  })

const order = (owner: Owner): string =>
  [owner.operation, owner.time ?? '', owner.manager, owner.apiVersion, owner.subresource ?? ''].join('\0')

const entry = ({ manager, operation, apiVersion, time, fields, subresource }: Owner): JsonMap => ({
  manager,
  operation,
  apiVersion,
  ...(time === undefined ? {} : { time }),
  fieldsType: 'FieldsV1',
  fieldsV1: fields,
  ...(subresource === undefined ? {} : { subresource }),
})

/** The object with these owners, in the API server's order. */
export const withOwners = <T extends JsonMap>(object: T, owners: readonly Owner[]): T => {
  const { managedFields: _, ...metadata } = mapOf(object.metadata)
  const sorted = owners.length < 2 ? owners : owners.toSorted((a, b) => (order(a) < order(b) ? -1 : 1))
  const listed = owners.length === 0 ? metadata : { ...metadata, managedFields: sorted.map(entry) }
  return { ...object, metadata: listed }
}

/** An applier stays the same when it applies another version; an updater does not. */
export const isWriter = (owner: Owner, { manager, operation, apiVersion, subresource }: Writer): boolean =>
  owner.manager === manager &&
  owner.operation === operation &&
  owner.subresource === subresource &&
  (operation === 'Apply' || owner.apiVersion === apiVersion)

/** Both own the same fields, whenever they were written. */
export const sameOwners = (some: readonly Owner[], others: readonly Owner[]): boolean =>
  some.length === others.length &&
  some.every((owner) => others.some((other) => isWriter(other, owner) && equal(other.fields, owner.fields)))

/** The owners after others wrote or removed fields; an owner without fields is dropped. */
export const loseFields = (owners: readonly Owner[], ...lost: (FieldSet | undefined)[]): Owner[] =>
  owners.flatMap((owner) => {
    const fields = lost.reduce<FieldSet | undefined>(
      (left, gone) => (gone ? withoutFields(left, gone) : left),
      owner.fields,
    )
    return fields === undefined ? [] : [fields === owner.fields ? owner : { ...owner, fields }]
  })

/**
 * Ownership after an update: added and changed fields belong to the writer alone, removed ones to nobody. See
 * https://kubernetes.io/docs/reference/using-api/server-side-apply/#field-management
 */
export const ownersAfterUpdate = (
  { before, after, kind }: { before: JsonMap; after: JsonMap; kind: Applicable },
  owners: readonly Owner[],
  { writer, time }: { writer: Writer; time: string },
): Owner[] => {
  const old = tracked(before, kind, writer.subresource)
  const next = tracked(after, kind, writer.subresource)
  const written = difference(old, next, kind.shape, true)
  const removed = difference(next, old, kind.shape, false)
  const left = written || removed ? loseFields(owners, written, removed) : [...owners]
  if (written === undefined) return left
  const own = left.find((owner) => isWriter(owner, writer))
  const fields = unionFields(own?.fields, written) ?? {}
  return [...left.filter((owner) => owner !== own), { ...writer, time, fields }]
}
