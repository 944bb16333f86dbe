import { sortedGroups } from '../../platform/base/sorted-groups.ts'
import type { Rule } from './authorization-policy.ts'
import type { Rights } from './operations.ts'

/** A principal at one target, with its rights, and the relations that requested them. */
export type Grantee = {
  readonly principal: string
  readonly rights: Rights
  readonly relations: readonly string[]
}

/** Builds one rule for each distinct set of operations, with all principals that have exactly this set. Each principal is in one rule. */
export const rulesFor = (holders: readonly Grantee[]): Rule[] =>
  sortedGroups(holders, ({ rights }) => JSON.stringify(rights)).map(([, sharing]) => ({
    from: [{ source: { principals: sharing.map(({ principal }) => principal).toSorted() } }],
    ...ruleOperations(sharing[0]?.rights ?? []),
  }))

/** Builds the operations of a rule. Without `to` it matches every request of its sources. */
const ruleOperations = (rights: Rights): Pick<Rule, 'to'> =>
  rights === 'everything' ? {} : { to: rights.map((operation) => ({ operation })) }
