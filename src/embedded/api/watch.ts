import type { JsonMap } from '../../platform/base/json.ts'
import type { StoredObject } from '../../platform/kubernetes/managed-fields/object.ts'
import { apiVersionOf, type Kind } from '../kinds/kind.ts'
import type { Change, Store } from '../store/store.ts'
import { expired, versionOf } from './options.ts'
import type { Target } from './route.ts'
import { selected } from './select.ts'

export type WatchEvent = { readonly type: Change['type'] | 'BOOKMARK' | 'ERROR'; readonly object: JsonMap }

type Matches = (object: StoredObject) => boolean

/** A change as one watch sees it: an object that leaves the selection is deleted, one that joins it is added. */
const seen = ({ type, object, previous }: Change, matches: Matches): WatchEvent | undefined => {
  const before = previous !== undefined && matches(previous)
  const after = type !== 'DELETED' && matches(object)
  if (after) return { type: before ? 'MODIFIED' : 'ADDED', object }
  if (!before) return undefined
  const { resourceVersion } = object.metadata
  const last = type === 'DELETED' ? object : { ...previous, metadata: { ...previous.metadata, resourceVersion } }
  return { type: 'DELETED', object: last }
}

const bookmark = (kind: Kind, revision: number): WatchEvent => ({
  type: 'BOOKMARK',
  object: {
    kind: kind.kind,
    apiVersion: apiVersionOf(kind),
    metadata: { resourceVersion: String(revision), annotations: { 'k8s.io/initial-events-end': 'true' } },
  },
})

const initialEvents = (store: Store, { kind, namespace }: Target, matches: Matches): WatchEvent[] =>
  store
    .list(kind, namespace)
    .filter(matches)
    .map((object) => ({ type: 'ADDED', object }))

/**
 * Sends the present objects, or the changes since `resourceVersion`, and then every change until it is closed. See
 * https://kubernetes.io/docs/reference/using-api/api-concepts/#efficient-detection-of-changes
 */
export const openWatch = (
  store: Store,
  target: Target,
  { query, send }: { query: URLSearchParams; send: (event: WatchEvent) => void },
): (() => void) => {
  const { kind, namespace } = target
  const isSelected = selected(query)
  const matches: Matches = (object) =>
    isSelected(object) && (target.name === undefined || target.name === object.metadata.name)
  const from = versionOf(query.get('resourceVersion'))
  const started = store.revision
  const pass = (change: Change): void => {
    if (change.kind !== kind || (namespace !== undefined && change.object.metadata.namespace !== namespace)) return
    const event = seen(change, matches)
    if (event) send(event)
  }
  const history = store.since(from)
  const listed = from === 0 || query.get('sendInitialEvents') === 'true'
  if (listed) for (const event of initialEvents(store, target, matches)) send(event)
  else if (history) history.forEach(pass)
  else send({ type: 'ERROR', object: expired(from, started).status })
  if (query.get('sendInitialEvents') === 'true') send(bookmark(kind, started))
  return store.subscribe((change) => {
    if (change.revision > started) pass(change)
  })
}
