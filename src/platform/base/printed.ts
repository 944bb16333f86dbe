import type * as z from 'zod'
import { isRecord } from './own-value.ts'

/** Prints a value in a few words, without descending into it. */
export const printValue = (value: unknown): string => {
  if (value === undefined) return 'nothing'
  if (typeof value === 'string') return JSON.stringify(value.length > 60 ? `${value.slice(0, 60)}…` : value)
  if (typeof value !== 'object' || value === null) return String(value)
  if (Array.isArray(value)) return value.length === 0 ? '[]' : 'a list'
  return Object.keys(value).length === 0 ? '{}' : 'an object'
}

/** Describes the first problem of `input`, as `name.path[0]: expected …, got …`, and the number of others. */
export const describeProblem = ({ issues }: z.ZodError, input: unknown, name: string): string => {
  const [first = name] = issues.slice(0, 1).map((issue) => described(issue, input, name))
  return issues.length > 1 ? `${first} (and ${issues.length - 1} more)` : first
}

const described = ({ path, message, code }: z.core.$ZodIssue, input: unknown, name: string): string => {
  const value = path.reduce(member, input)
  const isAboutTheWhole = path.length === 0 && isRecord(value)
  const isClear = isAboutTheWhole || code === 'unrecognized_keys'
  return `${name}${path.map(step).join('')}: ${message}${isClear ? '' : `, got ${printValue(value)}`}`
}

const member = (value: unknown, key: PropertyKey): unknown =>
  typeof value === 'object' && value !== null && Object.hasOwn(value, key)
    ? (value as Record<PropertyKey, unknown>)[key]
    : undefined

const step = (key: PropertyKey): string => {
  if (typeof key === 'number') return `[${key}]`
  const text = String(key)
  return /^\w{1,80}$/.test(text) ? `.${text}` : `[${printValue(text)}]`
}
const MOST_LISTED = 5

/** Joins a list for a sentence: `a, b or 97 others`. */
export const joinOr = (texts: readonly string[]): string => {
  const shown = texts.slice(0, texts.length > MOST_LISTED ? MOST_LISTED - 1 : MOST_LISTED)
  const rest = texts.length - shown.length
  const named = rest > 0 ? [...shown, `${rest} others`] : shown
  return named.length < 2 ? named.join('') : `${named.slice(0, -1).join(', ')} or ${named.at(-1)}`
}

/** Joins a list for a sentence: `a, b and 97 others`. */
export const joinAnd = (texts: readonly string[]): string => joinOr(texts).replace(/ or (?=[^,]*$)/, ' and ')
