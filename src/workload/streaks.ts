import * as z from 'zod'

/** A path that differed at each of the last `times` changes of the spec. */
const Streak = z.strictObject({ path: z.string(), times: z.int().positive() })
type Streak = z.infer<typeof Streak>

/** Changes of the spec, one after another, that only `application`'s databags went with, or nothing at all; `at` is the last one's time. */
export const Run = z.strictObject({
  application: z.string().optional(),
  at: z.iso.datetime(),
  streaks: z.array(Streak),
})
export type Run = z.infer<typeof Run>

type Change = { readonly application?: string | undefined; readonly paths: readonly string[]; readonly now: Date }

/** Databags change for good reasons, too. They are an echo of our own spec when they follow it as soon as pods can restart. */
const ECHO_MILLISECONDS = 30 * 60 * 1_000

/** Of a spec that is new everywhere each time, these are enough; those that differed most often stay. */
const MOST_STREAKS = 200

/** The run with one more change, or a new one where the change does not belong to it. */
export const continued = (before: Run | undefined, { application, paths, now }: Change): Run => {
  const isSoon = before !== undefined && now.getTime() - Date.parse(before.at) <= ECHO_MILLISECONDS
  const isSame = before?.application === application && (application === undefined || isSoon)
  const times = new Map((isSame ? (before?.streaks ?? []) : []).map((streak) => [streak.path, streak.times]))
  const streaks = [...new Set(paths)].map((path) => ({ path, times: (times.get(path) ?? 0) + 1 }))
  return {
    ...(application !== undefined && { application }),
    at: now.toISOString(),
    streaks: streaks.toSorted(mostOftenFirst).slice(0, MOST_STREAKS),
  }
}

const mostOftenFirst = (one: Streak, other: Streak): number =>
  other.times - one.times || (one.path < other.path ? -1 : 1)
