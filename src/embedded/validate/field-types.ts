import { isMap, type Json, type JsonMap, listOf, mapMembers, mapOf } from '../kinds/json.ts'
import { quantityProblem } from '../kinds/quantity.ts'
import { fieldOf, type Scalar, type Shape } from '../kinds/schema.ts'

/** A value of a wrong type, in the words of Go's JSON decoder. */
export type WrongType = {
  readonly path: string
  readonly value: Json
  readonly expected: string
  readonly error: string
}

/** An object as Go's struct holds it: without undeclared fields. */
export type Decoded = {
  readonly wrong?: WrongType
  /** Paths of undeclared fields, e.g. `spec.template.spec.containers[0].livenesProbe`. */
  readonly unknown: readonly string[]
  readonly value: Json
}

/** `path` is the place of a value; `field` is the same without indexes and keys of maps. */
type Place = { readonly struct: string; readonly field: string; readonly path: string }

const INT32 = 2 ** 31
const rfc3339 = /^\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[+-]\d\d:\d\d)$/
const withMicroseconds = /:\d\d\.\d{6}([Zz]|[+-])/

const isWhole = (value: Json): boolean => Number.isInteger(value)

const holds: Readonly<Record<Scalar | 'struct' | 'map' | 'list' | 'any', (value: Json) => boolean>> = {
  any: () => true,
  string: (value) => typeof value === 'string',
  byte: (value) => typeof value === 'string',
  time: (value) => typeof value === 'string',
  'micro-time': (value) => typeof value === 'string',
  bool: (value) => typeof value === 'boolean',
  int64: isWhole,
  int32: (value) => isWhole(value) && Number(value) >= -INT32 && Number(value) < INT32,
  'int-or-string': (value) => typeof value === 'string' || isWhole(value),
  // reported in words of its own
  quantity: () => true,
  list: Array.isArray,
  map: isMap,
  struct: isMap,
}

export const goType = (value: Json): string => {
  if (value === null) return 'null'
  if (Array.isArray(value)) return 'array'
  return typeof value === 'boolean' ? 'bool' : typeof value
}

const goNames: Readonly<Partial<Record<Shape['type'], string>>> = {
  byte: '[]uint8',
  time: 'string',
  'micro-time': 'string',
  'int-or-string': 'int32',
}

const goName = ({ type, name, items, values }: Shape): string => {
  if (type === 'list' && items) return `[]${goName(items)}`
  if (type === 'map' && values) return `map[string]${goName(values)}`
  return type === 'struct' ? `v1.${name}` : (goNames[type] ?? type)
}

/** The problem of a text scalar that is parsed further. */
const textProblem = (value: Json, { type }: Shape): string | undefined => {
  if (type === 'quantity') return quantityProblem(value)
  if (type === 'byte') return base64Problem(String(value))
  return type === 'time' || type === 'micro-time' ? timeProblem(String(value), type) : undefined
}

const timeProblem = (text: string, type: 'time' | 'micro-time'): string | undefined => {
  const isTime = rfc3339.test(text)
  if (isTime && (type === 'time' || withMicroseconds.test(text))) return undefined
  const layout = type === 'time' ? '2006-01-02T15:04:05Z07:00' : '2006-01-02T15:04:05.000000Z07:00'
  const [rest, part] = isTime ? [text.slice(19), '.000000'] : [text, '2006']
  return `parsing time ${JSON.stringify(text)} as "${layout}": cannot parse ${JSON.stringify(rest)} as "${part}"`
}

const base64Problem = (text: string): string | undefined => {
  const clean = text.replaceAll(/[\r\n]/g, '')
  const isEncoded = clean.length % 4 === 0 && /^[A-Za-z0-9+/]*={0,2}$/.test(clean)
  return isEncoded ? undefined : 'illegal base64 data at input byte 0'
}

const wrongValue = (value: Json, shape: Shape, place: Place): WrongType | undefined => {
  if (holds[shape.type](value)) {
    const error = textProblem(value, shape)
    return error === undefined ? undefined : { path: place.path, value, error, expected: shape.type }
  }
  // Go quotes a number that its type cannot hold
  const isNumber = typeof value === 'number' && shape.type.startsWith('int')
  const sent = isNumber ? `number ${value}` : goType(value)
  const error = `json: cannot unmarshal ${sent} into Go struct field ${place.struct}${place.field} of type ${goName(shape)}`
  return { path: place.path, value, error, expected: shape.type }
}

type Found = { wrong: WrongType | undefined; readonly unknown: string[]; readonly isTolerant: boolean }

const readList = (list: Json[], items: Shape, place: Place, found: Found): Json => {
  const read = list.map((item, index) => readInto(item, items, { ...place, path: `${place.path}[${index}]` }, found))
  return read.every((item, index) => item === list[index]) ? list : read
}

const readMember = (key: string, member: Json, shape: Shape, place: Place, found: Found): Json | undefined => {
  const inner = fieldOf(shape, key)
  const path = place.path === '' ? key : `${place.path}.${key}`
  if (inner === undefined) {
    found.unknown.push(path)
    return undefined
  }
  const isField = shape.type === 'struct'
  const at = isField ? { struct: shape.name ?? '', field: `${place.field}.${key}`, path } : { ...place, path }
  return readInto(member, inner, at, found)
}

const readMap = (map: JsonMap, shape: Shape, place: Place, found: Found): Json =>
  mapMembers(map, (member, key) => readMember(key, member, shape, place, found))

const readInto = (value: Json, shape: Shape, place: Place, found: Found): Json => {
  // null is no value, which every field can hold
  if (value === null || shape.type === 'any' || found.wrong) return value
  const wrong = wrongValue(value, shape, place)
  if (wrong && !found.isTolerant) found.wrong = wrong
  if (wrong) return value
  if (shape.items) return readList(listOf(value), shape.items, place, found)
  return shape.fields || shape.values ? readMap(mapOf(value), shape, place, found) : value
}

const decode = (value: Json, shape: Shape, isTolerant: boolean): Decoded => {
  const found: Found = { wrong: undefined, unknown: [], isTolerant }
  const read = readInto(value, shape, { struct: '', field: '', path: '' }, found)
  return { ...(found.wrong && { wrong: found.wrong }), unknown: found.unknown, value: read }
}

/** Decodes a value as Go's JSON decoder does: up to the first value of a wrong type. */
export const decodeInto = (value: Json, shape: Shape): Decoded => decode(value, shape, false)

/** Removes undeclared fields; a custom resource's schema judges the types. */
export const pruneInto = (value: Json, shape: Shape): Decoded => decode(value, shape, true)
