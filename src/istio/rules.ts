import type { Rule } from './authorization-policy.ts'
import { groups } from './groups.ts'
import type { Rights } from './operations.ts'

/** One source at one target: who, what it may do there, and which relations asked for that. */
export type Grantee = {
  readonly principal: string
  readonly rights: Rights
  readonly relations: readonly string[]
}

/**
 * One rule for each distinct set of operations, for all the principals that have exactly these. So a principal is in one rule, and
 * there are never more rules than principals.
 */
export const rulesFor = (holders: readonly Grantee[]): Rule[] =>
  groups(holders, ({ rights }) => JSON.stringify(rights)).map(([, sharing]) => ({
    from: [{ source: { principals: sharing.map(({ principal }) => principal).toSorted() } }],
    ...ruleOperations(sharing[0]?.rights ?? []),
  }))

/** A rule without `to` matches every request of its sources. */
const ruleOperations = (rights: Rights): Pick<Rule, 'to'> =>
  rights === 'everything' ? {} : { to: rights.map((operation) => ({ operation })) }
