/** Indexes items by any number of keys each. */
export const indexOf = <T>(
  items: Iterable<T>,
  keysOf: (item: T) => Iterable<string>,
): ReadonlyMap<string, readonly T[]> => {
  const index = new Map<string, T[]>()
  for (const item of items)
    for (const key of keysOf(item)) {
      const known = index.get(key)
      if (known) known.push(item)
      else index.set(key, [item])
    }
  return index
}

/** Lists the items under any of the keys, each once. */
export const under = <T>(index: ReadonlyMap<string, readonly T[]>, keys: Iterable<string>): T[] => {
  const found = new Set<T>()
  for (const key of keys) for (const item of index.get(key) ?? []) found.add(item)
  return [...found]
}
