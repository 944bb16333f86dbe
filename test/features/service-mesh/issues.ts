import type * as z from 'zod'

/** Where and why `schema` refuses `value`. */
export const issuesOf = (schema: z.ZodType, value: unknown) =>
  schema.safeParse(value).error?.issues.map(({ path, message }) => ({ path, message })) ?? 'accepted'
