import { isDeepStrictEqual } from 'node:util'
import { isMarked } from '../../../mesh/istio/capture.ts'
import type { Clock } from '../../../platform/base/clock.ts'
import { Unavailable } from '../../../platform/base/errors.ts'
import type { Event } from '../../../platform/cloudevents/cloud-event.ts'
import { type ObjectEvent, sourceEvent } from '../../../platform/cloudevents/knative/source-event.ts'
import { ApiError, isForbidden, isNotFound } from '../../../platform/kubernetes/api-error.ts'
import { type Kubernetes, keptOf } from '../../../platform/kubernetes/client.ts'
import { parseSelector, selects } from '../../../platform/kubernetes/label-selector.ts'
import { listReadable } from '../../../platform/kubernetes/list-readable.ts'
import type { StoredObject } from '../../../platform/kubernetes/managed-fields/object.ts'
import { ownersOf, sameOwners } from '../../../platform/kubernetes/managed-fields/owners.ts'
import {
  apiVersionOf,
  isClusterScoped,
  type Kind,
  type KubernetesObject,
  nameOf,
  objectKey,
  type Reference,
  referenceTo,
} from '../../../platform/kubernetes/objects.ts'
import { consequencesOf } from './controllers.ts'
import { applied, patched, updated } from './written.ts'

/** A cluster as a plan changes it: plain objects in memory. */
export type PlannedCluster = {
  /** Reads each object of the cluster once, when it is first needed. Writes go to the plan alone. Dry runs go to the cluster. */
  readonly kubernetes: Kubernetes
  /** Returns an object as it was read. */
  before(reference: Reference): KubernetesObject | undefined
  /** Stores an object as the API server says that it would. */
  take(object: KubernetesObject): Promise<void>
  /** The events that sources of Knative would send of what was written since the last call. */
  events(): Event[]
  /** All objects that were read, and what became of them. */
  objects(): { readonly before: readonly KubernetesObject[]; readonly after: readonly KubernetesObject[] }
}

