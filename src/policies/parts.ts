import { createHash } from 'node:crypto'
import { type Holder, rulesFor } from './rules.ts'

/**
 * What one object can hold. The CRD says `maxItems: 512` for rules and bounds neither principals nor operations; those meet etcd's
 * bound of 1.5 MiB for a request, which the rest of the object needs a share of.
 */
const LIMITS = { rules: 512, bytes: 1024 * 1024 }

/** `path` is empty where one object is enough. */
export type Part = { readonly path: string; readonly holders: readonly Holder[] }

/**
 * The holders in as few halvings as the limits need. Which part a holder is in is decided by the hash of its principal alone, so that a
 * change in one principal changes one object. A holder by itself is not divided.
 */
export const partsOf = (holders: readonly Holder[], path = ''): Part[] => {
  if (holders.length <= 1 || fits(holders)) return [{ path, holders }]
  const { zero = [], one = [] } = Object.groupBy(holders, ({ principal }) =>
    bitOf(principal, path.length) ? 'one' : 'zero',
  )
  return [...partsOf(zero, `${path}0`), ...partsOf(one, `${path}1`)].filter((part) => part.holders.length > 0)
}

const fits = (holders: readonly Holder[]): boolean => {
  const rules = rulesFor(holders)
  return rules.length <= LIMITS.rules && Buffer.byteLength(JSON.stringify(rules)) <= LIMITS.bytes
}

const bitOf = (text: string, index: number): boolean => {
  const byte = createHash('sha256').update(text).digest()[index >> 3] ?? 0
  return ((byte >> (7 - (index & 7))) & 1) === 1
}
