import { joinOr } from '../../platform/base/printed.ts'
import { Operation, type Rule, type Source } from './authorization-policy.ts'

/** A rule as a proxy evaluates it; `never` is the reason why it never matches. */
export type VisibleRule = { readonly rule: Rule } | { readonly never: string }

/** Fields of an operation that only an HTTP proxy sees: all except ports. */
export const HTTP_OPERATION = Operation.keyof().options.filter((name) => name !== 'ports' && name !== 'notPorts')

const HTTP_SOURCE = ['requestPrincipals', 'notRequestPrincipals'] as const satisfies readonly (keyof Source)[]

const isHttpCondition = (key: string): boolean => key.startsWith('request.')

/**
 * Restricts `rule` to the fields that an Envoy sees on a TCP port (istio's pilot/pkg/security/authz/model/model.go). An ALLOW rule with HTTP fields never
 * matches. Any other rule loses these fields, and matches more, up to everything.
 */
export const asTcpSees = (rule: Rule, action: string): VisibleRule => {
  const hidden = fieldsUsed(rule, HTTP_SOURCE, HTTP_OPERATION, isHttpCondition)
  if (hidden.length === 0) return { rule }
  if (action === 'ALLOW') return { never: `its ${joinOr(hidden)} cannot be seen on a port that carries TCP` }
  return {
    rule: {
      from: rule.from?.map(({ source = {} }) => ({ source: omitFields<Source>(source, HTTP_SOURCE) })),
      to: rule.to?.map(({ operation = {} }) => ({ operation: omitFields<Operation>(operation, HTTP_OPERATION) })),
      when: rule.when?.filter(({ key }) => !isHttpCondition(key)),
    },
  }
}

/** Lists the given fields and conditions that `rule` uses. */
export const fieldsUsed = (
  { from = [], to = [], when = [] }: Rule,
  sources: readonly (keyof Source)[],
  operations: readonly (keyof Operation)[],
  isCondition: (key: string) => boolean,
): string[] => {
  const names = [
    ...from.flatMap(({ source = {} }) => sources.filter((name) => source[name]?.length)),
    ...to.flatMap(({ operation = {} }) => operations.filter((name) => operation[name]?.length)),
    ...when.map(({ key }) => key).filter(isCondition),
  ]
  return [...new Set(names)]
}

export const omitFields = <T extends object>(fields: T, names: readonly (keyof T)[]): T =>
  Object.fromEntries(Object.entries(fields).filter(([name]) => !names.includes(name as keyof T))) as T

export const hasFields = (fields: Source | Operation): boolean => Object.values(fields).some((list) => list?.length)
