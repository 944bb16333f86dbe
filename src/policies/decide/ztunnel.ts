import type { Condition, Operation, Rule, Source } from '../authorization-policy.ts'
import { oneOf } from './text.ts'

const HTTP_SOURCE = [
  'remoteIpBlocks',
  'notRemoteIpBlocks',
  'requestPrincipals',
  'notRequestPrincipals',
  'trustDomains',
  'notTrustDomains',
] as const satisfies readonly (keyof Source)[]

const HTTP_OPERATION = [
  'hosts',
  'notHosts',
  'methods',
  'notMethods',
  'paths',
  'notPaths',
] as const satisfies readonly (keyof Operation)[]

const CONDITIONS = ['source.ip', 'source.namespace', 'source.principal', 'destination.ip', 'destination.port']

/**
 * `rule` as istiod hands it to a ztunnel, which sees connections and no HTTP (its pilot/pkg/serviceregistry/ambient/authorization.go).
 * An ALLOW rule with anything else is dropped as a whole. A DENY rule loses what else it has and so denies more; where nothing is left
 * of a source, an operation or a condition, that one never matches (ztunnel's src/rbac.rs).
 */
export const asZtunnelSees = (rule: Rule, action: 'ALLOW' | 'DENY'): Rule | { readonly never: string } => {
  const hidden = httpNames(rule)
  const never = { never: `its ${oneOf(hidden)} cannot be seen by a ztunnel` }
  if (action === 'ALLOW' && hidden.length > 0) return never
  const from = rule.from?.map(({ source = {} }) => ({ source: without(source, HTTP_SOURCE) }))
  const to = rule.to?.map(({ operation = {} }) => ({ operation: without(operation, HTTP_OPERATION) }))
  const seen = {
    from: from?.filter(({ source }) => saysSomething(source)),
    to: to?.filter(({ operation }) => saysSomething(operation)),
    when: rule.when?.filter(isSeen),
  }
  const isEmptied = (['from', 'to'] as const).some((part) => rule[part]?.length && !seen[part]?.length)
  const isUnseen = seen.when?.length !== rule.when?.length
  if (!isEmptied && !isUnseen) return seen
  return hidden.length > 0 ? never : { never: 'a part of it says nothing, which a ztunnel takes for no match' }
}

const isSeen = ({ key, values = [], notValues = [] }: Condition): boolean =>
  CONDITIONS.includes(key) && values.length + notValues.length > 0

const httpNames = ({ from = [], to = [], when = [] }: Rule): string[] => {
  const names = [
    ...from.flatMap(({ source = {} }) => HTTP_SOURCE.filter((name) => source[name]?.length)),
    ...to.flatMap(({ operation = {} }) => HTTP_OPERATION.filter((name) => operation[name]?.length)),
    ...when.map(({ key }) => key).filter((key) => !CONDITIONS.includes(key)),
  ]
  return [...new Set(names)]
}

const without = <T extends object>(fields: T, names: readonly string[]): T =>
  Object.fromEntries(Object.entries(fields).filter(([name]) => !names.includes(name))) as T

const saysSomething = (fields: Source | Operation): boolean => Object.values(fields).some((list) => list?.length)
