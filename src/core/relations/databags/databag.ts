import type * as z from 'zod'
import { describeIssues } from '../../../platform/base/issues.ts'
import { jsonOrText } from '../../../platform/base/structured-text.ts'
import type { Databag } from '../../state/relation.ts'

/** A value of a databag, or the reason why it is unreadable. Unreadable never counts as absent. */
export type DatabagValue<T> = { value: T | undefined } | { unreadable: string }

/** Reads `key` with `schema`. Undefined if it is absent. Reads the JSON strings of Juju's databags as well as the JSON values and plain strings of events. */
export const readValue = <T>(databag: Databag, key: string, schema: z.ZodType<T>): DatabagValue<T> => {
  const raw = databag[key]
  if (raw === undefined) return { value: undefined }
  const result = schema.safeParse(typeof raw === 'string' ? jsonOrText(raw) : raw)
  if (result.success) return { value: result.data }
  return { unreadable: `${key}: ${describeIssues(result.error)}` }
}
