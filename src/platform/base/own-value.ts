import { isDeepStrictEqual } from 'node:util'

/** The value a record itself has under `key`. Keys come from outside, and `constructor` is a good label. */
export const ownValue = <T>(record: Readonly<Record<string, T>> | undefined, key: string): T | undefined =>
  record !== undefined && Object.hasOwn(record, key) ? record[key] : undefined

/** The record with changes, of which undefined ones take a field away; the same record where they change nothing. */
export const changed = <T extends object>(record: T, changes: Partial<T>): T => {
  const isSame = (Object.keys(changes) as (keyof T)[]).every((key) => isDeepStrictEqual(changes[key], record[key]))
  return isSame ? record : defined({ ...record, ...changes })
}

/** The record without the fields that are undefined: as it is read back from JSON. */
export const defined = <T extends object>(record: T): T =>
  Object.values(record).includes(undefined)
    ? (Object.fromEntries(Object.entries(record).filter(([, value]) => value !== undefined)) as T)
    : record
