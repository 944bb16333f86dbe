/** Memoizes a function of a text while the text keeps coming. The value is shared and must not be changed. */
export type Memo = <T>(text: string, of: (text: string) => T) => T

type Values = Map<unknown, Map<string, unknown>>

/** Bounds memoized texts: longer ones are lists, which hardly repeat. */
const LONGEST = 64 * 1024

/** Creates a memo of roughly the last `characters` characters of text. */
export const createMemo = (characters = 2 * 1024 * 1024): Memo => {
  let recent: Values = new Map()
  let earlier: Values = new Map()
  let size = 0

  const keep = (text: string, of: unknown, value: unknown): void => {
    size += text.length
    if (size > characters) [earlier, recent, size] = [recent, new Map(), text.length]
    const values = recent.get(of) ?? new Map<string, unknown>()
    recent.set(of, values.set(text, value))
  }

  return <T>(text: string, of: (text: string) => T): T => {
    const known = recent.get(of)?.get(text) as T | undefined
    if (known !== undefined) return known
    const value = (earlier.get(of)?.get(text) as T | undefined) ?? of(text)
    if (text.length <= LONGEST) keep(text, of, value)
    return value
  }
}
