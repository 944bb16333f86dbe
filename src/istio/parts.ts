import { createHash } from 'node:crypto'
import type { Rule } from './authorization-policy.ts'
import { type Grantee, rulesFor } from './rules.ts'

/**
 * What one object can hold. The CRD says `maxItems: 512` for rules and bounds neither principals nor operations; those meet etcd's
 * bound of 1.5 MiB for a request, which the rest of the object needs a share of.
 */
export const LIMITS = { rules: 512, bytes: 1024 * 1024 }

/** `path` is empty where one object is enough. */
export type PolicyPart = { readonly path: string; readonly holders: readonly Grantee[] }

/**
 * The holders in as few halvings as the limits need. Which part a holder is in is decided by the hash of its principal alone, so that a
 * change in one principal changes one object. A holder by itself is not divided.
 */
export const splitGrantees = (holders: readonly Grantee[], limits = LIMITS, path = ''): PolicyPart[] => {
  if (holders.length <= 1 || fits(rulesFor(holders), limits)) return [{ path, holders }]
  const { zero = [], one = [] } = Object.groupBy(holders, ({ principal }) =>
    bitOf(principal, path.length) ? 'one' : 'zero',
  )
  return [...splitGrantees(zero, limits, `${path}0`), ...splitGrantees(one, limits, `${path}1`)].filter(
    (part) => part.holders.length > 0,
  )
}

const fits = (rules: readonly Rule[], limits: typeof LIMITS): boolean =>
  rules.length <= limits.rules && Buffer.byteLength(JSON.stringify(rules)) <= limits.bytes

/**
 * One rule in place of many, for the moment in which a target is guarded by some of its parts only: all that they let in, to all that
 * they let anyone do. Undefined where that does not fit, or where they say more than who and what.
 */
export const widenRules = (rules: readonly Rule[]): Rule[] | undefined => {
  const principals = rules.flatMap(({ from = [{}] }) => from.map(({ source }) => source?.principals ?? []))
  // without principals a rule is everybody's
  if (principals.length === 0 || principals.some((names) => names.length === 0)) return undefined
  const operations = new Map(rules.flatMap(({ to = [] }) => to.map((one) => [JSON.stringify(one), one] as const)))
  const isAll = rules.some(({ to = [] }) => to.length === 0)
  const from = [{ source: { principals: [...new Set(principals.flat())].toSorted() } }]
  const wide = [{ from, ...(!isAll && { to: [...operations.values()] }) }]
  return fits(wide, LIMITS) ? wide : undefined
}

const bitOf = (text: string, index: number): boolean => {
  const byte = createHash('sha256').update(text).digest()[index >> 3] ?? 0
  return ((byte >> (7 - (index & 7))) & 1) === 1
}
