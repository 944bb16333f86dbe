/** The latest entries, up to a total size. */
export type BoundedMap<V, K = string> = {
  get(key: K): V | undefined
  /** Sets the latest entry, and drops the oldest ones until the total size fits. An entry that is too large by itself is not kept. */
  set(key: K, value: V, size: number): void
}

/** Creates a map with a limit on the total size of its entries. */
export const createBoundedMap = <V, K = string>(most: number): BoundedMap<V, K> => {
  const kept = new Map<K, { readonly value: V; readonly size: number }>()
  let total = 0
  const forget = (key: K): void => {
    const known = kept.get(key)
    if (known === undefined) return
    total -= known.size
    kept.delete(key)
  }
  /** Drops the oldest entries in one pass, because a new iterator would visit the places of deleted entries again. */
  const forgetOldest = (): void => {
    for (const oldest of kept.keys()) {
      if (total <= most) return
      forget(oldest)
    }
  }
  return {
    get: (key) => kept.get(key)?.value,
    set: (key, value, size) => {
      forget(key)
      if (size > most) return
      total += size
      kept.set(key, { value, size })
      if (total > most) forgetOldest()
    },
  }
}
