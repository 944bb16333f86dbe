import type { Clock } from './clock.ts'

/** The time for which a revoked permission or account may still count. */
const KEPT_MILLISECONDS = 10_000

const MOST_KEPT = 1_000

/**
 * Caches values by key for ten seconds. Rejections, and values that fail `isKept`, are not cached. A cached value that fails the caller's `isKept` is
 * requested again.
 */
export type ExpiringCache<T> = (key: string, ask: () => Promise<T>, isKept?: (value: T) => boolean) => Promise<T>

/** `answer` is absent while the request is running. Concurrent callers share the request. */
type Entry<T> = { readonly until: number; readonly value: Promise<T>; answer?: { readonly value: T } }

/** Creates a cache for decisions of the API server. Concurrent callers share one request. */
export const createExpiringCache = <T>(clock: Clock): ExpiringCache<T> => {
  const kept = new Map<string, Entry<T>>()
  return (key, ask, isKept = () => true) => {
    const known = kept.get(key)
    const counts = known?.answer === undefined || isKept(known.answer.value)
    if (known && known.until > clock.now() && counts) return known.value
    const value = ask()
    const entry: Entry<T> = { until: clock.now() + KEPT_MILLISECONDS, value }
    const forget = () => void (kept.get(key) === entry && kept.delete(key))
    value.then((answer) => {
      entry.answer = { value: answer }
      if (!isKept(answer)) forget()
    }, forget)
    kept.delete(key)
    kept.set(key, entry)
    for (const oldest of kept.keys()) if (kept.size > MOST_KEPT) kept.delete(oldest)
    return value
  }
}
