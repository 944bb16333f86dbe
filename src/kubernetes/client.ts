import type { Clock } from '../base/clock.ts'
import { createMemo, type Memo } from '../base/memo.ts'
import type { Trace } from '../base/trace.ts'
import { isInternal, isTransient, parseAnswer, retryAfterMilliseconds, unavailableError } from './answer.ts'
import { isNotFound } from './api-error.ts'
import {
  apiVersionOf,
  type Kind,
  type KubernetesObject,
  nameOf,
  pathOf,
  type Reference,
  referenceTo,
} from './objects.ts'

/** One HTTP exchange with the API server. Rejects when there was no answer within `timeoutMilliseconds`, and with ConfigurationError when none can come. */
export type Transport = (request: TransportRequest) => Promise<TransportAnswer>

export type TransportRequest = {
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  path: string
  headers: Record<string, string>
  body?: string | undefined
  timeoutMilliseconds: number
}

export type TransportAnswer = { status: number; headers: Record<string, string | string[] | undefined>; body: string }

export type PatchOperation = { op: 'test' | 'add' | 'remove'; path: string; value?: unknown }

/**
 * The calls a step makes. Each rejects with ApiError when the API server refuses it, and with Unavailable when the API server is
 * away, slow, busy (429) or failing (5xx) until the deadline. Where it fails at the write of one object, that is soon taken for a refusal.
 */
export type Kubernetes = {
  /** Whatever is read from what it answers is read from the same text once. */
  readonly memo: Memo
  find(reference: Reference): Promise<KubernetesObject | undefined>
  /** Without a namespace, those of all. */
  list(kind: Kind, namespace: string | undefined, labelSelector?: string): Promise<KubernetesObject[]>
  create(object: KubernetesObject, manager?: string): Promise<KubernetesObject>
  /** Fails when `metadata.resourceVersion` is no longer the current one. */
  replace(object: KubernetesObject, manager: string): Promise<KubernetesObject>
  /**
   * Server-side apply. `metadata.uid` keeps it from creating an object that is gone; `force` takes fields that other managers hold, and
   * is only for objects that are ours as a whole; `dryRun` has it judged, and writes nothing.
   */
  apply(
    object: KubernetesObject,
    manager: string,
    options?: { force: boolean; dryRun?: boolean },
  ): Promise<KubernetesObject>
  patch(reference: Reference, operations: readonly PatchOperation[], manager: string): Promise<KubernetesObject>
  /** Deletes what was seen: a namesake, or a newer version, is left alone and refused with 409. Gone already is fine. */
  remove(object: KubernetesObject): Promise<void>
}

type Options = {
  transport: Transport
  clock: Clock
  /** Milliseconds since the epoch; no call is started or waited for beyond it. */
  deadline: number
  callTimeoutMilliseconds?: number
  /** What other clients have parsed. */
  memo?: Memo
  /** Headers that each call passes on. */
  trace?: Trace | undefined
}

const FIRST_DELAY_MILLISECONDS = 100
const LONGEST_DELAY_MILLISECONDS = 2_000

/** Where the API server says that it failed, a write is sent again until the delay is longer, and all writes together so many times. */
const LONGEST_DELAY_OF_FAILURES_MILLISECONDS = 400
const MOST_RETRIES_OF_FAILURES = 6

