/** Keeps what a function made of the latest few texts. The values are shared and must not be changed. */
export const keepingLatest = <T>(of: (text: string) => T, most = 8): ((text: string) => T) => {
  const kept = new Map<string, T>()
  return (text) => {
    const value = kept.has(text) ? (kept.get(text) as T) : of(text)
    kept.delete(text)
    kept.set(text, value)
    for (const oldest of kept.keys()) if (kept.size > most) kept.delete(oldest)
    return value
  }
}
