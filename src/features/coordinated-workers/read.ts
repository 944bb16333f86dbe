import * as z from 'zod'
import { type DatabagValue, readValue } from '../../core/relations/databags/databag.ts'
import type { Databag } from '../../core/state/relation.ts'
import { describeProblem } from '../../platform/base/printed.ts'

const Json = z.unknown()

/** Parses the JSON under `key`. Returns undefined if it is absent or null. */
export const jsonAt = (databag: Databag, key: string): unknown => {
  const json = readValue(databag, key, Json)
  return 'value' in json ? (json.value ?? undefined) : undefined
}

/** Validates `value`, or returns the problem in one line, which starts with `name`. */
export const check = <T>(value: unknown, schema: z.ZodType<T>, name: string): DatabagValue<T> => {
  const result = schema.safeParse(value)
  return result.success ? { value: result.data } : { unreadable: describeProblem(result.error, value, name) }
}

/** Reads the value of `key`. It is undefined if the key is absent. */
export const readKey = <T>(databag: Databag, key: string, schema: z.ZodType<T>, name: string): DatabagValue<T> => {
  const value = jsonAt(databag, key)
  return value === undefined ? { value: undefined } : check(value, schema, `${name}.${key}`)
}

/** Applies `next` to the value, if there is one. */
export const andThen = <T, U>(one: DatabagValue<T>, next: (value: T) => DatabagValue<U>): DatabagValue<U> => {
  if ('unreadable' in one) return one
  return one.value === undefined ? { value: undefined } : next(one.value)
}

export const selectValues = <T>(reads: readonly DatabagValue<T>[]): T[] =>
  reads.flatMap((one) => ('unreadable' in one || one.value === undefined ? [] : [one.value]))

export const selectProblems = (reads: readonly DatabagValue<unknown>[]): string[] =>
  reads.flatMap((one) => ('unreadable' in one ? [one.unreadable] : []))
