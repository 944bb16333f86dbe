import { createBoundedMap } from './bounded-map.ts'

/** Memoizes a function of a text, as long as the text is used. The value is shared and must not be changed. */
export type Memo = <T>(text: string, of: (text: string) => T) => T

/** Creates a memo for the latest texts of up to `characters` in total. */
export const createMemo = (characters = 4 * 1024 * 1024): Memo => {
  const kept = createBoundedMap<Map<unknown, unknown>>(characters)
  return <T>(text: string, of: (text: string) => T): T => {
    const values = kept.get(text) ?? new Map<unknown, unknown>()
    const value = (values.has(of) ? values.get(of) : of(text)) as T
    kept.set(text, values.set(of, value), text.length)
    return value
  }
}
