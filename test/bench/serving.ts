import type { Transport, TransportAnswer } from '../../src/platform/kubernetes/client.ts'
import type { KubernetesObject } from '../../src/platform/kubernetes/objects.ts'
import { isKind, type Kind, pathOf } from '../../src/platform/kubernetes/objects.ts'

/** Answers GET as an API server does that holds these objects: by name, and in pages without selectors. */
export const serving = (objects: readonly KubernetesObject[]): Transport => {
  const lists = new Map<string, KubernetesObject[]>()
  const named = new Map<string, KubernetesObject>()
  for (const one of objects) {
    const { kind, metadata } = one
    if (!isKind(kind)) continue
    named.set(pathOf({ kind, namespace: metadata.namespace, name: metadata.name }), one)
    for (const path of new Set([pathOf({ kind }), pathOf({ kind, namespace: metadata.namespace })]))
      push(lists, path, one)
  }
  // a dry run of what is not there yet, which is taken
  return async ({ method, path, body = '' }) => (method === 'PATCH' ? ok(JSON.parse(body)) : answer(path, lists, named))
}

const answer = (
  path: string,
  lists: ReadonlyMap<string, readonly KubernetesObject[]>,
  named: ReadonlyMap<string, KubernetesObject>,
): TransportAnswer => {
  const { pathname, searchParams } = new URL(path, 'http://api')
  const found = named.get(pathname)
  if (found) return ok(found)
  const kind = LISTED.find((one) => pathname.endsWith(pathOf({ kind: one }).replace(/^.*\//, '/')))
  if (kind === undefined) return missing(pathname)
  const all = searchParams.has('labelSelector') ? [] : (lists.get(pathname) ?? [])
  const [from, limit] = [Number(searchParams.get('continue') ?? 0), Number(searchParams.get('limit') ?? all.length)]
  const next = from + limit
  const metadata = { resourceVersion: '1', ...(next < all.length && { continue: String(next) }) }
  return ok({ apiVersion: 'v1', kind: `${kind}List`, metadata, items: all.slice(from, next) })
}

const LISTED: readonly Kind[] = [
  'AuthorizationPolicy',
  'PeerAuthentication',
  'Gateway',
  'GatewayClass',
  'Namespace',
  'Service',
  'StatefulSet',
  'Deployment',
  'Pod',
  'ConfigMap',
  'ServiceEntry',
]

const ok = (body: object): TransportAnswer => ({ status: 200, headers: {}, body: JSON.stringify(body) })

const missing = (path: string): TransportAnswer => ({
  status: 404,
  headers: {},
  body: JSON.stringify({
    kind: 'Status',
    apiVersion: 'v1',
    metadata: {},
    status: 'Failure',
    reason: 'NotFound',
    details: { name: path.replace(/^.*\//, '') },
    code: 404,
  }),
})

const push = (lists: Map<string, KubernetesObject[]>, path: string, one: KubernetesObject): void => {
  const known = lists.get(path)
  if (known) known.push(one)
  else lists.set(path, [one])
}
