import { Unavailable } from '../base/errors.ts'
import { TooLong } from './answer.ts'
import { isExpired } from './api-error.ts'
import type { KubernetesObject } from './objects.ts'
import type { Keep } from './shared-lists.ts'

/** The limit of objects in one answer, so that the text of a whole list is never in memory at once. */
const PAGE = 500

/** The limit of characters in an answer with more than one object. Five hundred memories may be 500 MB. */
const MOST_CHARACTERS = 2 * 1024 * 1024

/** The limit of restarts for a list that expires during the read. */
const MOST_BEGINNINGS = 3

/** Reads one page of a list. Rejects with TooLong beyond `mostCharacters`. */
type ReadPage = (query: string, mostCharacters?: number) => Promise<KubernetesObject>

/**
 * Lists page by page (kubernetes.io/docs/reference/using-api/api-concepts/#retrieving-large-results-sets-in-chunks), and keeps the result of `of` for each
 * page. All pages have the same revision. If that expires, the list restarts. Throws Unavailable if this happens too often.
 */
export const listPages = async <T>(labelSelector: string | undefined, read: ReadPage, of: Keep<T>): Promise<T[]> => {
  let expired: unknown
  for (let beginnings = 0; beginnings < MOST_BEGINNINGS; beginnings += 1) {
    const pages = await readPages(labelSelector, read, of).catch((error: unknown) => {
      if (!isExpired(error)) throw error
      expired = error
    })
    if (pages !== undefined) return pages
  }
  throw new Unavailable(expired instanceof Error ? expired.message : 'the list expired', { cause: expired })
}

const readPages = async <T>(labelSelector: string | undefined, read: ReadPage, of: Keep<T>): Promise<T[]> => {
  const pages: T[] = []
  let limit = PAGE
  for (let next: string | undefined; ; ) {
    const page = await readPage(read, queryFor(labelSelector, limit, next), limit)
    if (page instanceof TooLong) {
      limit = Math.max(1, Math.min(page.objects, Math.floor(limit / 2)))
      continue
    }
    const { items, metadata } = page
    pages.push(await of((items ?? []) as KubernetesObject[]))
    if (!metadata?.continue) return pages
    next = String(metadata.continue)
  }
}

const readPage = async (read: ReadPage, query: string, limit: number): Promise<KubernetesObject | TooLong> => {
  try {
    return await (limit === 1 ? read(query) : read(query, MOST_CHARACTERS))
  } catch (error) {
    if (error instanceof TooLong) return error
    throw error
  }
}

const queryFor = (labelSelector: string | undefined, limit: number, next: string | undefined): string => {
  const parameters = {
    ...(labelSelector !== undefined && { labelSelector }),
    limit: String(limit),
    ...(next !== undefined && { continue: next }),
  }
  const pairs = Object.entries(parameters).map(([key, value]) => `${key}=${encodeURIComponent(value)}`)
  return `?${pairs.join('&')}`
}
