import type { Clock } from './clock.ts'

/** A permission or account that is taken away counts no longer than this. */
const KEPT_MILLISECONDS = 10_000

const MOST_KEPT = 1_000

/** Values by key. `ask` is called once in ten seconds; a rejection, and what `isKept` says no to, is not kept. */
export type Cache<T> = (key: string, ask: () => Promise<T>, isKept?: (value: T) => boolean) => Promise<T>

/** A cache of what the API server decides; whoever asks at the same time shares one answer. */
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
