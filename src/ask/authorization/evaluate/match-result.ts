/** A condition that fails, or is unknown offline: the reason, and the number of conditions met before it. */
type Mismatch = { readonly is: 'no' | 'unknown'; readonly because: string; readonly met: number }

export type MatchResult = { readonly is: 'yes' } | Mismatch

export const yes: MatchResult = { is: 'yes' }
export const no = (because: string): Mismatch => ({ is: 'no', because, met: 0 })
export const unknown = (because: string): Mismatch => ({ is: 'unknown', because, met: 0 })

/** Requires all conditions. The first failed one is the reason. */
export const all = (results: readonly MatchResult[]): MatchResult => {
  const failed = results.filter((result) => result.is !== 'yes')
  const first = failed.find(({ is }) => is === 'no') ?? failed[0]
  if (first === undefined) return yes
  const before = results.slice(0, results.indexOf(first)).filter(({ is }) => is === 'yes').length
  return { ...first, met: before + first.met }
}

/** Requires one condition; without any, the nearest miss is the reason. */
export const any = (results: readonly MatchResult[]): MatchResult =>
  results.some(({ is }) => is === 'yes')
    ? yes
    : (nearestMiss(results, (result) => result)?.miss ?? no('there is nothing'))

/** Finds the item nearest to a match: an unknown one, else the one with the most conditions met. The first of several wins. */
export const nearestMiss = <T>(
  items: readonly T[],
  truthOf: (item: T) => MatchResult,
): { item: T; miss: Mismatch } | undefined => {
  const misses = items.flatMap((item) => {
    const miss = truthOf(item)
    return miss.is === 'yes' ? [] : [{ item, miss }]
  })
  return misses.toSorted((one, other) => distance(one.miss) - distance(other.miss))[0]
}

const distance = ({ is, met }: Mismatch): number => (is === 'unknown' ? Number.MIN_SAFE_INTEGER : 0) - met
