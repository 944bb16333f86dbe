import type { Clock } from '../clock.ts'
import { isTransient, resultOf, retryAfterMilliseconds, unavailable } from './answer.ts'
import { isNotFound } from './api-error.ts'
import { apiVersionOf, type Kind, type KubernetesObject, nameOf, pathOf, type Reference } from './objects.ts'

/** One HTTP exchange with the API server. Rejects when there was no answer within `timeoutMilliseconds`, and with Broken when none can come. */
export type Transport = (request: TransportRequest) => Promise<TransportAnswer>

export type TransportRequest = {
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  path: string
  headers: Record<string, string>
  body?: string | undefined
  timeoutMilliseconds: number
}

export type TransportAnswer = { status: number; headers: Record<string, string | string[] | undefined>; body: string }

export type PatchOperation = { op: 'test' | 'remove'; path: string; value?: unknown }

/**
 * The calls a step makes. Each rejects with ApiError when the API server refuses it, and with Unavailable when the API server is
 * away, slow, busy (429) or failing (5xx) until the deadline.
 */
export type Kubernetes = {
  find(reference: Reference): Promise<KubernetesObject | undefined>
  list(kind: Kind, namespace: string, labelSelector?: string): Promise<KubernetesObject[]>
  create(object: KubernetesObject, manager?: string): Promise<KubernetesObject>
  /** Fails when `metadata.resourceVersion` is no longer the current one. */
  replace(object: KubernetesObject, manager: string): Promise<KubernetesObject>
  /** Server-side apply, never forced. `metadata.uid` keeps it from creating an object that is gone. */
  apply(object: KubernetesObject, manager: string): Promise<KubernetesObject>
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
}

const FIRST_DELAY_MILLISECONDS = 100
const LONGEST_DELAY_MILLISECONDS = 2_000

/** A client that retries what is worth retrying until `deadline`. It keeps nothing: make one for each step. */
export const createKubernetes = ({
  transport,
  clock,
  deadline,
  callTimeoutMilliseconds = 5_000,
}: Options): Kubernetes => {
  type Call = {
    method: TransportRequest['method']
    path: string
    contentType?: string
    body?: unknown
    /** What is answered when all is well; a deletion may answer with a Status or with the object. */
    kind?: string
    about: string
  }

  const attempt = async ({ method, path, contentType, body }: Call): Promise<TransportAnswer | Error> => {
    const headers: Record<string, string> = { accept: 'application/json' }
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
      const result = resultOf(call.about, call.kind, answer)
      if (!(result instanceof Error)) return result
      if (!isTransient(answer, result)) throw result
      const wait = Math.max(delay * (0.5 + clock.random()), retryAfterMilliseconds(answer))
      if (clock.now() + wait >= deadline) throw unavailable(call.about, answer, result)
      await clock.sleep(wait)
    }
  }

  return {
    find: async (reference) => {
      try {
        return await send({
          method: 'GET',
          path: pathOf(reference),
          kind: reference.kind,
          about: `GET ${nameOf(reference)}`,
        })
      } catch (error) {
        if (isNotFound(error)) return undefined
        throw error
      }
    },
    list: async (kind, namespace, labelSelector) => {
      const query = labelSelector === undefined ? '' : `?labelSelector=${encodeURIComponent(labelSelector)}`
      const path = `${pathOf({ kind, namespace })}${query}`
      const { items } = await send({
        method: 'GET',
        path,
        kind: `${kind}List`,
        about: `LIST ${nameOf({ kind, namespace })}`,
      })
      // items of a list carry neither kind nor apiVersion
      return ((items ?? []) as KubernetesObject[]).map((item) => ({ ...item, apiVersion: apiVersionOf(kind), kind }))
    },
    create: (object, manager) => {
      const { name: _, ...collection } = referenceTo(object)
      const path = `${pathOf(collection)}${manager === undefined ? '' : `?${managedBy(manager)}`}`
      return send({
        method: 'POST',
        path,
        contentType: JSON_TYPE,
        body: object,
        kind: object.kind,
        about: `CREATE ${nameOf(referenceTo(object))}`,
      })
    },
    replace: (object, manager) => {
      const path = `${pathOf(referenceTo(object))}?${managedBy(manager)}`
      return send({
        method: 'PUT',
        path,
        contentType: JSON_TYPE,
        body: object,
        kind: object.kind,
        about: `UPDATE ${nameOf(referenceTo(object))}`,
      })
    },
    apply: (object, manager) => {
      const path = `${pathOf(referenceTo(object))}?${managedBy(manager)}`
      return send({
        method: 'PATCH',
        path,
        contentType: APPLY_TYPE,
        body: object,
        kind: object.kind,
        about: `APPLY ${nameOf(referenceTo(object))}`,
      })
    },
    patch: (reference, operations, manager) => {
      const path = `${pathOf(reference)}?${managedBy(manager)}`
      return send({
        method: 'PATCH',
        path,
        contentType: PATCH_TYPE,
        body: operations,
        kind: reference.kind,
        about: `PATCH ${nameOf(reference)}`,
      })
    },
    remove: async (object) => {
      const { uid, resourceVersion } = object.metadata
      const body = { apiVersion: 'v1', kind: 'DeleteOptions', preconditions: { uid, resourceVersion } }
      const reference = referenceTo(object)
      try {
        await send({
          method: 'DELETE',
          path: pathOf(reference),
          contentType: JSON_TYPE,
          body,
          about: `DELETE ${nameOf(reference)}`,
        })
      } catch (error) {
        if (!isNotFound(error)) throw error
      }
    },
  }
}

const JSON_TYPE = 'application/json'
const PATCH_TYPE = 'application/json-patch+json'
const APPLY_TYPE = 'application/apply-patch+yaml' // YAML contains JSON

const managedBy = (manager: string) => `fieldManager=${encodeURIComponent(manager)}`

const referenceTo = ({ kind, metadata: { namespace, name } }: KubernetesObject): Reference => ({
  kind: kind as Kind,
  namespace,
  name,
})