/** A client that retries what is worth retrying until `deadline`. It keeps next to nothing: make one for each step. */
export const createKubernetes = ({
  transport,
  clock,
  deadline,
  callTimeoutMilliseconds = 5_000,
  memo = createMemo(),
  trace = {},
}: Options): Kubernetes => {
  type Call = {
    method: TransportRequest['method']
    path: string
    contentType?: string
    body?: unknown
    /** What is answered when all is well; null for a deletion, which may answer with a Status or with the object. */
    kind: string | null
    about: string
    /** A step can do without it: what fails lastingly is refused. */
    isOptional?: boolean
  }

  let failures = 0

  /** Whether a write that the API server failed at is given up: there are others to be done. */
  const isGivenUp = ({ isOptional }: Call, result: Error, delay: number): boolean => {
    if (!isOptional || !isInternal(result)) return false
    failures += 1
    return delay > LONGEST_DELAY_OF_FAILURES_MILLISECONDS || failures > MOST_RETRIES_OF_FAILURES
  }

  const attempt = async ({ method, path, contentType, body }: Call): Promise<TransportAnswer | Error> => {
    const headers: Record<string, string> = { ...trace, accept: 'application/json' }
    if (contentType !== undefined) headers['content-type'] = contentType
    const timeoutMilliseconds = Math.max(1, Math.min(callTimeoutMilliseconds, deadline - clock.now()))
    try {
      const text = body === undefined ? undefined : JSON.stringify(body)
      return await transport({ method, path, headers, body: text, timeoutMilliseconds })
    } catch (error) {
      return error instanceof Error ? error : new Error(String(error))
    }
  }

  const send = async (call: Call): Promise<KubernetesObject> => {
    for (let delay = FIRST_DELAY_MILLISECONDS; ; delay = Math.min(2 * delay, LONGEST_DELAY_MILLISECONDS)) {
      const answer = await attempt(call)
      const result = parseAnswer(call.about, call.kind, answer, memo)
      if (!(result instanceof Error)) return result
      if (!isTransient(answer, result) || isGivenUp(call, result, delay)) throw result
      const wait = Math.max(delay * (0.5 + clock.random()), retryAfterMilliseconds(answer))
      if (clock.now() + wait >= deadline) throw unavailableError(call.about, answer, result)
      await clock.sleep(wait)
    }
  }

  type Details = Partial<Omit<Call, 'method' | 'about'>> & { verb?: string; query?: string }

  const call = (
    method: Call['method'],
    reference: Reference,
    { verb = method, path = pathOf(reference), query = '', kind = reference.kind, ...content }: Details = {},
  ): Promise<KubernetesObject> =>
    send({ method, path: `${path}${query}`, kind, about: `${verb} ${nameOf(reference)}`, ...content })

  return {
    memo,
    find: async (reference) => {
      try {
        return await call('GET', reference)
      } catch (error) {
        if (isNotFound(error)) return undefined
        throw error
      }
    },
    list: async (kind, namespace, labelSelector) => {
      const query = labelSelector === undefined ? '' : `?labelSelector=${encodeURIComponent(labelSelector)}`
      const { items } = await call('GET', { kind, namespace }, { verb: 'LIST', kind: `${kind}List`, query })
      // items of a list carry neither kind nor apiVersion
      return ((items ?? []) as KubernetesObject[]).map((item) => ({ ...item, apiVersion: apiVersionOf(kind), kind }))
    },
    create: (object, manager) => {
      const { name: _, ...collection } = referenceTo(object)
      const query = manager === undefined ? '' : managedBy(manager)
      const path = pathOf(collection)
      return call('POST', referenceTo(object), { verb: 'CREATE', path, query, contentType: JSON_TYPE, body: object })
    },
    replace: (object, manager) =>
      call('PUT', referenceTo(object), {
        verb: 'UPDATE',
        query: managedBy(manager),
        contentType: JSON_TYPE,
        body: object,
      }),
    apply: (object, manager, { force, dryRun = false } = { force: false }) =>
      call('PATCH', referenceTo(object), {
        verb: dryRun ? 'TRY' : 'APPLY',
        query: `${managedBy(manager)}${force ? '&force=true' : ''}${dryRun ? '&dryRun=All&fieldValidation=Strict' : ''}`,
        contentType: APPLY_TYPE,
        body: object,
        isOptional: true,
      }),
    patch: (reference, operations, manager) =>
      call('PATCH', reference, {
        query: managedBy(manager),
        contentType: PATCH_TYPE,
        body: operations,
        isOptional: true,
      }),
    remove: async (object) => {
      const { uid, resourceVersion } = object.metadata
      const body = { apiVersion: 'v1', kind: 'DeleteOptions', preconditions: { uid, resourceVersion } }
      try {
        await call('DELETE', referenceTo(object), { kind: null, contentType: JSON_TYPE, body, isOptional: true })
      } catch (error) {
        if (!isNotFound(error)) throw error
      }
    },
  }
}

