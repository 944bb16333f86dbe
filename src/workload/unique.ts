import type * as z from 'zod'
import { shown } from '../base/printed.ts'

/** Refuses two items of a list with the same key. In a server-side apply the API server answers those with 500, which clients retry. */
export const refuseDuplicates =
  <T>(keyOf: (item: T) => string, pathOf: (index: number) => (string | number)[] = (index) => [index]) =>
  (items: readonly T[], context: z.RefinementCtx): void => {
    const seen = new Set<string>()
    for (const [index, item] of items.entries()) {
      const key = keyOf(item)
      if (seen.has(key)) context.addIssue({ code: 'custom', path: pathOf(index), message: `duplicate ${shown(key)}` })
      seen.add(key)
    }
  }
