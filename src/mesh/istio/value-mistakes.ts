import { hasLiteralAsterisk, unmatchedHost, unmatchedPath } from '../../core/policies/path-template.ts'
import { joinAnd } from '../../platform/base/printed.ts'
import { type AuthorizationPolicySpec, isForPods, targetsOf } from './authorization-policy.ts'
import type { PolicyMistake } from './mistake.ts'
import { valuesIn } from './rule-values.ts'

/** Lists values that Istio accepts but no client or request has, and values with a `*` that is no wildcard. */
export const valueMistakes = (spec: AuthorizationPolicySpec): PolicyMistake[] =>
  (spec.rules ?? []).flatMap((rule, index) =>
    valuesIn(rule).flatMap(({ of, values, isExcluding }) =>
      CHECKS.filter(({ isAbout }) => isAbout(of, spec)).flatMap(({ id, isMistaken, says }) => {
        const found = [...new Set(values.filter(isMistaken))]
        const mistaken = { isExcluding, isOne: found.length === 1, which: `${listed(found)} of rules[${index}]` }
        return found.length === 0 ? [] : [{ id, says: says(mistaken) }]
      }),
    ),
  )

const listed = (values: readonly string[]): string => joinAnd(values.map((value) => value.slice(0, 120)))

type Mistaken = { readonly isExcluding: boolean; readonly isOne: boolean; readonly which: string }

type Check = {
  readonly id: PolicyMistake['id']
  readonly isAbout: (attribute: string, spec: AuthorizationPolicySpec) => boolean
  readonly isMistaken: (value: string) => boolean
  readonly says: (mistaken: Mistaken) => string
}

const verbOf = ({ isExcluding }: Mistaken): string => (isExcluding ? 'excludes' : 'matches')

const ofClients =
  (why: string): Check['says'] =>
  (mistaken) =>
    `${verbOf(mistaken)} nobody by ${mistaken.which}: ${why}`

const ofRequests = (what: string, of: readonly string[], isMistaken: Check['isMistaken'], why: string): Check => ({
  id: 'value-unmatched',
  isAbout: (attribute) => of.includes(attribute),
  isMistaken,
  says: (mistaken) =>
    `${verbOf(mistaken)} nothing by the ${what}${mistaken.isOne ? '' : 's'} ${mistaken.which}: ${why}`,
})

const PRINCIPAL = 'source.principal'
const isPrefixed = (value: string): boolean => value.startsWith('spiffe://')

/**
 * Tells if an attribute supports wildcards only at the ends. In namespaces, a waypoint supports them anywhere. Other attributes have none, or Istio
 * refuses them in the middle.
 */
const hasWildcards = (attribute: string, spec: AuthorizationPolicySpec): boolean =>
  attribute === 'source.namespace'
    ? isForPods(spec)
    : [PRINCIPAL, 'path', 'host', 'connection.sni'].includes(attribute) || /^request\.(headers|auth)/.test(attribute)

const CHECKS: readonly Check[] = [
  {
    id: 'principal-spiffe',
    isAbout: (attribute) => attribute === PRINCIPAL,
    isMistaken: isPrefixed,
    says: ofClients('principals are written without spiffe://'),
  },
  {
    id: 'principal-malformed',
    // clients of a Gateway may have certificates of other issuers
    isAbout: (attribute, spec) => attribute === PRINCIPAL && !targetsOf(spec).some(({ kind }) => kind === 'Gateway'),
    isMistaken: (value) => !value.includes('*') && !isPrefixed(value) && !/^[^/]+\/ns\/[^/]+\/sa\/[^/]+$/.test(value),
    says: ofClients('a principal is TRUST_DOMAIN/ns/NAMESPACE/sa/ACCOUNT, or has a wildcard'),
  },
  ofRequests('method', ['request.headers[:method]'], (value) => /[a-z]/.test(value), 'methods are in upper case'),
  ofRequests(
    'path',
    ['path'],
    (value) => unmatchedPath(value) !== undefined,
    'a path begins with /, or a pattern of it with *, and has no blanks',
  ),
  ofRequests('path', ['path'], (value) => value.includes('?'), 'a path is compared without its query'),
  ofRequests(
    'host',
    ['host', 'request.headers[:authority]'],
    (value) => value.includes('/') || unmatchedHost(value) !== undefined,
    'a host has no scheme, path or blanks',
  ),
  {
    id: 'wildcard-literal',
    isAbout: hasWildcards,
    isMistaken: hasLiteralAsterisk,
    says: ({ which }) =>
      `takes the * within ${which} literally: a wildcard is one * at the start or the end of a value`,
  },
]
