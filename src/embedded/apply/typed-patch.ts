import { isMap, type Json, type JsonMap, listOf, mapOf } from '../kinds/json.ts'
import { fieldOf, type Shape } from '../kinds/schema.ts'

/** A value as Go prints it with `%v`. */
const plain = (value: Json | undefined): string => {
  if (Array.isArray(value)) return `[${value.map(plain).join(' ')}]`
  if (isMap(value))
    return `map[${sorted(value)
      .map(([key, member]) => `${key}:${plain(member)}`)
      .join(' ')}]`
  return value === null ? '<nil>' : String(value)
}

/** A value as Go prints it with `%#v`. */
const literal = (value: Json | undefined): string => {
  if (Array.isArray(value)) return `[]interface {}{${value.map(literal).join(', ')}}`
  if (isMap(value)) {
    const members = sorted(value).map(([key, member]) => `${JSON.stringify(key)}:${literal(member)}`)
    return `map[string]interface {}{${members.join(', ')}}`
  }
  return value === null ? 'interface {}(nil)' : JSON.stringify(value)
}

const sorted = (map: JsonMap): [string, Json | undefined][] =>
  Object.entries(map).toSorted(([one], [other]) => (one < other ? -1 : 1))

const dynamicType = (value: Json): string => {
  if (Array.isArray(value)) return '[]interface {}'
  if (isMap(value)) return 'map[string]interface {}'
  return typeof value === 'boolean' ? 'bool' : typeof value
}

const isScalar = (value: Json): boolean => !Array.isArray(value) && !isMap(value)

const scalarProblem = (value: Json, type: Shape['type']): string | undefined => {
  switch (type) {
    case 'int32':
    case 'int64':
      return typeof value === 'number' ? undefined : `expected numeric (int or float), got ${dynamicType(value)}`
    case 'bool':
      return typeof value === 'boolean' ? undefined : `expected boolean, got &{${plain(value)}}`
    case 'quantity':
    case 'int-or-string':
      return isScalar(value) ? undefined : `expected any scalar, got &{${plain(value)}}`
    default:
      return typeof value === 'string'
        ? undefined
        : `expected string, got &value.valueUnstructured{Value:${literal(value)}}`
  }
}

type Problem = { readonly path: string; readonly why: string }

/** The keys that identify a list's item, or the reason why none do. */
const itemPath = (item: Json, index: number, { keys, set }: Shape): { path: string } | { why: string } => {
  if (set) return { path: `[=${JSON.stringify(item)}]` }
  if (keys === undefined) return { path: `[${index}]` }
  const what = item === null ? 'a null element' : 'non-map elements'
  if (!isMap(item)) return { why: `element ${index}: associative list with keys may not have ${what}` }
  const named = Object.entries(keys).map(([key, other]) => `${key}=${JSON.stringify(item[key] ?? other)}`)
  return { path: `[${named.toSorted().join(',')}]` }
}

const listProblems = (list: Json[], shape: Shape, at: string): Problem[] => {
  const seen = new Set<string>()
  const problems: Problem[] = []
  for (const [index, item] of list.entries()) {
    const found = itemPath(item, index, shape)
    if ('why' in found) return [...problems, { path: at, why: found.why }]
    if (seen.has(found.path)) problems.push({ path: at, why: `duplicate entries for key ${found.path}` })
    seen.add(found.path)
    if (shape.items) problems.push(...problemsIn(item, shape.items, `${at}${found.path}`))
  }
  return problems
}

const mapProblems = (map: JsonMap, shape: Shape, at: string): Problem[] => {
  const problems: Problem[] = []
  for (const [key, member] of Object.entries(map)) {
    const inner = fieldOf(shape, key)
    if (inner === undefined) return [...problems, { path: `${at}.${key}`, why: 'field not declared in schema' }]
    problems.push(...problemsIn(member ?? null, inner, `${at}.${key}`))
  }
  return problems
}

const problemsIn = (value: Json, shape: Shape, at: string): Problem[] => {
  if (value === null || shape.type === 'any') return []
  if (shape.type === 'list') {
    if (!Array.isArray(value)) return [{ path: at, why: `expected list, got &{${plain(value)}}` }]
    return listProblems(listOf(value), shape, at)
  }
  if (shape.type === 'struct' || shape.type === 'map') {
    return isMap(value)
      ? mapProblems(mapOf(value), shape, at)
      : [{ path: at, why: `expected map, got &{${plain(value)}}` }]
  }
  const why = scalarProblem(value, shape.type)
  return why === undefined ? [] : [{ path: at, why }]
}

/**
 * The reason why an applied object cannot be compared by field. Reasons are undeclared fields, values of a wrong type, or list items without distinct
 * keys. See https://github.com/kubernetes-sigs/structured-merge-diff
 */
export const typedProblem = (config: JsonMap, shape: Shape): string | undefined => {
  const problems = problemsIn(config, shape, '').map(({ path, why }) => `${path}: ${why}`)
  return problems.length > 1 ? ['errors:', ...problems.map((problem) => `  ${problem}`)].join('\n') : problems[0]
}
