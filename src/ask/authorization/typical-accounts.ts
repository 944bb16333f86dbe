import type { Rule } from '../../mesh/istio/authorization-policy.ts'
import { valuesIn } from '../../mesh/istio/rule-values.ts'
import type { Identity } from './evaluate/request-context.ts'

/** Accounts as a value of a rule says them: each part is a name or a pattern, and what is absent is open. */
export type NamedAccounts = { readonly [part in keyof Identity]?: string | undefined }

/** Lists what a rule of a policy in `home` says of accounts. */
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

/** Reads what a principal says, `TRUST_DOMAIN/ns/NAMESPACE/sa/ACCOUNT`, or a pattern of them, of which the rest is open. */
export const accountsOfPrincipal = (pattern: string): NamedAccounts => {
  const pieces = pattern.split('/').slice(-PIECES)
  // what begins with a wildcard is known from its end
  const before = pattern.startsWith('*') ? Array.from({ length: PIECES - pieces.length }, () => '*') : []
  const [trustDomain, , namespace, , serviceAccount] = [...before, ...pieces]
  return { trustDomain, namespace, serviceAccount }
}

/** Stands for whatever a pattern leaves open. No name has it, so that no other pattern matches it by chance. */
export const OTHER = '~'

const MOST_NAMES = 2_000

export const isName = (part: string | undefined): part is string => part !== undefined && !part.includes('*')

/**
 * Lists a name for each set of these values that one may match together: all names, and one for each beginning of a pattern with each end. Undefined
 * where these are too many, or a value has several wildcards, of which no beginning and end say what it matches.
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
