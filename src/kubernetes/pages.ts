import { Unavailable } from '../base/errors.ts'
import { isExpired } from './api-error.ts'
import type { KubernetesObject } from './objects.ts'

/** Bounds the objects of one answer: the text of all of them is never in memory at once. */
const PAGE = 500

/** Bounds how often a list is begun again that expired while it was read. */
const MOST_BEGINNINGS = 3

/** Reads one page of a list. */
type ReadPage = (query: string) => Promise<KubernetesObject>

/**
 * Lists page by page (kubernetes.io/docs/reference/using-api/api-concepts/#retrieving-large-results-sets-in-chunks), and keeps of each
 * what `of` makes of it. All pages are of one moment; when the API server has forgotten it, the list begins again. Throws Unavailable when
 * that happens too often.
 */
export const listPages = async <T>(
  labelSelector: string | undefined,
  read: ReadPage,
  of: (objects: KubernetesObject[]) => T,
): Promise<T[]> => {
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

const readPages = async <T>(
  labelSelector: string | undefined,
  read: ReadPage,
  of: (objects: KubernetesObject[]) => T,
): Promise<T[]> => {
  const pages: T[] = []
  for (let next: string | undefined; ; ) {
    const { items, metadata } = await read(queryFor(labelSelector, next))
    pages.push(of((items ?? []) as KubernetesObject[]))
    if (!metadata?.continue) return pages
    next = String(metadata.continue)
  }
}

const queryFor = (labelSelector: string | undefined, next: string | undefined): string => {
  const parameters = {
    ...(labelSelector !== undefined && { labelSelector }),
    limit: String(PAGE),
    ...(next !== undefined && { continue: next }),
  }
  const pairs = Object.entries(parameters).map(([key, value]) => `${key}=${encodeURIComponent(value)}`)
  return `?${pairs.join('&')}`
}
