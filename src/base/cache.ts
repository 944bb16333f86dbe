import type { Clock } from './clock.ts'

/** Bounds the time for which a revoked permission or account still counts. */
const KEPT_MILLISECONDS = 10_000

const MOST_KEPT = 1_000

/** Caches values by key for ten seconds; rejections, and values that fail `isKept`, are not cached. */
export type Cache<T> = (key: string, ask: () => Promise<T>, isKept?: (value: T) => boolean) => Promise<T>

/** Creates a cache of the API server's decisions; concurrent callers share one request. */
export const createCache = <T>(clock: Clock): Cache<T> => {
  const kept = new Map<string, { readonly until: number; readonly value: Promise<T> }>()
  return (key, ask, isKept = () => true) => {
    const known = kept.get(key)
    if (known && known.until > clock.now()) return known.value
    const value = ask()
    const forget = () => void (kept.get(key)?.value === value && kept.delete(key))
    value.then((answer) => isKept(answer) || forget(), forget)
    kept.delete(key)
    kept.set(key, { until: clock.now() + KEPT_MILLISECONDS, value })
    for (const oldest of kept.keys()) if (kept.size > MOST_KEPT) kept.delete(oldest)
    return value
  }
}
