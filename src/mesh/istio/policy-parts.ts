import { createHash } from 'node:crypto'
import type { Rule } from './authorization-policy.ts'
import { type Grantee, rulesFor } from './rules.ts'

/**
 * Bounds one policy object. The CRD says `maxItems: 512` for rules and bounds neither principals nor operations; these meet etcd's
 * limit of 1.5 MiB for a request, of which the rest of the object needs a share.
 */
export const LIMITS = { rules: 512, bytes: 1024 * 1024 }

/** `path` is empty where one object is enough. */
export type PolicyPart = { readonly path: string; readonly holders: readonly Grantee[] }

/**
 * Halves the grantees until each part fits the limits. The hash of its principal alone decides the part of a grantee, so that a change
 * of one principal changes one object. A single grantee is not divided.
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
 * Merges many rules into one for the moment in which only some parts of a policy exist. It admits all their principals to all their
 * operations; undefined where it does not fit, or where a rule has other conditions.
 */
export const widenRules = (rules: readonly Rule[]): Rule[] | undefined => {
  const principals = rules.flatMap(({ from = [{}] }) => from.map(({ source }) => source?.principals ?? []))
  // a rule without principals admits everybody
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
