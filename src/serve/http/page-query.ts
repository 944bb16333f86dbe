import * as z from 'zod'

/** The parameters of a page of applications. */
export const PageQuery = z.strictObject({
  limit: z.coerce.number().int().min(1).max(500).default(100),
  /** The last name of the previous page: `{namespace}/{application}`. */
  after: z.string().default(''),
})
