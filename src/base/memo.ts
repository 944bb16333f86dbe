/** Memoizes a function of a text while the text keeps coming. The value is shared and must not be changed. */
export type Memo = <T>(text: string, of: (text: string) => T) => T

/** Creates a memo of at most the last `characters` characters of text. */
export const createMemo = (characters = 4 * 1024 * 1024): Memo => {
  const kept = new Map<string, Map<unknown, unknown>>()
  let size = 0

  /** Makes it the latest one, and forgets the oldest while there are too many. */
  const keep = (text: string, values: Map<unknown, unknown>): void => {
    if (!kept.delete(text)) size += text.length
    kept.set(text, values)
    for (const [oldest] of kept) {
      if (size <= characters) return
      kept.delete(oldest)
      size -= oldest.length
    }
  }

  return <T>(text: string, of: (text: string) => T): T => {
    if (text.length > characters) return of(text)
    const values = kept.get(text) ?? new Map<unknown, unknown>()
    const value = (values.has(of) ? values.get(of) : of(text)) as T
    keep(text, values.set(of, value))
    return value
  }
}
