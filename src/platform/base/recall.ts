import { isDeepStrictEqual } from 'node:util'
import { createBoundedMap } from './bounded-map.ts'

/** Applies a pure function, or recalls what it made of an equal input the last time under this name. The value is shared and must not be changed. */
export type Recall = <I, T>(name: string, of: (input: I) => T, input: I) => T

/** Opens what is recalled for a key; `characters` says about how much its inputs and values take by now. */
export type Recalls = (key: string, characters: () => number) => Recall

type Made = { readonly input: unknown; readonly value: unknown; readonly size: number }

/**
 * Creates a memory of the last inputs, for as many keys as take `characters` in all. Inputs are compared member by member: those that share what
 * they are made of, as parsed texts that come again do, are compared at once.
 */
export const createRecalls = (characters = 4 * 1024 * 1024): Recalls => {
  const kept = createBoundedMap<Map<string, Made>>(characters)
  return (key, size) => {
    const made = kept.get(key) ?? new Map<string, Made>()
    return <I, T>(name: string, of: (input: I) => T, input: I): T => {
      const last = made.get(name)
      const value = last && isDeepStrictEqual(last.input, input) ? (last.value as T) : of(input)
      // the latest input shares more with the next one
      made.set(name, { input, value, size: size() })
      // a step that ends early has read less than what is kept of the one before
      kept.set(key, made, Math.max(...[...made.values()].map((one) => one.size)))
      return value
    }
  }
}
