import { joinOr } from '../../../platform/base/printed.ts'
import { all, any, type MatchResult, no, unknown, yes } from './match-result.ts'

/** A attribute that rules are about. */
export type Attribute = {
  /** The attribute's name in a sentence. */
  readonly name: string
  readonly value: string | undefined
  /** The reason why no value exists, so that no pattern matches; undefined with an undefined value is unknown. */
  readonly absent?: string | undefined
  /** Compares with a pattern; undefined where that is impossible. */
  readonly matches: (pattern: string) => boolean | undefined
}

/**
 * One pair of fields of a rule, `methods` and `notMethods`: some value must match, and no other value may. A field that is absent or
 * empty matches everything.
 */
export const matchValues = (
  attribute: Attribute,
  values: readonly string[] = [],
  notValues: readonly string[] = [],
): MatchResult => {
  if (values.length + notValues.length === 0) return yes
  // most match, and words are needed for none of these
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