/** Begins a plan with a cluster that may be read until the deadline, in milliseconds since the epoch. */
export const createPlannedCluster = (cluster: Kubernetes, clock: Clock, deadline: number): PlannedCluster => {
  const [before, after] = [new Map<string, KubernetesObject>(), new Map<string, KubernetesObject>()]
  const loads = new Map<string, Promise<void>>()
  let events: ObjectEvent[] = []
  let writes = 0

  const adopt = (objects: readonly KubernetesObject[]): void => {
    // one that was read, and is gone since, must not come back
    for (const object of objects.filter((one) => !before.has(objectKey(one))))
      for (const side of [before, after]) side.set(objectKey(object), object)
  }

  /** Reads once. What fails for the moment is tried again. */
  const load = (name: string, read: () => Promise<readonly KubernetesObject[]>): Promise<void> => {
    if (clock.now() >= deadline) throw new Unavailable('the time of this plan is used up')
    const known = loads.get(name)
    if (known) return known
    const loading = read().then(adopt)
    loads.set(name, loading)
    loading.catch((error) => isForbidden(error) || isNotFound(error) || loads.delete(name))
    return loading
  }

  const find = async (reference: Reference): Promise<KubernetesObject | undefined> => {
    const name = nameOf(reference)
    if (!after.has(name)) await load(name, async () => [(await cluster.find(reference)) ?? []].flat())
    return after.get(name)
  }

  const list: Kubernetes['list'] = async (kind, namespace, selector, options) => {
    await load(`${nameOf({ kind, namespace })}?${selector}`, async () =>
      (await cluster.list(kind, namespace, selector)).map((one) => ({ ...one, apiVersion: apiVersionOf(kind), kind })),
    )
    const all = [...after.values()]
      .filter((one) => one.kind === kind && [undefined, one.metadata.namespace].includes(namespace))
      .toSorted(byName)
    const wanted = selector === undefined ? undefined : parseSelector(selector)
    return keptOf(wanted ? all.filter(({ metadata }) => selects(wanted, metadata.labels ?? {})) : all, options)
  }

  /** Stores an object in the place of one, which another step may have written meanwhile. */
  const put = async (object: KubernetesObject, over: KubernetesObject | undefined): Promise<KubernetesObject> => {
    const key = objectKey(object)
    const previous = after.get(key)
    if (previous !== over) throw refusal('WRITE', referenceTo(object), 409, 'Conflict', MODIFIED)
    if (previous && isSame(previous, object)) return previous
    if (previous && isAtItsEnd(object)) await drop(previous)
    else await store(object, previous)
    return after.get(key) ?? object
  }

  const store = async (object: KubernetesObject, previous: KubernetesObject | undefined): Promise<void> => {
    writes += 1
    const { metadata } = object
    const generation = generationOf(previous, object)
    const written = {
      ...object,
      metadata: {
        uid: previous?.metadata.uid ?? crypto.randomUUID(),
        creationTimestamp: previous?.metadata.creationTimestamp ?? new Date(clock.now()).toISOString(),
        ...metadata,
        resourceVersion: `planned-${writes}`,
        ...(generation !== undefined && { generation }),
      },
    }
    after.set(objectKey(written), written)
    events.push({ type: previous ? 'MODIFIED' : 'ADDED', object: written })
    await follow(previous, written)
  }

  const drop = async (object: KubernetesObject): Promise<void> => {
    after.delete(objectKey(object))
    events.push({ type: 'DELETED', object })
    await follow(object, undefined)
  }

  // where nobody marks pods, no new one is marked
  const isMarking = () => [...before.values()].some((one) => one.kind === 'Pod' && isMarked(one))

  /** Does what a cluster does by itself. */
  const follow = async (
    previous: KubernetesObject | undefined,
    object: KubernetesObject | undefined,
  ): Promise<void> => {
    const read = async (kind: Kind, namespace: string | undefined) =>
      (await listReadable(kubernetes, kind, namespace)) ?? []
    const { gone, put: made } = await consequencesOf(previous, object, { find, read, isMarking })
    for (const one of gone) if (after.has(objectKey(one))) await drop(one)
    for (const one of made) await put(one, after.get(objectKey(one)))
  }

  const create = async (verb: string, object: KubernetesObject): Promise<KubernetesObject> => {
    const { kind, metadata } = object
    if (!isClusterScoped(kind as Kind)) await requireNamespace(verb, object)
    const { resourceVersion: _, ...identity } = metadata
    return await put({ ...object, metadata: identity }, undefined)
  }

  const requireNamespace = async (verb: string, object: KubernetesObject): Promise<void> => {
    const name = object.metadata.namespace ?? ''
    // one that may not be read may be there
    const found = await find({ kind: 'Namespace', name }).catch((error: unknown) => {
      if (!isForbidden(error)) throw error
      return HIDDEN
    })
    if (found === undefined) throw refusal(verb, referenceTo(object), 404, 'NotFound', `namespaces "${name}" not found`)
    if (found.metadata.deletionTimestamp !== undefined)
      throw refusal(
        verb,
        referenceTo(object),
        403,
        'Forbidden',
        `namespace ${name} is being terminated`,
        'NamespaceTerminating',
      )
  }

  /** Finds an object in the version that a write is bound to. */
  const bound = async (verb: string, object: KubernetesObject): Promise<KubernetesObject | undefined> => {
    const { uid, resourceVersion } = object.metadata
    const live = await find(referenceTo(object))
    const isOther = (uid ?? live?.metadata.uid) !== live?.metadata.uid
    const isMoved =
      live !== undefined && (resourceVersion ?? live.metadata.resourceVersion) !== live.metadata.resourceVersion
    if (isOther || isMoved) throw refusal(verb, referenceTo(object), 409, 'Conflict', MODIFIED)
    return live
  }

  const kubernetes: Kubernetes = {
    memo: cluster.memo,
    yieldTurn: cluster.yieldTurn,
    answered: cluster.answered,
    keep: () => undefined,
    find,
    list,
    listCached: list,
    pages: async (kind, namespace, selector, of) => [await of(await list(kind, namespace, selector))],
    create: async (object, manager = 'meshstep') => {
      if (await find(referenceTo(object)))
        throw refusal('CREATE', referenceTo(object), 409, 'AlreadyExists', 'it exists already')
      return await create('CREATE', updated(undefined, object, { manager, clock }))
    },
    replace: async (object, manager) => {
      const live = await bound('UPDATE', object)
      if (live === undefined) throw refusal('UPDATE', referenceTo(object), 404, 'NotFound', 'it does not exist')
      return await put(updated(live, object, { manager, clock }), live)
    },
    apply: async (object, manager, options) => {
      if (options?.dryRun) return await cluster.apply(object, manager, options)
      const live = await bound('APPLY', object)
      const result = applied(live, object, { manager, clock })
      return live ? await put(result, live) : await create('APPLY', result)
    },
    patch: async (reference, operations, manager) => {
      const live = await find(reference)
      if (live === undefined) throw refusal('PATCH', reference, 404, 'NotFound', 'it does not exist')
      const result = patched(live, operations)
      if (result === undefined) throw refusal('PATCH', reference, 409, 'Conflict', MODIFIED)
      return await put(updated(live, result, { manager, clock }), live)
    },
    remove: async (object) => {
      const live = await bound('DELETE', object)
      if (live === undefined) return
      if (finalizersOf(live).length === 0) return await drop(live)
      const deletionTimestamp = live.metadata.deletionTimestamp ?? new Date(clock.now()).toISOString()
      await put({ ...live, metadata: { ...live.metadata, deletionTimestamp } }, live)
    },
  }

  return {
    kubernetes,
    before: (reference) => before.get(nameOf(reference)),
    take: async (object) => void (await put(object, after.get(objectKey(object)))),
    events: () => {
      const sent = events.flatMap((event) => sourceEvent(event) ?? [])
      events = []
      return sent
    },
    objects: () => ({ before: [...before.values()], after: [...after.values()] }),
  }
}

