import * as z from 'zod'
import { ownValue } from '../../../platform/base/own-value.ts'

const A_COUNT = 'expected a number of changes: an integer from 1 to 100'
const MINUTES = 'expected a number of minutes: an integer from 1 to 1440'

/** The number of changes that units may make to one place of the config within a time. More are churn. */
export const Churn = z.strictObject({
  changes: z.int(A_COUNT).min(1, A_COUNT).max(100, A_COUNT),
  minutes: z.int(MINUTES).min(1, MINUTES).max(1_440, MINUTES),
})
export type Churn = z.infer<typeof Churn>

/**
 * The default limit. A cycle that restarts pods repeats within minutes. People do not, and neither do data that change for good reasons.
 */
export const DEFAULT_CHURN: Churn = { changes: 5, minutes: 30 }

export const millisecondsOf = ({ minutes }: Churn): number => minutes * 60_000

/** The recent changes of each place: milliseconds since the epoch, by path. */
export const Recent = z.record(z.string(), z.array(z.int()))
export type Recent = z.infer<typeof Recent>

/** The limit of places, because a spec may differ everywhere each time. The places that changed most often stay. */
const MOST_PLACES = 100

/** Records a change of `paths` now, and drops changes older than the limit's period. */
export const withChange = (recent: Recent, paths: readonly string[], churn: Churn, now: number): Recent => {
  const changed = new Set(paths)
  const all = [...new Set([...Object.keys(recent), ...changed])].map((path) => {
    const times = (ownValue(recent, path) ?? []).filter((time) => now - time < millisecondsOf(churn))
    return [path, (changed.has(path) ? [...times, now] : times).slice(-churn.changes)] as const
  })
  const left = all.filter(([, times]) => times.length > 0)
  return Object.fromEntries(left.toSorted(([, one], [, other]) => other.length - one.length).slice(0, MOST_PLACES))
}

/** Selects the places among `paths` that have reached the limit of changes. */
export const tooOften = (recent: Recent, paths: readonly string[], churn: Churn, now: number): string[] =>
  [...new Set(paths)].filter((path) => {
    const times = (ownValue(recent, path) ?? []).filter((time) => now - time < millisecondsOf(churn))
    return times.length >= churn.changes
  })
