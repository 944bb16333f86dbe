/** The entries that were set last, of at most a size in all. */
export type BoundedMap<V, K = string> = {
  get(key: K): V | undefined
  /** Sets the latest entry, and forgets the oldest while all are larger than allowed. One that is larger by itself is not kept. */
  set(key: K, value: V, size: number): void
}

/** Creates a map that is bounded by the sizes of its entries. */
export const createBoundedMap = <V, K = string>(most: number): BoundedMap<V, K> => {
  const kept = new Map<K, { readonly value: V; readonly size: number }>()
  let total = 0
  const forget = (key: K): void => {
    const known = kept.get(key)
    if (known === undefined) return
    total -= known.size
    kept.delete(key)
  }
  /** Passes all that was forgotten before, as a map keeps its place for a while. */
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
