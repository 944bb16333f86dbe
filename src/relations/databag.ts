import type * as z from 'zod'
import { describeIssues } from '../base/issues.ts'
import { jsonOrText } from '../base/structured-text.ts'
import type { Databag } from '../state/relation.ts'

/** A value of a databag, or why it cannot be read: an unreadable value never counts as an absent one. */
export type DatabagValue<T> = { value: T | undefined } | { unreadable: string }

/**
 * The value of `key` as `schema` wants it, undefined when it is absent. Juju's databags hold strings of JSON, events may carry the JSON
 * values themselves: both are read, and a plain string where a string is wanted.
 */
export const readValue = <T>(databag: Databag, key: string, schema: z.ZodType<T>): DatabagValue<T> => {
  const raw = databag[key]
  if (raw === undefined) return { value: undefined }
  const result = schema.safeParse(typeof raw === 'string' ? jsonOrText(raw) : raw)
  if (result.success) return { value: result.data }
  return { unreadable: `${key}: ${describeIssues(result.error)}` }
}
