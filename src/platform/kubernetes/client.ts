import type { Clock } from '../base/clock.ts'
import { createMemo, type Memo } from '../base/memo.ts'
import type { Trace } from '../base/trace.ts'
import type { YieldTurn } from '../base/yield-turn.ts'
import {
  isInternal,
  isTransient,
  OutOfTime,
  parseAnswer,
  retryAfterMilliseconds,
  unavailableError,
  withinBound,
} from './answer.ts'
import { ifServed, isNotFound } from './api-error.ts'
import { isManagedBy } from './field-managers.ts'
import { type Kind, type KubernetesObject, nameOf, objectKey, pathOf, type Reference, referenceTo } from './objects.ts'
import { listPages } from './pages.ts'
import type { Keep, ShareLists } from './shared-lists.ts'

/**
 * Makes one HTTP exchange with the API server. Rejects after `timeoutMilliseconds` without an answer, and with ConfigurationError if no answer is
 * possible.
 */
export type Transport = (request: TransportRequest) => Promise<TransportAnswer>

export type TransportRequest = {
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  path: string
  headers: Record<string, string>
  body?: string | undefined
  timeoutMilliseconds: number
  /** The limit of an answer. Of a longer one, only the beginning is needed. */
  mostCharacters?: number | undefined
  /** The number of previous attempts. */
  resends?: number
}

export type TransportAnswer = { status: number; headers: Record<string, string | string[] | undefined>; body: string }

export type PatchOperation = { op: 'test' | 'add' | 'remove'; path: string; value?: unknown }

/**
 * The calls of a step. Each rejects with ApiError for a refusal. It rejects with Unavailable if the API server is away, slow, busy (429) or failing (5xx)
 * until the deadline. A write of one object that keeps failing counts as a refusal before that.
 */
export type Kubernetes = {
  /** Shares values parsed from equal answers. */
  readonly memo: Memo
  /** Lets other work run between the objects of a list. */
  readonly yieldTurn: YieldTurn
  /** The characters of all answers so far, which is about the size of all objects read. */
  answered(): number
  find(reference: Reference): Promise<KubernetesObject | undefined>
  /** Lists a kind in one namespace, or in all without one, a page at a time. */
  list(
    kind: Kind,
    namespace: string | undefined,
    labelSelector?: string,
    options?: ListOptions,
  ): Promise<KubernetesObject[]>
  /** Lists from the API server's cache, without waiting until that is current. A listed object did exist, and may be gone. */
  listCached(kind: Kind, namespace: string | undefined, labelSelector: string): Promise<KubernetesObject[]>
  /**
   * Lists page by page, together with others that list the same at the same time. It keeps only the result of `of` for each page, because the objects may
   * not fit into memory.
   */
  pages<T>(kind: Kind, namespace: string | undefined, labelSelector: string | undefined, of: Keep<T>): Promise<T[]>
  /** Counts kept parts of lists, in characters, until the step ends. Throws Unavailable, 429, if others keep too much. */
  keep(characters: number): void
  create(object: KubernetesObject, manager?: string): Promise<KubernetesObject>
  /** Rejects if `metadata.resourceVersion` is no longer current. */
  replace(object: KubernetesObject, manager: string): Promise<KubernetesObject>
  /**
   * Applies server-side. `metadata.uid` prevents the creation of a deleted object. `force` takes fields of other managers, and is only for objects that
   * are entirely ours. `dryRun` validates without a write.
   */
  apply(
    object: KubernetesObject,
    manager: string,
    options?: { force: boolean; dryRun?: boolean },
  ): Promise<KubernetesObject>
  patch(reference: Reference, operations: readonly PatchOperation[], manager: string): Promise<KubernetesObject>
  /**
   * Deletes the object in the version that was read. A newer version or another object of the same name is refused with 409. A missing object is no error.
   */
  remove(object: KubernetesObject): Promise<void>
}

