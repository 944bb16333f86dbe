import type { Json } from '../../base/json.ts'

export type Scalar =
  | 'string'
  | 'int32'
  | 'int64'
  | 'bool'
  | 'quantity'
  | 'int-or-string'
  | 'time'
  | 'micro-time'
  | 'byte'

/**
 * The API server's schema of a value: type, declared fields, and the merge keys of server-side apply and strategic merge patch. A list without keys and set is replaced as a whole. See
 * https://kubernetes.io/docs/reference/using-api/server-side-apply/#merge-strategy
 */
export type Shape = {
  readonly type: Scalar | 'struct' | 'map' | 'list' | 'any'
  /** Go's name of a struct, without its package. */
  readonly name?: string
  /** The keys that identify the list's items, with their defaults; the first is the patch merge key. */
  readonly keys?: Readonly<Record<string, Json>>
  /** The list is a set of scalars. */
  readonly set?: true
  /** The map is owned and replaced as a whole. */
  readonly atomic?: true
  /** The declared fields of a struct, read on demand. */
  readonly fields?: () => Readonly<Record<string, Shape>>
  /** The members of a map. */
  readonly values?: Shape
  readonly items?: Shape
  /** Go leaves the field out where it is the zero of its type: neither a pointer nor required. */
  readonly omitsZero?: true
  /** The default of a field of a custom resource. */
  readonly default?: Json
}

/** The shape of a map's member; undefined where it is not declared. Keys come from outside: one named constructor is not special. */
export const fieldOf = (shape: Shape | undefined, key: string): Shape | undefined => {
  const fields = shape?.fields?.()
  return fields !== undefined && Object.hasOwn(fields, key) ? fields[key] : shape?.values
}
