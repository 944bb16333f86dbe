import { isDeepStrictEqual } from 'node:util'
import { fieldConflicts } from './api-error.ts'
import { isApplied } from './applied.ts'
import type { Kubernetes } from './client.ts'
import { listAppliers } from './field-managers.ts'
import { type KubernetesObject, nameOf } from './objects.ts'

/** An object of somebody else in the place of one of ours, or one of ours in which somebody else holds something. */
export type ObjectConflict = { readonly object: string; readonly manager: string; readonly key?: string }

/** What became of one object: as it is now, its name when that changed it, and what stands in the way. */
export type ObjectReport = { applied?: KubernetesObject; written?: string; conflict?: ObjectConflict }

type Pair = { desired: KubernetesObject; live: KubernetesObject | undefined }
type SamePair = { desired: KubernetesObject; live: KubernetesObject }

/** What is to be done so that just the desired objects of one kind are there. */
export type ObjectPlan = {
  /** New and changed ones, each with what is there of it. */
  readonly apply: readonly Pair[]
  /** Those that are as they are desired. */
  readonly same: readonly SamePair[]
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
  const there = new Map(live.map((object) => [objectKey(object), object]))
  const wanted = new Set(desired.map(objectKey))
  const isOurs = (object: KubernetesObject) => listAppliers(object).includes(manager)
  const pairs = desired.map((object) => ({ desired: object, live: there.get(objectKey(object)) }))
  const isSame = (pair: Pair): pair is SamePair =>
    pair.live !== undefined && isApplied(pair.live, pair.desired, manager)
  const same = pairs.filter(isSame)
  const settled = new Set<Pair>(same)
  return {
    apply: pairs.filter((pair) => !settled.has(pair)),
    same,
    stale: live.filter((object) => isOurs(object) && !wanted.has(objectKey(object))),
    conflicts: same.flatMap((pair) => addition(pair.live, pair.desired, manager) ?? []),
  }
}

/** How the object is named in messages. */
export const objectKey = (object: KubernetesObject): string => nameOf({ kind: object.kind, ...object.metadata })

/** What a policy allows is all of its spec: what somebody adds to it changes what ours means. */
const addition = (live: KubernetesObject, desired: KubernetesObject, manager: string): ObjectConflict | undefined => {
  if (desired.kind !== 'AuthorizationPolicy' || isDeepStrictEqual(live.spec ?? {}, desired.spec ?? {})) return undefined
  return { object: objectKey(live), manager: othersOf(live, manager), key: 'spec' }
}

/** An application of the same name in another namespace has the same manager. */
const othersOf = ({ metadata }: KubernetesObject, manager: string): string => {
  const managers = [...new Set((metadata.managedFields ?? []).map((entry) => entry.manager))]
  const others = managers.filter((name) => name !== manager)
  return (others.length > 0 ? others : managers).join(', ') || 'unknown'
}

/** An object of somebody else is in the place of one of ours: it is left as it is. */
export const namesakeConflict = (
  desired: KubernetesObject,
  found: KubernetesObject,
  manager: string,
): ObjectConflict => ({ object: objectKey(desired), manager: othersOf(found, manager) })

/**
 * Applies one object to what was found in its place. What is ours is ours as a whole, so drift in it is taken back by force. A field that
 * somebody else holds is a conflict; whatever else fails rejects.
 */
export const applyObject = async (
  kubernetes: Kubernetes,
  { desired, live: found }: ObjectPlan['apply'][number],
  manager: string,
): Promise<ObjectReport> => {
  try {
    const applied = await kubernetes.apply(asFound(desired, found), manager, { force: found !== undefined })
    const conflict = addition(applied, desired, manager)
    const isChanged = applied.metadata.resourceVersion !== found?.metadata.resourceVersion
    return { applied, ...(isChanged && { written: objectKey(desired) }), ...(conflict && { conflict }) }
  } catch (error) {
    const [conflict] = fieldConflicts(error)
    if (conflict) return { conflict: { object: objectKey(desired), manager: conflict.manager, key: conflict.field } }
    throw error
  }
}

/**
 * The object under the condition that it is still what was found: one that is gone meanwhile is not made again without the look for a
 * namesake, and one that has changed is looked at again.
 */
const asFound = (desired: KubernetesObject, found: KubernetesObject | undefined): KubernetesObject => {
  if (found === undefined) return desired
  const { uid = '', resourceVersion } = found.metadata
  return { ...desired, metadata: { ...desired.metadata, uid, ...(resourceVersion && { resourceVersion }) } }
}
