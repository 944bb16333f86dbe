import type { Rule } from '../../mesh/istio/authorization-policy.ts'
import { valuesIn } from '../../mesh/istio/rule-values.ts'
import type { Identity } from './evaluate/request-context.ts'

/** Accounts as a rule names them. Each part is a name or a pattern. An absent part matches all. */
export type NamedAccounts = { readonly [part in keyof Identity]?: string | undefined }

/** Lists the accounts that a rule of a policy in `home` names. */
export const accountsIn = (rule: Rule, home: string): NamedAccounts[] =>
  valuesIn(rule).flatMap(({ of, values }): NamedAccounts[] => {
    if (of === 'source.principal') return values.map(accountsOfPrincipal)
    if (of === 'source.namespace') return values.map((namespace) => ({ namespace }))
    if (of === 'source.trustDomain') return values.map((trustDomain) => ({ trustDomain }))
    if (of !== 'source.serviceAccount') return []
    return values.map((value) => {
      const [serviceAccount = '', namespace = home] = value.split('/').toReversed()
      return { namespace, serviceAccount }
    })
  })

const PIECES = 5

/** Parses a principal `TRUST_DOMAIN/ns/NAMESPACE/sa/ACCOUNT`, or a pattern of one. Missing parts match all. */
export const accountsOfPrincipal = (pattern: string): NamedAccounts => {
  const pieces = pattern.split('/').slice(-PIECES)
  // a pattern with a leading wildcard is read from its end
  const before = pattern.startsWith('*') ? Array.from({ length: PIECES - pieces.length }, () => '*') : []
  const [trustDomain, , namespace, , serviceAccount] = [...before, ...pieces]
  return { trustDomain, namespace, serviceAccount }
}

/** Stands for the text that a wildcard leaves open. It is no valid name, so no other pattern matches it by chance. */
export const OTHER = '~'

const MOST_NAMES = 2_000

export const isName = (part: string | undefined): part is string => part !== undefined && !part.includes('*')

/**
 * Lists a name for each set of these values that one name may match: all names, and one for each combination of a pattern's beginning and end. Returns
 * undefined if these are too many, or if a value has several wildcards.
 */
export const typicalNames = (values: readonly string[]): string[] | undefined => {
  const patterns = values.filter((value) => value.includes('*'))
  if (patterns.some((pattern) => pattern.split('*').length > 2)) return undefined
  const beginnings = new Set(['', ...patterns.map((pattern) => pattern.slice(0, pattern.indexOf('*')))])
  const ends = new Set(['', ...patterns.map((pattern) => pattern.slice(pattern.indexOf('*') + 1))])
  if (beginnings.size * ends.size > MOST_NAMES) return undefined
  const others = [...beginnings].flatMap((beginning) => [...ends].map((end) => `${beginning}${OTHER}${end}`))
  return [...new Set([...values.filter(isName), ...others])]
}
