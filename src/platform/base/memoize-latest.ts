import { createBoundedMap } from './bounded-map.ts'

/** Memoizes a function for the latest `most` keys. The values are shared and must not be changed. */
export const memoizeLatest = <K, T extends object>(of: (key: K) => T, most: number): ((key: K) => T) => {
  const kept = createBoundedMap<T, K>(most)
  return (key) => {
    const value = kept.get(key) ?? of(key)
    kept.set(key, value, 1)
    return value
  }
}
