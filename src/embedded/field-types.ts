import { isMap, type Json, listOf, mapOf } from './json.ts'

/** What a field of a built-in kind may hold, by its Go type. Members that a struct does not list may hold anything. */
export type FieldType =
  | 'string'
  | 'int32'
  | 'int64'
  | 'bool'
  | { readonly values: FieldType }
  | { readonly items: FieldType }
  | { readonly struct: string; readonly members: Readonly<Record<string, FieldType>> }

/** A value of another type than its field has: where it is, in Go's words and in those of a typed patch. */
export type WrongType = {
  readonly path: string
  readonly value: Json
  readonly error: string
  readonly expected: string
}

/** `path` is where a value is; `field` is the same without what tells items and members of maps apart. */
type Place = { readonly struct: string; readonly field: string; readonly path: string }

const INT32 = 2 ** 31

const holds = (value: Json, type: FieldType): boolean => {
  if (type === 'string') return typeof value === 'string'
  if (type === 'bool') return typeof value === 'boolean'
  if (type === 'int64') return Number.isInteger(value)
  if (type === 'int32') return Number.isInteger(value) && Number(value) >= -INT32 && Number(value) < INT32
  return 'items' in type ? Array.isArray(value) : isMap(value)
}

export const goType = (value: Json): string => {
  if (value === null) return 'null'
  if (Array.isArray(value)) return 'array'
  return typeof value === 'boolean' ? 'bool' : typeof value
}

const goName = (type: FieldType): string => {
  if (typeof type === 'string') return type
  if ('values' in type) return `map[string]${goName(type.values)}`
  return 'items' in type ? `[]${goName(type.items)}` : `v1.${type.struct}`
}

const expectedOf = (type: FieldType): string => {
  if (type === 'string') return 'string'
  if (type === 'bool') return 'boolean'
  if (typeof type === 'string') return 'numeric (int or float)'
  return 'items' in type ? 'list' : 'map'
}

type Inner = { readonly value: Json | undefined; readonly type: FieldType; readonly place: Place }

const innerOf = (value: Json, type: FieldType, place: Place): Inner[] => {
  if (typeof type === 'string') return []
  if ('items' in type) {
    const at = (index: number): Place => ({ ...place, path: `${place.path}[${index}]` })
    return listOf(value).map((item, index) => ({ value: item, type: type.items, place: at(index) }))
  }
  const map = mapOf(value)
  const at = (key: string): Place => ({ ...place, path: `${place.path}.${key}` })
  if ('values' in type)
    return Object.entries(map).map(([key, member]) => ({ value: member, type: type.values, place: at(key) }))
  return Object.entries(type.members).map(([key, inner]) => ({
    value: Object.hasOwn(map, key) ? map[key] : undefined,
    type: inner,
    place: { struct: type.struct, field: `${place.field}.${key}`, path: at(key).path },
  }))
}

/** The first value that its field cannot hold; null and nothing are no value, which every field can hold. */
export const wrongIn = (
  value: Json | undefined,
  type: FieldType,
  place: Place = { struct: '', field: '', path: '' },
): WrongType | undefined => {
  if (value === undefined || value === null) return undefined
  if (!holds(value, type)) {
    // Go quotes a number that a number's type cannot hold
    const isNumber = typeof value === 'number' && typeof type === 'string' && type.startsWith('int')
    const sent = isNumber ? `number ${value}` : goType(value)
    const error = `json: cannot unmarshal ${sent} into Go struct field ${place.struct}${place.field} of type ${goName(type)}`
    return { path: place.path, value, error, expected: expectedOf(type) }
  }
  for (const inner of innerOf(value, type, place)) {
    const wrong = wrongIn(inner.value, inner.type, inner.place)
    if (wrong) return wrong
  }
  return undefined
}
