import { joinOr } from '../../../platform/base/printed.ts'
import { all, any, type MatchResult, no, unknown, yes } from './match-result.ts'

/** An attribute of a request that rules compare. */
export type Attribute = {
  /** The attribute's name in a sentence. */
  readonly name: string
  readonly value: string | undefined
  /** The reason why the attribute has no value, so that no pattern matches. Without a reason, an undefined value is unknown. */
  readonly absent?: string | undefined
  /** Compares with a pattern; undefined where that is impossible. */
  readonly matches: (pattern: string) => boolean | undefined
}

/**
 * Matches a pair of fields of a rule, such as `methods` and `notMethods`. One of `values` must match, and none of `notValues`. An absent or empty field
 * matches everything.
 */
export const matchValues = (
  attribute: Attribute,
  values: readonly string[] = [],
  notValues: readonly string[] = [],
): MatchResult => {
  if (values.length + notValues.length === 0) return yes
  // the text is built on failure only, because most values match
  const otherwise = () => `is not ${joinOr(values)}`
  return all([
    values.length === 0 ? yes : any(values.map((pattern) => compare(attribute, pattern, otherwise))),
    ...notValues.map((pattern) =>
      unless(
        compare(attribute, pattern, () => ''),
        `${attribute.name} ${attribute.value} is excluded`,
      ),
    ),
  ])
}

const compare = (
  { name, value, absent, matches }: Attribute,
  pattern: string,
  otherwise: () => string,
): MatchResult => {
  if (value === undefined) return absent === undefined ? unknown(`the ${name} is not known`) : no(absent)
  const isMatch = matches(pattern)
  if (isMatch === undefined) return unknown(`the ${name} cannot be compared with ${pattern}`)
  return isMatch ? yes : no(`${name} ${value} ${otherwise()}`)
}

const unless = (result: MatchResult, because: string): MatchResult => {
  if (result.is === 'unknown') return result
  return result.is === 'yes' ? no(because) : yes
}
