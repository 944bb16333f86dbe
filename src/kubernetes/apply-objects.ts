import { isDeepStrictEqual } from 'node:util'
import { ApiError, fieldConflicts } from './api-error.ts'
import { isApplied } from './applied.ts'
import type { Kubernetes } from './client.ts'
import { type Kind, type KubernetesObject, nameOf, type Reference } from './objects.ts'
import { appliers } from './ownership.ts'

/** An object of somebody else in the place of one of ours, or one of ours in which somebody else holds something. */
export type ObjectConflict = { readonly object: string; readonly manager: string; readonly key?: string }

/** What became of one object: its name when it was written, what stands in the way, and why the API server refused it. */
export type ObjectReport = { written?: string; conflict?: ObjectConflict; refused?: string }

/** What is to be done so that just the desired objects of one kind are there. */
export type ObjectPlan = {
  /** New and changed ones, each with what is there of it. */
  readonly apply: readonly { desired: KubernetesObject; live: KubernetesObject | undefined }[]
  readonly stale: readonly KubernetesObject[]
  readonly conflicts: readonly ObjectConflict[]
}

/**
 * Compares what is there with what is desired, by kind, namespace and name; `live` is what carries the owner's labels. Ours is what our
 * field manager applied: a copy that somebody made of an object, labels and all, is theirs.
 */
export const objectDifference = (
  live: readonly KubernetesObject[],
  desired: readonly KubernetesObject[],
  manager: string,
): ObjectPlan => {
  const there = new Map(live.map((object) => [keyOf(object), object]))
  const wanted = new Set(desired.map(keyOf))
  const isOurs = (object: KubernetesObject) => appliers(object).includes(manager)
  const pairs = desired.map((object) => ({ desired: object, live: there.get(keyOf(object)) }))
  return {
    apply: pairs.filter(({ desired: one, live: other }) => other === undefined || !isApplied(other, one, manager)),
    stale: live.filter((object) => isOurs(object) && !wanted.has(keyOf(object))),
    conflicts: pairs.flatMap(({ desired: one, live: other }) =>
      other !== undefined && isApplied(other, one, manager) ? (addition(other, one, manager) ?? []) : [],
    ),
  }
}

const keyOf = (object: KubernetesObject): string => nameOf({ kind: object.kind, ...object.metadata })

/** What a policy allows is all of its spec: what somebody adds to it changes what ours means. */
const addition = (live: KubernetesObject, desired: KubernetesObject, manager: string): ObjectConflict | undefined => {
  if (desired.kind !== 'AuthorizationPolicy' || isDeepStrictEqual(live.spec ?? {}, desired.spec ?? {})) return undefined
  return { object: keyOf(live), manager: othersOf(live, manager), key: 'spec' }
}

/** An application of the same name in another namespace has the same manager. */
const othersOf = ({ metadata }: KubernetesObject, manager: string): string => {
  const managers = [...new Set((metadata.managedFields ?? []).map((entry) => entry.manager))]
  const others = managers.filter((name) => name !== manager)
  return (others.length > 0 ? others : managers).join(', ') || 'unknown'
}

/** Whether an object that is in the place of one of ours may be written. */
export type MayWrite = (object: KubernetesObject) => boolean

/**
 * Applies one object. What is ours is ours as a whole, so drift in it is taken back by force; a namesake that is not ours is left as
 * it is, and reported. What the API server finds wrong with the object is reported, as the others are fine; whatever else fails rejects.
 */
export const applyObject = async (
  kubernetes: Kubernetes,
  { desired, live }: ObjectPlan['apply'][number],
  manager: string,
  mayWrite: MayWrite,
): Promise<ObjectReport> => {
  const found = live ?? (await kubernetes.find(referenceTo(desired)))
  if (found !== undefined && !mayWrite(found))
    return { conflict: { object: keyOf(desired), manager: othersOf(found, manager) } }
  try {
    const applied = await kubernetes.apply(withUid(desired, found), manager, { force: found !== undefined })
    const conflict = addition(applied, desired, manager)
    const isChanged = applied.metadata.resourceVersion !== found?.metadata.resourceVersion
    return { ...(isChanged && { written: keyOf(desired) }), ...(conflict && { conflict }) }
  } catch (error) {
    const [conflict] = fieldConflicts(error)
    if (conflict) return { conflict: { object: keyOf(desired), manager: conflict.manager, key: conflict.field } }
    if (isRefusal(error)) return { refused: error.message }
    throw error
  }
}

/** So that an object that is gone meanwhile is not made again without the look for a namesake. */
const withUid = (desired: KubernetesObject, found: KubernetesObject | undefined): KubernetesObject =>
  found === undefined ? desired : { ...desired, metadata: { ...desired.metadata, uid: found.metadata.uid ?? '' } }

const referenceTo = ({ kind, metadata: { namespace, name } }: KubernetesObject): Reference => ({
  kind: kind as Kind,
  namespace,
  name,
})

/** Its namespace or its kind is not there, or the object is not valid: nothing that another object would suffer from. */
const isRefusal = (error: unknown): error is ApiError =>
  error instanceof ApiError &&
  ([400, 404].includes(error.status) ||
    (error.status === 422 && !error.causes.some(({ field }) => field === 'metadata.uid')) ||
    (error.status === 403 && !/cannot \w+ resource/.test(error.message)))
