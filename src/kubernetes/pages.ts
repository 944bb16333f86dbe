import { Unavailable } from '../base/errors.ts'
import { isExpired } from './api-error.ts'
import { apiVersionOf, type Kind, type KubernetesObject, type ManagedFields } from './objects.ts'

/** Bounds the objects of one answer: the text of all of them is never in memory at once. */
const PAGE = 500

/** Bounds how often a list is begun again that expired while it was read. */
const MOST_BEGINNINGS = 3

/** Reads one page of a list: an object of kind `{kind}List`. */
type ReadPage = (query: string) => Promise<KubernetesObject>

/**
 * Lists a kind page by page (kubernetes.io/docs/reference/using-api/api-concepts/#retrieving-large-results-sets-in-chunks), and keeps of each
 * what `of` makes of it. All pages are of one moment; when the API server has forgotten it, the list begins again. Throws Unavailable when
 * that happens too often.
 */
export const listPages = async <T>(
  kind: Kind,
  labelSelector: string | undefined,
  read: ReadPage,
  of: (objects: KubernetesObject[]) => T,
): Promise<T[]> => {
  let expired: unknown
  for (let beginnings = 0; beginnings < MOST_BEGINNINGS; beginnings += 1) {
    const pages = await readPages(kind, labelSelector, read, of).catch((error: unknown) => {
      if (!isExpired(error)) throw error
      expired = error
    })
    if (pages !== undefined) return pages
  }
  throw new Unavailable(expired instanceof Error ? expired.message : 'the list expired', { cause: expired })
}

const readPages = async <T>(
  kind: Kind,
  labelSelector: string | undefined,
  read: ReadPage,
  of: (objects: KubernetesObject[]) => T,
): Promise<T[]> => {
  const pages: T[] = []
  for (let next: string | undefined; ; ) {
    const { items, metadata } = await read(queryFor(labelSelector, next))
    // items of a list carry neither kind nor apiVersion
    pages.push(
      of(((items ?? []) as KubernetesObject[]).map((item) => ({ ...item, apiVersion: apiVersionOf(kind), kind }))),
    )
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

type FieldSets = Map<string, ManagedFields['fieldsV1']>

/** Makes objects share the field sets of their managers, which are the largest part of them, where they are equal. */
export const sharingFieldSets = (): ((objects: KubernetesObject[]) => KubernetesObject[]) => {
  const sets: FieldSets = new Map()
  return (objects) => objects.map((object) => withShared(object, sets))
}

const withShared = (item: KubernetesObject, sets: FieldSets): KubernetesObject => {
  const { managedFields } = item.metadata
  return managedFields === undefined
    ? item
    : { ...item, metadata: { ...item.metadata, managedFields: managedFields.map((entry) => shared(entry, sets)) } }
}

const shared = (entry: ManagedFields, sets: FieldSets): ManagedFields => {
  const key = JSON.stringify(entry.fieldsV1)
  const known = sets.get(key)
  if (known === undefined) {
    sets.set(key, entry.fieldsV1)
    return entry
  }
  return { ...entry, fieldsV1: known }
}
