/** What does not hold, or cannot be known offline: why, and how many conditions did hold before it. */
export type Mismatch = { readonly is: 'no' | 'unknown'; readonly because: string; readonly met: number }

/** Whether a condition holds. */
export type MatchResult = { readonly is: 'yes' } | Mismatch

export const yes: MatchResult = { is: 'yes' }
export const no = (because: string): Mismatch => ({ is: 'no', because, met: 0 })
export const unknown = (because: string): Mismatch => ({ is: 'unknown', because, met: 0 })

/** Every one must hold, in this order: the first that does not is the reason. */
export const all = (truths: readonly MatchResult[]): MatchResult => {
  const failed = truths.filter((truth) => truth.is !== 'yes')
  const first = failed.find(({ is }) => is === 'no') ?? failed[0]
  if (first === undefined) return yes
  const before = truths.slice(0, truths.indexOf(first)).filter(({ is }) => is === 'yes').length
  return { ...first, met: before + first.met }
}

/** One must hold. Where none does, the nearest miss is the reason. */
export const any = (truths: readonly MatchResult[]): MatchResult =>
  truths.some(({ is }) => is === 'yes') ? yes : (nearestMiss(truths, (truth) => truth)?.miss ?? no('there is nothing'))

/** Of items none of which holds, the one that came nearest to it: it might hold, or more of its conditions do. The first, of several. */
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
