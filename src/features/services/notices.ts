import * as z from 'zod'

/** The last announcement about the application's settings, or about the data of a relation's other side. */
export const Notice = z.strictObject({
  /** Numbers count all announcements of the application; a later one has a higher number. */
  number: z.int().nonnegative(),
  /** A hash of the data; absent once there are none. */
  hash: z.string().optional(),
  /** Absent for the application's own settings. */
  relation: z.strictObject({ id: z.int(), endpoint: z.string(), application: z.string() }).optional(),
  /** True until the sink has accepted the announcement. */
  pending: z.literal(true).optional(),
})
export type Notice = z.infer<typeof Notice>

/** Marks the notices of these numbers as accepted; those without data are forgotten. */
export const markNoticed = (
  notices: Readonly<Record<string, Notice>>,
  numbers: readonly number[],
): Record<string, Notice> =>
  Object.fromEntries(
    Object.entries(notices).flatMap(([key, { pending, ...rest }]): [string, Notice][] => {
      if (pending !== undefined && !numbers.includes(rest.number)) return [[key, { ...rest, pending }]]
      return rest.hash === undefined ? [] : [[key, rest]]
    }),
  )
