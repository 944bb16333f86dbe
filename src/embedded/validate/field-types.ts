import { isMap, type Json, type JsonMap, listOf, mapMembers, mapOf } from '../../platform/base/json.ts'
import { fieldOf, type Shape } from '../../platform/kubernetes/apply/shape.ts'
import { quantityProblem } from '../kinds/quantity.ts'

/** An object with its declared fields alone. */
export type Decoded = {
  /** The first value of a wrong type. */
  readonly wrong?: string
  /** Paths of undeclared fields, e.g. `spec.template.spec.containers[0].livenesProbe`. */
  readonly unknown: readonly string[]
  readonly value: Json
}

const INT32 = 2 ** 31
const rfc3339 = /^\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[+-]\d\d:\d\d)$/
const withMicroseconds = /:\d\d\.\d{6}([Zz]|[+-])/

const isText = (value: Json): value is string => typeof value === 'string'
const isWhole = (value: Json): boolean => Number.isInteger(value)
const isTime = (value: Json): boolean => isText(value) && rfc3339.test(value)

const isBase64 = (value: Json): boolean => {
  const clean = isText(value) ? value.replaceAll(/[\r\n]/g, '') : '-'
  return clean.length % 4 === 0 && /^[A-Za-z0-9+/]*={0,2}$/.test(clean)
}

const holds: Readonly<Record<Shape['type'], (value: Json) => boolean>> = {
  any: () => true,
  string: isText,
  byte: isBase64,
  time: isTime,
  'micro-time': (value) => isTime(value) && withMicroseconds.test(String(value)),
  bool: (value) => typeof value === 'boolean',
  int64: isWhole,
  int32: (value) => isWhole(value) && Number(value) >= -INT32 && Number(value) < INT32,
  'int-or-string': (value) => isText(value) || isWhole(value),
  quantity: (value) => quantityProblem(value) === undefined,
  list: Array.isArray,
  map: isMap,
  struct: isMap,
}

/** The word for a type: `struct` is one of the schema alone. */
const typeOf = (value: Json): string => (Array.isArray(value) ? 'list' : isMap(value) ? 'map' : typeof value)

const problemOf = (value: Json, { type }: Shape, path: string): string | undefined => {
  if (holds[type](value)) return undefined
  const why = type === 'quantity' ? quantityProblem(value) : undefined
  return `${path}: ${why ?? `expected ${type === 'struct' ? 'map' : type}, got ${typeOf(value)}`}`
}

type Found = { wrong: string | undefined; readonly unknown: string[]; readonly isTolerant: boolean }

const readList = (list: Json[], items: Shape, path: string, found: Found): Json => {
  const read = list.map((item, index) => readInto(item, items, `${path}[${index}]`, found))
  return read.every((item, index) => item === list[index]) ? list : read
}

const readMap = (map: JsonMap, shape: Shape, path: string, found: Found): Json =>
  mapMembers(map, (member, key) => {
    const inner = fieldOf(shape, key)
    const place = path === '' ? key : `${path}.${key}`
    if (inner) return readInto(member, inner, place, found)
    found.unknown.push(place)
    return undefined
  })

const readInto = (value: Json, shape: Shape, path: string, found: Found): Json => {
  // null is no value, which every field can hold
  if (value === null || shape.type === 'any' || found.wrong) return value
  const wrong = problemOf(value, shape, path)
  if (wrong && !found.isTolerant) found.wrong = wrong
  if (wrong) return value
  if (shape.items) return readList(listOf(value), shape.items, path, found)
  return shape.fields || shape.values ? readMap(mapOf(value), shape, path, found) : value
}

const decode = (value: Json, shape: Shape, isTolerant: boolean): Decoded => {
  const found: Found = { wrong: undefined, unknown: [], isTolerant }
  const read = readInto(value, shape, '', found)
  return { ...(found.wrong && { wrong: found.wrong }), unknown: found.unknown, value: read }
}

/** Checks types, and removes undeclared fields. */
export const decodeInto = (value: Json, shape: Shape): Decoded => decode(value, shape, false)

/** Removes undeclared fields; a custom resource's schema judges the types. */
export const pruneInto = (value: Json, shape: Shape): Decoded => decode(value, shape, true)
