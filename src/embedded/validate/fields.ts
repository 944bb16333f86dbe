import { isMap, type Json, type JsonMap, listOf, mapMembers, mapOf } from '../../platform/base/json.ts'
import { fieldOf, type Shape } from '../../platform/kubernetes/managed-fields/shape.ts'
import { isQuantity } from '../kinds/quantity.ts'

/**
 * A problem of a value, and its path, e.g. `.spec.template.spec.containers[name="c"].livenesProbe`. What meshstep tells the author of a workload is read from
 * it (`src/core/workload/refusal.ts`).
 */
export type Problem = {
  readonly path: string
  readonly why: string
  /** A field that is not declared, a value of a wrong type, a list's item without a key of its own, or a wrong form of a right type. */
  readonly sort: 'undeclared' | 'type' | 'key' | 'form'
}

type Rule = readonly [words: string, holds: (value: Json) => boolean]

const isText = (value: Json): value is string => typeof value === 'string'
const isScalar = (value: Json): boolean => !Array.isArray(value) && !isMap(value)

const text: Rule = ['expected string', isText]
const number: Rule = ['expected numeric (int or float)', (value) => typeof value === 'number']
const scalar: Rule = ['expected any scalar', isScalar]
const map: Rule = ['expected map', isMap]

/** See https://github.com/kubernetes-sigs/structured-merge-diff */
const types: Readonly<Record<Exclude<Shape['type'], 'any'>, Rule>> = {
  ...{ string: text, byte: text, time: text, 'micro-time': text, int32: number, int64: number },
  ...{ 'int-or-string': scalar, quantity: scalar, map, struct: map },
  bool: ['expected boolean', (value) => typeof value === 'boolean'],
  list: ['expected list', Array.isArray],
}

const INT32 = 2 ** 31
const rfc3339 = /^\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[+-]\d\d:\d\d)$/
const withMicroseconds = /:\d\d\.\d{6}([Zz]|[+-])/

const isBase64 = (value: Json): boolean => {
  const clean = String(value).replaceAll(/[\r\n]/g, '')
  return clean.length % 4 === 0 && /^[A-Za-z0-9+/]*={0,2}$/.test(clean)
}

const forms: Readonly<Partial<Record<Shape['type'], Rule>>> = {
  byte: ['expected base64', isBase64],
  time: ['expected a time', (value) => rfc3339.test(String(value))],
  'micro-time': [
    'expected microseconds',
    (value) => rfc3339.test(String(value)) && withMicroseconds.test(String(value)),
  ],
  int64: ['expected int64', Number.isInteger],
  int32: ['expected int32', (value) => Number.isInteger(value) && Number(value) >= -INT32 && Number(value) < INT32],
  'int-or-string': ['expected int or string', (value) => isText(value) || Number.isInteger(value)],
  quantity: ['quantities must match the form of a number with a suffix', isQuantity],
}

const problemOf = (value: Json, type: keyof typeof types): Pick<Problem, 'sort' | 'why'> | undefined => {
  const [words, isTyped] = types[type]
  if (!isTyped(value)) return { sort: 'type', why: `${words}, got ${JSON.stringify(value)}` }
  const [form, isFormed] = forms[type] ?? types[type]
  return isFormed(value) ? undefined : { sort: 'form', why: `${form}, got ${JSON.stringify(value)}` }
}

/** The keys that identify a list's item, or its index. */
const itemPath = (item: Json, index: number, { keys, set }: Shape): string => {
  if (set) return `[=${JSON.stringify(item)}]`
  if (keys === undefined || !isMap(item)) return `[${index}]`
  const named = Object.entries(keys).map(([key, other]) => `${key}=${JSON.stringify(item[key] ?? other)}`)
  return `[${named.toSorted().join(',')}]`
}

const readList = (list: Json[], shape: Shape, path: string, problems: Problem[]): Json => {
  const seen = new Set<string>()
  const keyProblem = (why: string): void => void problems.push({ path, sort: 'key', why })
  const read = list.map((item, index) => {
    const place = itemPath(item, index, shape)
    if (shape.keys && item === null) keyProblem(`element ${index}: a list with keys has maps alone`)
    if (seen.has(place)) keyProblem(`duplicate entries for key ${place}`)
    seen.add(place)
    return shape.items ? readInto(item, shape.items, `${path}${place}`, problems) : item
  })
  return read.every((item, index) => item === list[index]) ? list : read
}

const readMap = (value: JsonMap, shape: Shape, path: string, problems: Problem[]): Json =>
  mapMembers(value, (member, key) => {
    const inner = fieldOf(shape, key)
    if (inner) return readInto(member, inner, `${path}.${key}`, problems)
    problems.push({ path: `${path}.${key}`, sort: 'undeclared', why: 'field not declared in schema' })
    return undefined
  })

const readInto = (value: Json, shape: Shape, path: string, problems: Problem[]): Json => {
  // null is no value, which every field can hold
  if (value === null || shape.type === 'any') return value
  const problem = problemOf(value, shape.type)
  if (problem) problems.push({ path, ...problem })
  if (problem || isScalar(value)) return value
  return shape.type === 'list'
    ? readList(listOf(value), shape, path, problems)
    : readMap(mapOf(value), shape, path, problems)
}

/** A value with its declared fields alone, and its problems. */
export const readFields = (
  value: Json,
  shape: Shape,
): { readonly value: Json; readonly problems: readonly Problem[] } => {
  const problems: Problem[] = []
  return { value: readInto(value, shape, '', problems), problems }
}
