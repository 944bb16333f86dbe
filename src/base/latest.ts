import { createBounded } from './bounded.ts'

/** Keeps what a function made of the latest `most` keys. The values are shared and must not be changed. */
export const keepingLatest = <K, T extends object>(of: (key: K) => T, most: number): ((key: K) => T) => {
  const kept = createBounded<T, K>(most)
  return (key) => {
    const value = kept.get(key) ?? of(key)
    kept.set(key, value, 1)
    return value
  }
}
