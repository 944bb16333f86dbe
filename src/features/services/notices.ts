import * as z from 'zod'

/** The last announcement about the application's settings, or about the custom data of a peer. */
export const Notice = z.strictObject({
  /** The number counts all announcements of the application, so a later one has a higher number. */
  number: z.int().nonnegative(),
  /** A hash of the data. Absent once there are none. */
  hash: z.string().optional(),
  /** Absent for the application's own settings. */
  relation: z.strictObject({ id: z.int(), endpoint: z.string(), application: z.string() }).optional(),
  /** True until the sink has accepted the announcement. */
  pending: z.literal(true).optional(),
})
export type Notice = z.infer<typeof Notice>

/** Marks notices as accepted. Those without data are dropped. */
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
