import { joinOr } from '../../platform/base/printed.ts'
import type { Condition, Operation, Rule, Source } from './authorization-policy.ts'
import { fieldsUsed, HTTP_OPERATION, hasFields, omitFields, type VisibleRule } from './visible-rule.ts'

/** The fields of a source that a ztunnel does not see: tokens, and the client's address behind proxies. */
const UNSEEN_SOURCE = [
  'remoteIpBlocks',
  'notRemoteIpBlocks',
  'requestPrincipals',
  'notRequestPrincipals',
] as const satisfies readonly (keyof Source)[]

/** Fields that istiod drops silently. A rule with other fields then matches more. */
const DROPPED = ['trustDomains', 'notTrustDomains'] as const satisfies readonly (keyof Source)[]

const CONDITIONS = ['source.ip', 'source.namespace', 'source.principal', 'destination.ip', 'destination.port']

/**
 * Restricts `rule` to the fields that a ztunnel sees (istio's pilot/pkg/serviceregistry/ambient/authorization.go). An ALLOW rule with other fields never
 * matches. A DENY rule loses them, and so denies more. An emptied source, operation or condition never matches (ztunnel's src/rbac.rs).
 */
export const asZtunnelSees = (rule: Rule, action: 'ALLOW' | 'DENY'): VisibleRule => {
  const hidden = hiddenFromZtunnel(rule)
  const never = { never: `its ${joinOr(hidden)} cannot be seen by a ztunnel` }
  if (action === 'ALLOW' && hidden.length > 0) return never
  const from = rule.from?.map(({ source = {} }) => ({
    source: omitFields<Source>(source, [...UNSEEN_SOURCE, ...DROPPED]),
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
  return hidden.length > 0 ? never : { never: 'a part of it has no field that a ztunnel sees, and so never matches' }
}

/** Lists the fields and conditions of `rule` that a ztunnel does not see, such as HTTP. */
export const hiddenFromZtunnel = (rule: Rule): string[] =>
  fieldsUsed(rule, UNSEEN_SOURCE, HTTP_OPERATION, (key) => !CONDITIONS.includes(key))

const isSeen = ({ key, values = [], notValues = [] }: Condition): boolean =>
  CONDITIONS.includes(key) && values.length + notValues.length > 0
