import * as z from 'zod'
import { problemOf } from '../base/printed.ts'
import { type Read, read } from '../relations/databag.ts'
import type { Databag } from '../state/relation.ts'

/** The JSON that a databag has under `key`; undefined where that is nothing or null. */
export const jsonAt = (databag: Databag, key: string): unknown => {
  const json = read(databag, key, z.unknown())
  return 'value' in json ? (json.value ?? undefined) : undefined
}

/** `value` as `schema` wants it, or in one line what is wrong with it; `name` is what the line calls it. */
export const check = <T>(value: unknown, schema: z.ZodType<T>, name: string): Read<T> => {
  const result = schema.safeParse(value)
  return result.success ? { value: result.data } : { unreadable: problemOf(result.error, value, name) }
}

/** The value of `key`, undefined when it is absent. */
export const readKey = <T>(databag: Databag, key: string, schema: z.ZodType<T>, name: string): Read<T> => {
  const value = jsonAt(databag, key)
  return value === undefined ? { value: undefined } : check(value, schema, `${name}.${key}`)
}

/** What `next` makes of the value, where there is one. */
export const andThen = <T, U>(one: Read<T>, next: (value: T) => Read<U>): Read<U> => {
  if ('unreadable' in one) return one
  return one.value === undefined ? { value: undefined } : next(one.value)
}

export const valuesOf = <T>(reads: readonly Read<T>[]): T[] =>
  reads.flatMap((one) => ('unreadable' in one || one.value === undefined ? [] : [one.value]))

export const problemsOf = (reads: readonly Read<unknown>[]): string[] =>
  reads.flatMap((one) => ('unreadable' in one ? [one.unreadable] : []))