export type ListOptions = {
  /** Keeps only objects that one of these field managers wrote. Labels prove nothing, because anybody may set them. */
  readonly managers?: readonly string[] | undefined
  /** Reduces each object to the part that is kept. The name identifies the function. */
  readonly trim?: { readonly name: string; of(object: KubernetesObject): KubernetesObject | undefined } | undefined
  /** Counts the kept part of each page, in characters. Throws Unavailable if it is too much. */
  readonly keep?: Kubernetes['keep']
}

type Options = {
  transport: Transport
  clock: Clock
  /** Milliseconds since the epoch. No call starts or continues beyond it. */
  deadline: number
  callTimeoutMilliseconds?: number
  /** Shares values that other clients have parsed. */
  memo?: Memo
  /** Shares lists with other clients. */
  share?: ShareLists
  /** Headers for each call. */
  trace?: Trace | undefined
}

const FIRST_DELAY_MILLISECONDS = 100
const LONGEST_DELAY_MILLISECONDS = 2_000

/** The limit of the delay for retries of a write that fails in the API server. All such writes share one limit of retries. */
const LONGEST_DELAY_OF_FAILURES_MILLISECONDS = 400
const MOST_RETRIES_OF_FAILURES = 6

/** Creates a client that retries transient failures until `deadline`. Each step needs its own. */
export const createKubernetes = ({
  transport,
  clock,
  deadline,
  callTimeoutMilliseconds = 5_000,
  memo = createMemo(),
  share = (_, read, of) => read(of),
  trace = {},
}: Options): Kubernetes => {
  type Call = {
    method: TransportRequest['method']
    path: string
    contentType?: string
    body?: unknown
    /** The expected kind. It is null for a deletion, which returns a Status or the object. */
    kind: string | null
    about: string
    /** The step can go on without this call, so a lasting failure counts as a refusal. */
    isOptional?: boolean
    mostCharacters?: number
  }

  const budget = deadline - clock.now()
  const usedUp = (left: number): string =>
    budget <= 0
      ? 'the time of this request was used up before its first call'
      : `the ${Math.round(budget / 100) / 10} s for all calls of this request are used up${left < budget / 2 ? ', most of them by the calls before' : ''}`
  let failures = 0
  let answered = 0

  /** Tells if a failing write is given up, so that other writes go on. */
  const isGivenUp = ({ isOptional }: Call, result: Error, delay: number): boolean => {
    if (!isOptional || !isInternal(result)) return false
    failures += 1
    return delay > LONGEST_DELAY_OF_FAILURES_MILLISECONDS || failures > MOST_RETRIES_OF_FAILURES
  }

  const attempt = async (
    { method, path, contentType, body, mostCharacters }: Call,
    resends: number,
  ): Promise<TransportAnswer | Error> => {
    const headers: Record<string, string> = { ...trace, accept: 'application/json' }
    if (contentType !== undefined) headers['content-type'] = contentType
    const left = deadline - clock.now()
    if (left <= 0) return new OutOfTime(`the API server was not asked: ${usedUp(left)}`)
    const timeoutMilliseconds = Math.min(callTimeoutMilliseconds, left)
    try {
      const text = body === undefined ? undefined : JSON.stringify(body)
      const request = { method, path, headers, body: text, timeoutMilliseconds, resends }
      const answer = await transport({ ...request, ...(mostCharacters !== undefined && { mostCharacters }) })
      answered += answer.body.length
      return withinBound(answer, mostCharacters)
    } catch (error) {
      return explained(error instanceof Error ? error : new Error(String(error)), left)
    }
  }

  /** Says why a call had less time than others, if that ended it. */
  const explained = (cause: Error, left: number): Error =>
    left >= callTimeoutMilliseconds || clock.now() < deadline
      ? cause
      : new OutOfTime(`the API server did not answer (${cause.message}): ${usedUp(left)}`, { cause })

  const send = async (call: Call): Promise<KubernetesObject> => {
    let delay = FIRST_DELAY_MILLISECONDS
    for (let resends = 0; ; resends += 1, delay = Math.min(2 * delay, LONGEST_DELAY_MILLISECONDS)) {
      const answer = await attempt(call, resends)
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

  const listed: Kubernetes['pages'] = (kind, namespace, labelSelector, of) => {
    const read = (query: string, mostCharacters?: number) =>
      call(
        'GET',
        { kind, namespace },
        { verb: 'LIST', kind: `${kind}List`, query, ...(mostCharacters !== undefined && { mostCharacters }) },
      )
    return listPages(labelSelector, read, of)
  }

  const pages: Kubernetes['pages'] = (kind, namespace, labelSelector, of) =>
    share(`${nameOf({ kind, namespace })}?${labelSelector}`, (keep) => listed(kind, namespace, labelSelector, keep), of)

  return {
    memo,
    yieldTurn: clock.yieldTurn,
    answered: () => answered,
    find: async (reference) => await ifServed(call('GET', reference)),
    list: async (kind, namespace, labelSelector, options) => {
      // lists of all namespaces are read a few at a time, because a page of each is in memory
      const read = namespace === undefined ? pages : listed
      return (await read(kind, namespace, labelSelector, (objects) => keptOf(objects, options))).flat()
    },
    listCached: async (kind, namespace, labelSelector) => {
      const query = `?labelSelector=${encodeURIComponent(labelSelector)}&resourceVersion=0`
      const { items } = await call('GET', { kind, namespace }, { verb: 'LIST', kind: `${kind}List`, query })
      return (items ?? []) as KubernetesObject[]
    },
    pages,
    keep: () => undefined,
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

/** Selects the objects to keep, reduces them, and counts them. */
export const keptOf = (objects: KubernetesObject[], { managers, trim, keep }: ListOptions = {}): KubernetesObject[] => {
  const ours = managers === undefined ? objects : objects.filter((object) => isManagedBy(object, managers))
  const kept = trim === undefined ? ours : ours.flatMap((object) => trim.of(object) ?? [])
  if (kept.length > 0) keep?.(JSON.stringify(kept).length)
  return kept
}

/** Creates a client that counts the kept parts of lists. */
export const counting = (kubernetes: Kubernetes, keep: Kubernetes['keep']): Kubernetes => ({
  ...kubernetes,
  keep,
  list: (kind, namespace, selector, options) => kubernetes.list(kind, namespace, selector, { ...options, keep }),
})

/** Names a list, as a key for its answer. */
export const nameOfList = (...[kind, namespace, selector, options]: Parameters<Kubernetes['list']>): string =>
  `${nameOf({ kind, namespace })}?${selector} ${options?.managers ?? ''} ${options?.trim?.name ?? ''}`

/** Creates a client that reads each object once. A step sees one snapshot, with its own creations and patches. */
export const readingOnce = (kubernetes: Kubernetes): Kubernetes => {
  const reads = new Map<string, Promise<unknown>>()
  const once = <T>(key: string, read: () => Promise<T>): Promise<T> => {
    const known = reads.get(key) as Promise<T> | undefined
    if (known) return known
    const reading = read()
    // callers get the rejection; without callers it must not count as unhandled
    reading.catch(() => undefined)
    reads.set(key, reading)
    return reading
  }
  const renewing = async (writing: Promise<KubernetesObject>): Promise<KubernetesObject> => {
    const written = await writing
    reads.set(objectKey(written), Promise.resolve(written))
    return written
  }
  return {
    ...kubernetes,
    create: (object, manager) => renewing(kubernetes.create(object, manager)),
    patch: (reference, operations, manager) => renewing(kubernetes.patch(reference, operations, manager)),
    find: (reference) => once(nameOf(reference), () => kubernetes.find(reference)),
    list: (kind, namespace, selector, options) =>
      once(nameOfList(kind, namespace, selector, options), () => kubernetes.list(kind, namespace, selector, options)),
  }
}

/**
 * Creates a client for several writes to one object. Each write is bound to the observed version, or to the client's last write. Changes by others are
 * refused as usual.
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
