/** The sizes of measured values. They are never changed. */
const sizes = new WeakMap<object, number>()

/**
 * Returns the length of a value as JSON, in bytes of UTF-8. Maps are measured member by member down to `depth`, and each size is kept. If one member of a
 * large value is replaced, only that member is serialized again.
 */
export const jsonBytes = (value: unknown, depth: number): number => {
  if (typeof value !== 'object' || value === null) return textBytes(value)
  const known = sizes.get(value)
  if (known !== undefined) return known
  const size = depth === 0 || Array.isArray(value) ? textBytes(value) : mapBytes(value as Members, depth)
  sizes.set(value, size)
  return size
}

type Members = Readonly<Record<string, unknown>>

/** Returns the size of a key. Most keys need no escapes. */
const keyBytes = (key: string): number => (/^[\w.-]*$/.test(key) ? key.length + 2 : textBytes(key))

const textBytes = (value: unknown): number => Buffer.byteLength(JSON.stringify(value))

const mapBytes = (members: Members, depth: number): number => {
  let size = 1
  for (const key in members)
    if (members[key] !== undefined) size += keyBytes(key) + jsonBytes(members[key], depth - 1) + 2
  return Math.max(2, size)
}
