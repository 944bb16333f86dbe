import { createHash } from 'node:crypto'

/** Hashes a JSON value, independent of the order of its keys. */
export const canonicalHash = (value: unknown): string =>
  createHash('sha256')
    .update(JSON.stringify(ordered(value)) ?? '')
    .digest('base64url')

/** Wraps maps as lists of entries, so that no list equals a map. */
const ordered = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(ordered)
  if (typeof value !== 'object' || value === null) return value
  const entries = Object.entries(value).flatMap(([key, member]) =>
    member === undefined ? [] : [[key, ordered(member)] as const],
  )
  return { entries: entries.toSorted(([one], [other]) => (one < other ? -1 : 1)) }
}
