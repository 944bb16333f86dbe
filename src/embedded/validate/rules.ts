import { at, type Json, type JsonMap, listOf, mapOf } from '../kinds/json.ts'
import type { FieldError } from '../kinds/status.ts'
import { duplicate, invalidValue, required, unsupported } from './errors.ts'
import { type Format, keyProblems, problems } from './formats.ts'

/** The errors of a field; some depend on more than its value. */
export type Rule<Context extends unknown[] = []> = (
  value: Json | undefined,
  field: string,
  ...context: Context
) => FieldError[]

/** The errors of an object; `previous` is the stored one it replaces. */
export type Check = (object: JsonMap, previous: JsonMap | undefined) => FieldError[]

/** A rule that depends on the spec of the pod. */
export type PodRule = Rule<[spec: JsonMap]>

export const isMissing = (value: Json | undefined): boolean => value === undefined || value === null || value === ''

/** The rules of a map's members, in the order in which the API server checks them. */
export const members =
  <Context extends unknown[] = []>(rules: Readonly<Record<string, Rule<Context>>>): Rule<Context> =>
  (value, field, ...context) =>
    Object.entries(rules).flatMap(([key, rule]) => rule(at(value, key), `${field}.${key}`, ...context))

/** The rule of each item of a list; it is also told the items before this one. */
export const items =
  <Context extends unknown[] = []>(
    rule: (item: JsonMap, field: string, before: JsonMap[], ...context: Context) => FieldError[],
  ): Rule<Context> =>
  (value, field, ...context) => {
    const all = listOf(value).map(mapOf)
    return all.flatMap((item, index) => rule(item, `${field}[${index}]`, all.slice(0, index), ...context))
  }

/** A rule for a value that need not be there. */
export const optional =
  <Context extends unknown[] = []>(rule: Rule<Context>): Rule<Context> =>
  (value, field, ...context) =>
    isMissing(value) ? [] : rule(value, field, ...context)

/** A rule for a value that must be there. */
export const needed =
  <Context extends unknown[] = []>(rule: Rule<Context> = () => [], why = ''): Rule<Context> =>
  (value, field, ...context) =>
    isMissing(value) ? [required(field, why)] : rule(value, field, ...context)

/** A value for which the condition is to hold. */
export const holds =
  (condition: (value: Json | undefined) => boolean, why: string): Rule =>
  (value, field) =>
    condition(value) ? [] : [invalidValue(field, value, why)]

/** The value must be one of a few, and there. */
export const requiredOneOf =
  (...values: string[]): Rule =>
  (value, field) =>
    values.includes(String(value)) ? [] : [unsupported(field, value ?? '', values)]

/** A present value must be one of a few. */
export const oneOf = (...values: string[]): Rule => optional(requiredOneOf(...values))

export const labelKey: Rule = (value = '', field) =>
  keyProblems(String(value)).map((why) => invalidValue(field, value, why))

export const formatted =
  (format: Format): Rule =>
  (value, field) =>
    problems(format, String(value)).map((why) => invalidValue(field, value, why))

export const nonNegative = holds((value) => Number(value ?? 0) >= 0, 'must be greater than or equal to 0')

export const portNumber = holds(
  (value) => Number(value) > 0 && Number(value) < 65536,
  'must be between 1 and 65535, inclusive',
)

const portName: Rule = (value, field) => {
  const name = String(value)
  const problems = [
    ...(name.length > 15 ? ['must be no more than 15 characters'] : []),
    ...(/^[-a-z0-9]+$/.test(name) ? [] : ['must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)']),
    ...(/[a-z]/.test(name) ? [] : ['must contain at least one letter (a-z)']),
    ...(name.includes('--') ? ['must not contain consecutive hyphens'] : []),
    ...(/^-|-$/.test(name) ? ['must not begin or end with a hyphen'] : []),
  ]
  return problems.map((why) => invalidValue(field, value, why))
}

export const portNumberOrName: Rule = (value, field) =>
  typeof value === 'string' ? portName(value, field) : portNumber(value ?? 0, field)

/** A name that no item before has. */
export const unique = (item: JsonMap, field: string, before: readonly JsonMap[], key = 'name'): FieldError[] =>
  !isMissing(item[key]) && before.some((other) => other[key] === item[key])
    ? [duplicate(`${field}.${key}`, item[key])]
    : []

export const namedPort: Rule<[before: readonly JsonMap[]]> = optional((value, field, before) => [
  ...portName(value, field),
  ...(before.some(({ name }) => name === value) ? [duplicate(field, value)] : []),
])

/** A value must be a count, or a percentage. */
export const countOrPercent: Rule = (value, field) => {
  if (typeof value !== 'string') return nonNegative(value, field)
  const why =
    "a valid percent string must be a numeric string followed by an ending '%' (e.g. '1%',  or '93%', regex used for validation is '[0-9]+%')"
  return /^[0-9]+%$/.test(value) ? [] : [invalidValue(field, value, why)]
}

/** A percentage must not exceed 100%. */
export const atMostAll = holds(
  (value) => typeof value !== 'string' || !(Number.parseInt(value, 10) > 100),
  'must not be greater than 100%',
)