const finalizersOf = ({ metadata: { finalizers } }: KubernetesObject): readonly unknown[] =>
  Array.isArray(finalizers) ? finalizers : []

/** Kinds whose deleted objects stay without a finalizer: a pod has time to end, and a namespace ends after all that is in it. */
const ENDING_LATER = ['Pod', 'Namespace']

/** Tells if a deleted object has lost its last finalizer. */
const isAtItsEnd = (object: KubernetesObject): boolean =>
  !ENDING_LATER.includes(object.kind) &&
  object.metadata.deletionTimestamp !== undefined &&
  finalizersOf(object).length === 0

/** Tells if a write changes nothing. The time of an apply that changes nothing does not count. */
const isSame = (one: KubernetesObject, other: KubernetesObject): boolean =>
  isDeepStrictEqual(withoutOwners(one), withoutOwners(other)) &&
  sameOwners(ownersOf(one as StoredObject), ownersOf(other as StoredObject))

const withoutOwners = ({
  metadata: { managedFields: _, resourceVersion: _v, ...metadata },
  ...content
}: KubernetesObject) => ({
  ...content,
  metadata,
})

const byName = (one: KubernetesObject, other: KubernetesObject): number => (objectKey(one) < objectKey(other) ? -1 : 1)

/** Counts the specs of an object. */
const generationOf = (previous: KubernetesObject | undefined, { kind, spec }: KubernetesObject): number | undefined => {
  if (previous === undefined) return UNCOUNTED.has(kind) ? undefined : 1
  const { generation } = previous.metadata
  return generation === undefined || isDeepStrictEqual(previous.spec, spec) ? generation : generation + 1
}

/** Kinds whose objects have no generation. */
const UNCOUNTED = new Set(['ConfigMap', 'HorizontalPodAutoscaler', 'Namespace', 'Secret', 'Service', 'ServiceAccount'])

const MODIFIED = 'the object has been modified'

const HIDDEN: Pick<KubernetesObject, 'metadata'> = { metadata: { name: '' } }

const refusal = (
  verb: string,
  reference: Reference,
  code: number,
  reason: string,
  message: string,
  cause?: string,
): ApiError => {
  const causes = cause === undefined ? [] : [{ reason: cause }]
  const status = { kind: 'Status', message, reason, details: { causes } }
  return new ApiError(`${verb} ${nameOf(reference)}`, code, JSON.stringify(status))
}
