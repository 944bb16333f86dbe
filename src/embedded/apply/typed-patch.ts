import { isMap, type Json, type JsonMap, listOf, mapOf } from '../../platform/base/json.ts'
import { fieldOf, type Shape } from '../../platform/kubernetes/apply/shape.ts'

const isScalar = (value: Json): boolean => !Array.isArray(value) && !isMap(value)

const expected: Readonly<Partial<Record<Shape['type'], readonly [string, (value: Json) => boolean]>>> = {
  int32: ['numeric (int or float)', (value) => typeof value === 'number'],
  int64: ['numeric (int or float)', (value) => typeof value === 'number'],
  bool: ['boolean', (value) => typeof value === 'boolean'],
  quantity: ['any scalar', isScalar],
  'int-or-string': ['any scalar', isScalar],
  list: ['list', Array.isArray],
  map: ['map', isMap],
  struct: ['map', isMap],
}

const text = ['string', (value: Json) => typeof value === 'string'] as const

const typeProblem = (value: Json, { type }: Shape): string | undefined => {
  const [name, holds] = expected[type] ?? text
  return holds(value) ? undefined : `expected ${name}, got ${JSON.stringify(value)}`
}

type Problem = { readonly path: string; readonly why: string }

/** The keys that identify a list's item; undefined where none do. */
const itemPath = (item: Json, index: number, { keys, set }: Shape): string | undefined => {
  if (set) return `[=${JSON.stringify(item)}]`
  if (keys === undefined) return `[${index}]`
  if (!isMap(item)) return undefined
  const named = Object.entries(keys).map(([key, other]) => `${key}=${JSON.stringify(item[key] ?? other)}`)
  return `[${named.toSorted().join(',')}]`
}

const listProblems = (list: Json[], shape: Shape, at: string): Problem[] => {
  const seen = new Set<string>()
  return list.flatMap((item, index) => {
    const place = itemPath(item, index, shape)
    if (place === undefined) return [{ path: at, why: `element ${index}: a list with keys has maps alone` }]
    const isTwice = seen.size === seen.add(place).size
    return [
      ...(isTwice ? [{ path: at, why: `duplicate entries for key ${place}` }] : []),
      ...(shape.items ? problemsIn(item, shape.items, `${at}${place}`) : []),
    ]
  })
}

const mapProblems = (map: JsonMap, shape: Shape, at: string): Problem[] =>
  Object.entries(map).flatMap(([key, member]) => {
    const inner = fieldOf(shape, key)
    if (inner === undefined) return [{ path: `${at}.${key}`, why: 'field not declared in schema' }]
    return problemsIn(member ?? null, inner, `${at}.${key}`)
  })

const problemsIn = (value: Json, shape: Shape, at: string): Problem[] => {
  if (value === null || shape.type === 'any') return []
  const why = typeProblem(value, shape)
  if (why !== undefined) return [{ path: at, why }]
  if (shape.type === 'list') return listProblems(listOf(value), shape, at)
  return shape.type === 'struct' || shape.type === 'map' ? mapProblems(mapOf(value), shape, at) : []
}

/**
 * The reason why an applied object cannot be compared by field. Reasons are undeclared fields, values of a wrong type, or list items without distinct
 * keys. What meshstep tells the author of a workload is read from it (`src/core/workload/refusal.ts`). See
 * https://github.com/kubernetes-sigs/structured-merge-diff
 */
export const typedProblem = (config: JsonMap, shape: Shape): string | undefined => {
  const problems = problemsIn(config, shape, '').map(({ path, why }) => `${path}: ${why}`)
  return problems.length > 1 ? ['errors:', ...problems.map((problem) => `  ${problem}`)].join('\n') : problems[0]
}
