import { isDeepStrictEqual } from 'node:util'
import { createBoundedMap } from './bounded-map.ts'

/** Applies a pure function, or returns its last result under this name if the input is equal. The value is shared and must not be changed. */
export type Recall = <I, T>(name: string, of: (input: I) => T, input: I) => T

/** Opens the kept results of a key. `characters` returns the approximate size of its inputs and values. */
export type Recalls = (key: string, characters: () => number) => Recall

type Made = { readonly input: unknown; readonly value: unknown; readonly size: number }

/**
 * Creates a memory of the last inputs, for as many keys as fit into `characters` in total. Inputs are compared member by member. Members that are the same
 * objects, such as memoized parsed texts, compare at once.
 */
export const createRecalls = (characters = 4 * 1024 * 1024): Recalls => {
  const kept = createBoundedMap<Map<string, Made>>(characters)
  return (key, size) => {
    const made = kept.get(key) ?? new Map<string, Made>()
    return <I, T>(name: string, of: (input: I) => T, input: I): T => {
      const last = made.get(name)
      const value = last && isDeepStrictEqual(last.input, input) ? (last.value as T) : of(input)
      // the latest input shares more objects with the next one
      made.set(name, { input, value, size: size() })
      // a step that ends early has read less than the previous step, whose results are kept
      kept.set(key, made, Math.max(...[...made.values()].map((one) => one.size)))
      return value
    }
  }
}
