/** The value a record itself has under `key`. Keys come from outside, and `constructor` is a good label. */
export const at = <T>(record: Readonly<Record<string, T>> | undefined, key: string): T | undefined =>
  record !== undefined && Object.hasOwn(record, key) ? record[key] : undefined
