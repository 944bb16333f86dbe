/** A literal segment of a path template: RFC 3986 pchar without the asterisk. */
const LITERAL = /^[-a-zA-Z0-9._~%!$&'()+,;:@=]+$/

const ANY_NUMBER = '{**}'
const isOperator = (segment: string): boolean => segment === '{*}' || segment === ANY_NUMBER

/**
 * Returns the reason why Istio would refuse `path`, and with it the whole object. Undefined if it would not. Braces are for the operators
 * `{*}` (one segment) and `{**}` (any number, with no operator after it). A path with an operator has no wildcard and no empty segment
 * (istio.io/latest/docs/reference/config/security/authorization-policy/#Operation).
 */
export const pathProblem = (path: string): string | undefined => {
  if (path === '') return 'expected a path that is not empty'
  const segments = trimmed(path.split('/'))
  const literals = segments.filter((segment) => !isOperator(segment))
  if (literals.some((literal) => /[{}]/.test(literal)))
    return 'expected braces only in {*} and {**}, each a whole segment of the path'
  const afterAny = segments.slice(segments.indexOf(ANY_NUMBER) + 1)
  if (segments.includes(ANY_NUMBER) && afterAny.some(isOperator)) return 'expected no {*} or {**} after {**}'
  if (literals.length < segments.length && !literals.every((literal) => LITERAL.test(literal)))
    return 'expected neither wildcards nor empty segments in a path with {*} or {**}'
  return undefined
}

/** Returns the reason why a waypoint would refuse a path template, and with it its whole configuration: Envoy requires a slash at the beginning. */
export const templateProblem = (path: string): string | undefined =>
  path.split('/').some(isOperator) && !path.startsWith('/')
    ? 'expected a path with {*} or {**} that begins with /'
    : undefined

/** Returns the reason why no request has such a path. Istio accepts it, and it never matches. */
export const unmatchedPath = (path: string): string | undefined => {
  if (UNSENT.test(path)) return 'expected a path without blanks and control characters, which no request has'
  return /^[/*]/.test(path) ? undefined : 'expected a path that begins with /, or *suffix: no request has another'
}

/** Returns the reason why no request has such a host. */
export const unmatchedHost = (host: string): string | undefined =>
  UNSENT.test(host) ? 'expected a host without blanks and control characters, which no request has' : undefined

/** Characters that neither a request line nor a host name has (RFC 9112, section 3). */
const UNSENT = /[\0-\x20\x7f]/

/** Tells if an asterisk within the path is literal. Istio has wildcards only at its start and its end. */
export const hasLiteralAsterisk = (path: string): boolean =>
  (path.startsWith('*') ? path.slice(1) : path.replace(/\*$/, '')).includes('*') && !path.split('/').some(isOperator)

/** Removes empty segments at both ends of a path. */
const trimmed = (segments: readonly string[]): readonly string[] => {
  const isFilled = (segment: string) => segment !== ''
  return segments.slice(Math.max(0, segments.findIndex(isFilled)), segments.findLastIndex(isFilled) + 1)
}
