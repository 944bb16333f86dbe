import { copyOf, type JsonMap, mapOf } from '../../platform/base/json.ts'
import { perObject } from '../../platform/base/per-object.ts'
import type { StoredObject } from '../../platform/kubernetes/managed-fields/object.ts'
import type { KubernetesObject } from '../../platform/kubernetes/objects.ts'
import { kindOf } from '../kinds/kinds.ts'
import { notAllowed, Refusal } from '../kinds/status.ts'
import { Store } from '../store/store.ts'
import type { World } from '../store/world.ts'
import type { Result } from './call.ts'
import { decodeObject } from './decode.ts'
import { discovery } from './discovery.ts'
import { openapi, openapiV2Message } from './openapi.ts'
import { onResource } from './resources.ts'
import { type ResourceAttributes, type Reviewers, reviewOf } from './reviews.ts'
import { type Answer, NoSuchPath, type Request, targetOf } from './route.ts'
import { ensureNamespace, plant } from './seed.ts'
import { openWatch, type WatchEvent } from './watch.ts'

export type { Answer, Request, ResourceAttributes, WatchEvent }

export type EmbeddedApiOptions = Partial<Reviewers> & {
  readonly now?: () => Date
  readonly uid?: () => string
}

export type ChangeEvent = { readonly type: 'ADDED' | 'MODIFIED' | 'DELETED'; readonly object: KubernetesObject }

/** Names an object. */
export type Reference = {
  readonly apiVersion: string
  readonly kind: string
  readonly metadata: { readonly name: string; readonly namespace?: string | undefined }
}

export type EmbeddedApi = {
  /** Answers a request at once. */
  handle(request: Request): Answer
  /** Tells every change of every kind after it was stored, in order; the answer ends it. */
  subscribe(listener: (event: ChangeEvent) => void): () => void
  /** Opens a watch: the answer is what to close it with, or the refusal. */
  watch(request: Request, send: (event: WatchEvent) => void): (() => void) | Answer
  /** Everything that is stored, as it is: nobody may change it. It takes as long as there are objects. */
  objects(): readonly KubernetesObject[]
  /** One object that is stored, as it is. */
  find(reference: Reference): KubernetesObject | undefined
  /** Creates objects on behalf of a field manager, and the namespaces they are in. */
  seed(objects: readonly KubernetesObject[], options?: { manager?: string }): void
  /** Another server that has what this one has now; nobody is subscribed to it. */
  copy(options?: EmbeddedApiOptions): EmbeddedApi
}

/** Stored objects are mostly read more often than they are written. A list changes with each write, and most of its items do not. */
const textOf = perObject((object: JsonMap): string => {
  const { items, ...list } = object
  if (!Array.isArray(items)) return JSON.stringify(object)
  return `${JSON.stringify(list).slice(0, -1)},"items":[${items.map(mapOf).map(textOf).join(',')}]}`
})

// See https://www.rfc-editor.org/rfc/rfc7234#section-5.5
const warned = (warnings: readonly string[]): Record<string, string> =>
  warnings.length === 0 ? {} : { warning: warnings.map((each) => `299 - ${JSON.stringify(each)}`).join(', ') }

const json = ({ status, object, warnings = [] }: Result): Answer => ({
  status,
  headers: { 'content-type': 'application/json', ...warned(warnings) },
  body: textOf(object),
})

const text = (status: number, body: string): Answer => ({
  status,
  headers: { 'content-type': 'text/plain; charset=utf-8' },
  body,
})

const refused = (error: unknown): Answer => {
  if (error instanceof NoSuchPath) return text(404, '404 page not found\n')
  if (error instanceof Refusal) return json({ status: error.code, object: error.status })
  throw error
}

const protobufOfOpenapi = 'application/com.github.proto-openapi.spec.v2.v1.0+protobuf'

const split = (path: string): { pathname: string; query: URLSearchParams } => {
  const [pathname = '', ...query] = path.split('?')
  return { pathname, query: new URLSearchParams(query.join('?')) }
}

/** The documents and reviews that are not resources. */
const special = (request: Request, pathname: string, reviewers: Reviewers): Answer | undefined => {
  if (pathname === '/openapi/v2' && request.headers.accept?.includes('protobuf'))
    return { status: 200, headers: { 'content-type': protobufOfOpenapi }, body: openapiV2Message }
  const document = discovery.get(pathname) ?? openapi.get(pathname)
  if (document) return request.method === 'GET' ? json({ status: 200, object: document }) : refused(notAllowed())
  const review = reviewOf(pathname)
  if (review === undefined) return undefined
  if (request.method !== 'POST') throw notAllowed()
  const { object } = decodeObject(request, review.kind)
  return json({ status: 201, object: review.answer(object, reviewers) })
}

const secondsOf = (date: Date): string => `${date.toISOString().slice(0, 19)}Z`

/**
 * A Kubernetes API server in memory: stores objects and answers as a 1.36 server does, without a transport and without
 * waiting. It runs nothing: workloads get their pods in the same write, and these are ready at once.
 */
export const createEmbeddedApi = (options: EmbeddedApiOptions = {}): EmbeddedApi => serve(new Store(), options)

const serve = (
  store: Store,
  {
    now = () => new Date(),
    uid = () => crypto.randomUUID(),
    tokens = {},
    audiences = ['https://kubernetes.default.svc'],
    allows = () => false,
  }: EmbeddedApiOptions,
): EmbeddedApi => {
  const world: World = { store, uid, now: () => secondsOf(now()) }

  const watch: EmbeddedApi['watch'] = (request, send) => {
    const { pathname, query } = split(request.path)
    try {
      return openWatch(store, targetOf(pathname), { query, send })
    } catch (error) {
      return refused(error)
    }
  }

  const answer = (request: Request): Answer => {
    const { pathname, query } = split(request.path)
    try {
      const answered = special(request, pathname, { tokens, audiences, allows })
      if (answered) return answered
      return json(onResource({ world, request, query, target: targetOf(pathname) }))
    } catch (error) {
      return refused(error)
    }
  }

  ensureNamespace(world, 'default')

  return {
    handle: (request) => {
      const answered = answer(request)
      store.announce()
      return answered
    },
    watch,
    subscribe: (listener) =>
      store.subscribe(({ type, object }) => listener({ type, object: object as KubernetesObject })),
    objects: () => store.all().map(({ object }) => object as KubernetesObject),
    find: ({ apiVersion, kind, metadata: { namespace, name } }) => {
      const found = kindOf(apiVersion, kind)
      return found && (store.get(found, namespace, name) as KubernetesObject | undefined)
    },
    seed: (objects, { manager = 'seed' } = {}) => {
      for (const object of objects) plant(world, copyOf(object as JsonMap) as StoredObject, manager)
      store.announce()
    },
    copy: (other = {}) => serve(store.copy(), other),
  }
}
