import { at, equal, isMap, type Json, type JsonMap, listOf, mapOf } from '../../platform/base/json.ts'

/** An operation that cannot be done: a failed test, or a path that does not exist. */
export class PatchFailure extends Error {
  override readonly name = 'PatchFailure'
}

const pointer = (path: Json | undefined): string[] => {
  if (typeof path !== 'string' || !/^(\/|$)/.test(path))
    throw new PatchFailure(`not a JSON pointer: ${JSON.stringify(path)}`)
  return path
    .split('/')
    .slice(1)
    .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'))
}

const index = (list: readonly Json[], key: string, limit: number): number => {
  const position = key === '-' ? list.length : Number(key)
  if (!/^(-|0|[1-9]\d*)$/.test(key) || position > limit) throw new PatchFailure(`no index ${key}`)
  return position
}

const child = (value: Json, key: string): Json => {
  const found = Array.isArray(value) ? value[index(value, key, value.length - 1)] : at(value, key)
  if (found === undefined) throw new PatchFailure(`no member ${key}`)
  return found
}

const valueAt = (value: Json, path: readonly string[]): Json => path.reduce(child, value)

/** A copy with the container of the path's last key edited. */
const edit = (value: Json, path: readonly string[], change: (container: Json, key: string) => Json): Json => {
  const [key, ...rest] = path
  if (key === undefined) throw new PatchFailure('the whole document cannot be removed')
  if (rest.length === 0) return change(value, key)
  const edited = edit(child(value, key), rest, change)
  return Array.isArray(value) ? value.with(Number(key), edited) : { ...(value as object), [key]: edited }
}

const add = (document: Json, path: readonly string[], added: Json): Json =>
  path.length === 0
    ? added
    : edit(document, path, (container, key) => {
        if (Array.isArray(container)) return container.toSpliced(index(container, key, container.length), 0, added)
        if (isMap(container)) return { ...container, [key]: added }
        throw new PatchFailure(`nothing to add ${key} to`)
      })

const remove = (document: Json, path: readonly string[]): Json =>
  edit(document, path, (container, key) => {
    child(container, key)
    if (Array.isArray(container)) return container.toSpliced(Number(key), 1)
    const { [key]: _, ...others } = container as Record<string, Json>
    return others
  })

const replace = (document: Json, path: readonly string[], value: Json): Json =>
  path.length === 0
    ? value
    : edit(document, path, (container, key) => {
        child(container, key)
        return Array.isArray(container)
          ? container.with(Number(key), value)
          : { ...(container as object), [key]: value }
      })

const present = (value: Json | undefined): Json => {
  if (value === undefined) throw new PatchFailure('value is missing')
  return value
}

const test = (document: Json, path: readonly string[], value: Json | undefined): Json => {
  if (!equal(valueAt(document, path), value ?? null)) throw new PatchFailure(`test failed at /${path.join('/')}`)
  return document
}

const perform = (document: Json, { op, path, from, value }: JsonMap): Json => {
  const to = pointer(path)
  const source = (): Json => valueAt(document, pointer(from))
  if (op === 'add') return add(document, to, present(value))
  if (op === 'remove') return remove(document, to)
  if (op === 'replace') return replace(document, to, present(value))
  if (op === 'copy') return add(document, to, source())
  if (op === 'move') return add(remove(document, pointer(from)), to, source())
  if (op === 'test') return test(document, to, value)
  throw new PatchFailure('unknown operation')
}

/** Applies the operations in order, or throws a PatchFailure. See RFC 6902. */
export const jsonPatch = (document: Json, operations: Json): Json =>
  listOf(operations).reduce<Json>((patched, operation) => perform(patched, mapOf(operation)), document)
