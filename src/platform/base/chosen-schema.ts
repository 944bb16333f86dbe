import * as z from 'zod'
import { suggestKeys } from './nearest-name.ts'

/** Parses a value with the schema that `choose` picks for it. So the problems are those of the intended form, at their paths. */
export const chosenSchema = <T>(choose: (value: unknown) => z.ZodType<T>): z.ZodType<T> =>
  z.unknown().transform((value, context): T => {
    const result = choose(value).safeParse(value, { reportInput: true, error: suggestKeys })
    if (result.success) return result.data
    for (const issue of result.error.issues)
      context.addIssue(
        issue.code === 'unrecognized_keys'
          ? { ...issue, path: [...issue.path] }
          : { code: 'custom', path: [...issue.path], message: issue.message, input: issue.input },
      )
    return z.NEVER
  })
