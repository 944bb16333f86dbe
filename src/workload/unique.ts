import type * as z from 'zod'
import { shown } from '../base/printed.ts'

/**
 * A refinement that wants no two items of a list with the same key. The API server answers a repeated key in a server-side apply with
 * 500, which everybody takes for worth a retry.
 */
export const unique =
  <T>(keyOf: (item: T) => string, pathOf: (index: number) => (string | number)[] = (index) => [index]) =>
  (items: readonly T[], context: z.RefinementCtx): void => {
    const seen = new Set<string>()
    for (const [index, item] of items.entries()) {
      const key = keyOf(item)
      if (seen.has(key))
        context.addIssue({ code: 'custom', path: pathOf(index), message: `${shown(key)} is there twice` })
      seen.add(key)
    }
  }
