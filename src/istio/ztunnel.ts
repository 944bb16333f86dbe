import { joinOr } from '../base/printed.ts'
import type { Condition, Operation, Rule, Source } from './authorization-policy.ts'
import { fieldsUsed, HTTP_OPERATION, hasFields, omitFields, type VisibleRule } from './view.ts'

const HTTP_SOURCE = [
  'remoteIpBlocks',
  'notRemoteIpBlocks',
  'requestPrincipals',
  'notRequestPrincipals',
] as const satisfies readonly (keyof Source)[]

/** istiod drops these without a word: a rule that has other fields besides matches more. */
const DROPPED = ['trustDomains', 'notTrustDomains'] as const satisfies readonly (keyof Source)[]

const CONDITIONS = ['source.ip', 'source.namespace', 'source.principal', 'destination.ip', 'destination.port']

/**
 * `rule` as istiod hands it to a ztunnel, which sees connections and no HTTP (its pilot/pkg/serviceregistry/ambient/authorization.go).
 * An ALLOW rule with anything else is dropped as a whole. A DENY rule loses what else it has and so denies more; where nothing is left
 * of a source, an operation or a condition, that one never matches (ztunnel's src/rbac.rs).
 */
export const asZtunnelSees = (rule: Rule, action: 'ALLOW' | 'DENY'): VisibleRule => {
  const hidden = hiddenFromZtunnel(rule)
  const never = { never: `its ${joinOr(hidden)} cannot be seen by a ztunnel` }
  if (action === 'ALLOW' && hidden.length > 0) return never
  const from = rule.from?.map(({ source = {} }) => ({
    source: omitFields<Source>(source, [...HTTP_SOURCE, ...DROPPED]),
  }))
  const to = rule.to?.map(({ operation = {} }) => ({ operation: omitFields<Operation>(operation, HTTP_OPERATION) }))
  const seen = {
    from: from?.filter(({ source }) => hasFields(source)),
    to: to?.filter(({ operation }) => hasFields(operation)),
    when: rule.when?.filter(isSeen),
  }
  const isEmptied = (['from', 'to'] as const).some((part) => rule[part]?.length && !seen[part]?.length)
  const isUnseen = seen.when?.length !== rule.when?.length
  if (!isEmptied && !isUnseen) return { rule: seen }
  return hidden.length > 0 ? never : { never: 'a part of it says nothing to a ztunnel, which takes that for no match' }
}

/** Which fields and conditions of `rule` need HTTP, or what else a ztunnel does not have. */
export const hiddenFromZtunnel = (rule: Rule): string[] =>
  fieldsUsed(rule, HTTP_SOURCE, HTTP_OPERATION, (key) => !CONDITIONS.includes(key))

const isSeen = ({ key, values = [], notValues = [] }: Condition): boolean =>
  CONDITIONS.includes(key) && values.length + notValues.length > 0
