import { createHash } from 'node:crypto'
import type { StoredObject } from '../../platform/kubernetes/managed-fields/object.ts'
import { Refusal } from '../kinds/status.ts'
import type { Store } from '../store/store.ts'

/** A list that goes on: what is left of it, as it was when it began. */
type Rest = { readonly revision: number; readonly items: StoredObject[] }

/** Bounds the lists that are remembered; a real API server forgets one after minutes. */
const MOST = 16

const begun = new WeakMap<Store, Map<string, Rest>>()

type ListPage = Rest & { readonly next: string | undefined }

/** Divides a list by the parameters `limit` and `continue`. Throws Refusal, 410, for the token of a list that is forgotten. */
export const pageOf = (store: Store, query: URLSearchParams, all: () => StoredObject[]): ListPage => {
  const rests = begun.get(store) ?? new Map<string, Rest>()
  begun.set(store, rests)
  const token = query.get('continue')
  const rest = token ? rests.get(token) : { revision: store.revision, items: all() }
  if (rest === undefined)
    throw new Refusal(410, 'Expired', 'The provided continue parameter is too old to display a consistent list result.')
  const limit = Number(query.get('limit') ?? 0)
  if (!(limit > 0) || rest.items.length <= limit) return { ...rest, next: undefined }
  const left = { ...rest, items: rest.items.slice(limit) }
  const [first] = left.items
  const next = createHash('sha256').update(`${rest.revision} ${left.items.length} ${first?.metadata.uid}`).digest('hex')
  rests.set(next, left)
  for (const oldest of rests.keys()) if (rests.size > MOST) rests.delete(oldest)
  return { ...rest, items: rest.items.slice(0, limit), next }
}
