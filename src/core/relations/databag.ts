import type * as z from 'zod'
import { describeIssues } from '../../platform/base/issues.ts'
import { jsonOrText } from '../../platform/base/structured-text.ts'
import type { Databag } from '../state/relation.ts'

/** A value of a databag, or why it is unreadable, which never counts as absent. */
export type DatabagValue<T> = { value: T | undefined } | { unreadable: string }

/**
 * Reads `key` with `schema`; undefined when it is absent. Juju's databags hold strings of JSON, events may carry JSON values or plain
 * strings: all are read.
 */
export const readValue = <T>(databag: Databag, key: string, schema: z.ZodType<T>): DatabagValue<T> => {
  const raw = databag[key]
  if (raw === undefined) return { value: undefined }
  const result = schema.safeParse(typeof raw === 'string' ? jsonOrText(raw) : raw)
  if (result.success) return { value: result.data }
  return { unreadable: `${key}: ${describeIssues(result.error)}` }
}
