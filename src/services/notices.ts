import * as z from 'zod'

/** The last word about the settings of the application, or about what the other side of a relation says besides its protocol. */
export const Notice = z.strictObject({
  /** Of all announcements of the application: a later one has a higher number. */
  number: z.int().nonnegative(),
  /** A hash of what is said; absent once nothing is any more. */
  hash: z.string().optional(),
  /** Absent where they are the application's own. */
  relation: z.strictObject({ id: z.int(), endpoint: z.string(), application: z.string() }).optional(),
  /** For as long as it is not known that the sink has it. */
  pending: z.literal(true).optional(),
})
export type Notice = z.infer<typeof Notice>

/** The notices once the sink has those of these numbers; what is over is forgotten. */
export const noticed = (
  notices: Readonly<Record<string, Notice>>,
  numbers: readonly number[],
): Record<string, Notice> =>
  Object.fromEntries(
    Object.entries(notices).flatMap(([key, { pending, ...rest }]): [string, Notice][] => {
      if (pending !== undefined && !numbers.includes(rest.number)) return [[key, { ...rest, pending }]]
      return rest.hash === undefined ? [] : [[key, rest]]
    }),
  )
