import { at, equal, isMap, type Json, type JsonMap, mapOf } from '../../platform/base/json.ts'

/** An operation that cannot be done: a failed test, or a path that does not exist. */
export class PatchFailure extends Error {
  override readonly name = 'PatchFailure'
}

const keysOf = (path: Json | undefined): string[] => {
  if (typeof path !== 'string' || !path.startsWith('/'))
    throw new PatchFailure(`expected a path in the object, got ${JSON.stringify(path)}`)
  return path
    .split('/')
    .slice(1)
    .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'))
}

const memberOf = (container: Json, key: string): Json => {
  const isIndex = /^(0|[1-9]\d*)$/.test(key)
  const found = Array.isArray(container) && isIndex ? container[Number(key)] : at(container, key)
  if (found === undefined) throw new PatchFailure(`no member ${key}`)
  return found
}

const withMember = (container: Json, key: string, value: Json): Json =>
  Array.isArray(container) ? container.with(Number(key), value) : { ...(container as JsonMap), [key]: value }

type Operation = (container: Json, key: string, value: Json) => Json

const operations: Readonly<Record<string, Operation>> = {
  add: (container, key, value) => {
    if (isMap(container)) return withMember(container, key, value)
    if (!Array.isArray(container)) throw new PatchFailure(`nothing to add ${key} to`)
    if (key === '-') return [...container, value]
    if (Number(key) !== container.length) memberOf(container, key)
    return container.toSpliced(Number(key), 0, value)
  },
  remove: (container, key) => {
    memberOf(container, key)
    if (Array.isArray(container)) return container.toSpliced(Number(key), 1)
    const { [key]: _, ...others } = container as JsonMap
    return others
  },
  replace: (container, key, value) => {
    memberOf(container, key)
    return withMember(container, key, value)
  },
  test: (container, key, value) => {
    if (!equal(memberOf(container, key), value)) throw new PatchFailure(`another value at ${key}`)
    return container
  },
}

const perform = (
  value: Json,
  [key = '', ...rest]: readonly string[],
  operation: (container: Json, key: string) => Json,
): Json =>
  rest.length === 0 ? operation(value, key) : withMember(value, key, perform(memberOf(value, key), rest, operation))

/**
 * Applies the operations in order, or throws a PatchFailure. See RFC 6902; it has neither `move` nor `copy`, and no operation on the whole object.
 */
export const jsonPatch = (document: Json, patch: readonly Json[]): Json =>
  patch.map(mapOf).reduce<Json>((patched, { op, path, value }) => {
    const operation = typeof op === 'string' && Object.hasOwn(operations, op) ? operations[op] : undefined
    if (operation === undefined) throw new PatchFailure('unknown operation')
    if (value === undefined && op !== 'remove') throw new PatchFailure('value is missing')
    return perform(patched, keysOf(path), (container, key) => operation(container, key, value ?? null))
  }, document)
