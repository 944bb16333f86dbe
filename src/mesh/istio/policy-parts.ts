import { createHash } from 'node:crypto'
import type { Rule } from './authorization-policy.ts'
import { type Grantee, rulesFor } from './rules.ts'

/**
 * The limits of one policy object. The CRD allows 512 rules, and does not limit principals or operations. etcd limits a request to 1.5 MiB, and the rest
 * of the object needs some of it.
 */
export const LIMITS = { rules: 512, bytes: 1024 * 1024 }

/** A part of a policy. `path` is empty if one object is enough. */
export type PolicyPart = { readonly path: string; readonly holders: readonly Grantee[] }

/**
 * Halves the grantees until each part fits the limits. Only the hash of its principal decides the part of a grantee, so a change of one principal changes
 * one object. A single grantee is not divided.
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
 * Merges many rules into one, for the time when only some parts of a policy exist. The rule admits all principals to all operations. Returns undefined if
 * it does not fit, or if a rule has no principals.
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
