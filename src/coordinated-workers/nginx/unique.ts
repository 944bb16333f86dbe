import { groups } from '../../istio/groups.ts'

/** One item of each key, in the order of the keys. */
export const uniqueBy = <T>(items: readonly T[], keyOf: (item: T) => string): T[] =>
  groups(items, keyOf).flatMap(([, same]) => same.slice(0, 1))