const JSON_TYPE = 'application/json'
const PATCH_TYPE = 'application/json-patch+json'
const APPLY_TYPE = 'application/apply-patch+yaml' // YAML contains JSON

const managedBy = (manager: string) => `?fieldManager=${encodeURIComponent(manager)}`

/** A client that reads nothing twice: what a look at the cluster finds is one picture, in which what it makes or patches is as it is then. */
export const readingOnce = (kubernetes: Kubernetes): Kubernetes => {
  const reads = new Map<string, Promise<unknown>>()
  const once = <T>(key: string, read: () => Promise<T>): Promise<T> => {
    const known = reads.get(key) as Promise<T> | undefined
    if (known) return known
    const reading = read()
    // whoever needs it sees why it failed; nobody may need it
    reading.catch(() => undefined)
    reads.set(key, reading)
    return reading
  }
  const renewing = async (writing: Promise<KubernetesObject>): Promise<KubernetesObject> => {
    const written = await writing
    reads.set(nameOf({ kind: written.kind, ...written.metadata }), Promise.resolve(written))
    return written
  }
  return {
    ...kubernetes,
    create: (object, manager) => renewing(kubernetes.create(object, manager)),
    patch: (reference, operations, manager) => renewing(kubernetes.patch(reference, operations, manager)),
    find: (reference) => once(nameOf(reference), () => kubernetes.find(reference)),
    list: (kind, namespace, selector) =>
      once(`${nameOf({ kind, namespace })}?${selector}`, () => kubernetes.list(kind, namespace, selector)),
  }
}

/**
 * A client for several writes to one object in a row: each is bound to what was observed, or to what the last of them made of that. Whatever
 * somebody else made of it is refused as ever.
 */
export const followingOwnWrites = (kubernetes: Kubernetes): Kubernetes => {
  const own = new Map<string, { seen: Set<string>; latest: string }>()

  const latestOf = (uid: string | undefined, seen: string | undefined): string | undefined => {
    const known = uid === undefined ? undefined : own.get(uid)
    return known && seen !== undefined && known.seen.has(seen) ? known.latest : seen
  }
  const follow = (before: string | undefined, { metadata: { uid, resourceVersion } }: KubernetesObject): void => {
    if (uid === undefined || before === undefined || resourceVersion === undefined) return
    const seen = own.get(uid)?.seen ?? new Set()
    own.set(uid, { seen: seen.add(before).add(resourceVersion), latest: resourceVersion })
  }
  const bound = (object: KubernetesObject): KubernetesObject => {
    const { uid, resourceVersion } = object.metadata
    const latest = latestOf(uid, resourceVersion)
    return latest === resourceVersion || latest === undefined
      ? object
      : { ...object, metadata: { ...object.metadata, resourceVersion: latest } }
  }
  return {
    ...kubernetes,
    apply: async (object, manager, options) => {
      const applied = await kubernetes.apply(bound(object), manager, options)
      follow(object.metadata.resourceVersion, applied)
      return applied
    },
    patch: async (reference, operations, manager) => {
      const tested = (path: string) => operations.find((one) => one.op === 'test' && one.path === path)?.value
      const [uid, seen] = [tested('/metadata/uid'), tested('/metadata/resourceVersion')] as (string | undefined)[]
      const latest = operations.map((one) =>
        one.path === '/metadata/resourceVersion' ? { ...one, value: latestOf(uid, seen) } : one,
      )
      const patched = await kubernetes.patch(reference, latest, manager)
      follow(seen, patched)
      return patched
    },
    remove: (object) => kubernetes.remove(bound(object)),
  }
}
