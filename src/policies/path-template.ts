/** A literal segment of a path template: RFC 3986 pchar without the asterisk. */
const LITERAL = /^[-a-zA-Z0-9._~%!$&'()+,;:@=]+$/

const ANY_NUMBER = '{**}'
const isOperator = (segment: string): boolean => segment === '{*}' || segment === ANY_NUMBER

/**
 * Returns the reason why Istio would refuse `path`, and with it the whole object, if any. Braces are for the operators `{*}` (one
 * segment) and `{**}` (any number, with no operator after it); a path with an operator has no wildcard and no empty segment
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

/** Without the slashes that a path begins and ends with. */
const trimmed = (segments: readonly string[]): readonly string[] => {
  const isFilled = (segment: string) => segment !== ''
  return segments.slice(Math.max(0, segments.findIndex(isFilled)), segments.findLastIndex(isFilled) + 1)
}
