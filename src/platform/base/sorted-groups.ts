/** Groups items by key, in the order of the keys. */
export const sortedGroups = <T>(items: readonly T[], keyOf: (item: T) => string): [key: string, items: T[]][] =>
  [...Map.groupBy(items, keyOf)].toSorted(([one], [other]) => compare(one, other))

/** Compares by UTF-16 code units, which is the same on any machine. */
const compare = (one: string, other: string): number => {
  if (one === other) return 0
  return one < other ? -1 : 1
}
