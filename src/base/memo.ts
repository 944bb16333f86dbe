/** A function's value for a text: worked out once for as long as the text keeps coming. Nobody may change it. */
export type Memo = <T>(text: string, of: (text: string) => T) => T

type Values = Map<unknown, Map<string, unknown>>

/** Long texts are of lists, which hardly ever come again. */
const LONGEST = 64 * 1024

/** Keeps the values of the last texts, of so many characters in all, give or take the half. */
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
