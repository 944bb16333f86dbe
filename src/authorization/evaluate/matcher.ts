import { joinOr } from '../../base/printed.ts'
import { all, any, type MatchResult, no, unknown, yes } from './match-result.ts'

/** A fact that rules are about. */
export type Attribute = {
  /** What a sentence calls it. */
  readonly name: string
  readonly value: string | undefined
  /** Why it is certain that there is no value, which no pattern matches. A value that is undefined without a reason is not known. */
  readonly absent?: string | undefined
  /** Undefined where the pattern is none that can be compared. */
  readonly matches: (pattern: string) => boolean | undefined
}

/**
 * One pair of fields of a rule, `methods` and `notMethods`: some value must match, and no other value may. A field that is absent or
 * empty matches everything.
 */
export const matchValues = (
  fact: Attribute,
  values: readonly string[] = [],
  notValues: readonly string[] = [],
): MatchResult =>
  all([
    values.length === 0 ? yes : any(values.map((pattern) => compare(fact, pattern, `is not ${joinOr(values)}`))),
    ...notValues.map((pattern) => unless(compare(fact, pattern, ''), `${fact.name} ${fact.value} is excluded`)),
  ])

const compare = ({ name, value, absent, matches }: Attribute, pattern: string, otherwise: string): MatchResult => {
  if (value === undefined) return absent === undefined ? unknown(`the ${name} is not known`) : no(absent)
  const isMatch = matches(pattern)
  if (isMatch === undefined) return unknown(`the ${name} cannot be compared with ${pattern}`)
  return isMatch ? yes : no(`${name} ${value} ${otherwise}`)
}

const unless = (truth: MatchResult, because: string): MatchResult => {
  if (truth.is === 'unknown') return truth
  return truth.is === 'yes' ? no(because) : yes
}
