/** Keeps what a function made of the latest few texts, or other keys. The values are shared and must not be changed. */
export const keepingLatest = <T, K = string>(of: (key: K) => T, most = 8): ((key: K) => T) => {
  const kept = new Map<K, T>()
  return (key) => {
    const value = kept.has(key) ? (kept.get(key) as T) : of(key)
    kept.delete(key)
    kept.set(key, value)
    for (const oldest of kept.keys()) if (kept.size > most) kept.delete(oldest)
    return value
  }
}
