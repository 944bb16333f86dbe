import { isDeepStrictEqual } from 'node:util'

/** Tells if a value is a record, as opposed to a list. */
export const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Returns the record's own value under `key`. Keys come from input, and may be `constructor`. */
export const ownValue = <T>(record: Readonly<Record<string, T>> | undefined, key: string): T | undefined =>
  record !== undefined && Object.hasOwn(record, key) ? record[key] : undefined

/** Returns the record with changes. Undefined ones remove a field. It is the same record if nothing changes. */
export const changed = <T extends object>(record: T, changes: Partial<T>): T => {
  const isSame = (Object.keys(changes) as (keyof T)[]).every((key) => isDeepStrictEqual(changes[key], record[key]))
  return isSame ? record : defined({ ...record, ...changes })
}

/** Removes undefined fields, as a round trip through JSON would. */
export const defined = <T extends object>(record: T): T =>
  Object.values(record).includes(undefined)
    ? (Object.fromEntries(Object.entries(record).filter(([, value]) => value !== undefined)) as T)
    : record
