import { isApplied, listAdders } from './applied.ts'
import type { Kubernetes } from './client.ts'
import { listAppliers, withStringsAt } from './field-managers.ts'
import { type KubernetesObject, nameOf } from './objects.ts'

/** A conflict: another owner's object in our place, or another manager's field in our object. */
export type ObjectConflict = { readonly object: string; readonly manager: string; readonly key?: string }

/** The result for one object: its current form, its name if written, and any conflict. */
export type ObjectReport = { applied?: KubernetesObject; written?: string; conflict?: ObjectConflict }

type Pair = { desired: KubernetesObject; live: KubernetesObject | undefined }
type SamePair = { desired: KubernetesObject; live: KubernetesObject }

/** The operations after which exactly the desired objects of one kind exist. */
export type ObjectPlan = {
  /** New and changed ones, each with what is there of it. */
  readonly apply: readonly Pair[]
  /** Those that are as they are desired. */
  readonly same: readonly SamePair[]
  readonly stale: readonly KubernetesObject[]
  readonly conflicts: readonly ObjectConflict[]
}

/**
 * Compares the `live` objects with the owner's labels to the desired ones, by kind, namespace and name. Ours are those that our field
 * manager applied: a copy with our labels is not ours. `isDue` tells of what else an apply is due for.
 */
export const objectDifference = (
  live: readonly KubernetesObject[],
  desired: readonly KubernetesObject[],
  manager: string,
  isDue: (pair: Pair) => boolean = () => false,
): ObjectPlan => {
  const there = new Map(live.map((object) => [objectKey(object), object]))
  const wanted = new Set(desired.map(objectKey))
  const isOurs = (object: KubernetesObject) => listAppliers(object).includes(manager)
  const pairs = desired.map((object) => ({ desired: object, live: there.get(objectKey(object)) }))
  const isSame = (pair: Pair): pair is SamePair =>
    pair.live !== undefined && isApplied(pair.live, pair.desired, manager) && !isDue(pair)
  const same = pairs.filter(isSame)
  const settled = new Set<Pair>(same)
  return {
    apply: pairs.filter((pair) => !settled.has(pair)),
    same,
    stale: live.filter((object) => isOurs(object) && !wanted.has(objectKey(object))),
    conflicts: same.flatMap(({ live: found, desired: object }) => addition(found, object, manager) ?? []),
  }
}

/** Names the object in messages. */
export const objectKey = (object: KubernetesObject): string => nameOf({ kind: object.kind, ...object.metadata })

/**
 * The kinds whose spec is ours alone, with the fields of it that their controllers fill. Server-side apply leaves the entries and fields that
 * somebody else adds. Workloads, Services and accounts are none of these kinds: injectors and autoscalers add to them.
 */
const WHOLE: ReadonlyMap<string, readonly string[]> = new Map([
  ['AuthorizationPolicy', []],
  ['Gateway', ['addresses']],
  ['HorizontalPodAutoscaler', []],
  ['PodDisruptionBudget', []],
])

/** Finds what somebody else added to the spec of an object, which changes the meaning of ours. */
const addition = (live: KubernetesObject, { kind }: KubernetesObject, manager: string): ObjectConflict | undefined => {
  const open = WHOLE.get(kind)
  const adders = open === undefined ? [] : listAdders(live, manager, open)
  return adders.length === 0 ? undefined : { object: objectKey(live), manager: adders.join(', '), key: 'spec' }
}

/** An application of the same name in another namespace has the same manager. */
const othersOf = ({ metadata }: KubernetesObject, manager: string): string => {
  const managers = [...new Set((metadata.managedFields ?? []).map((entry) => entry.manager))]
  const others = managers.filter((name) => name !== manager)
  return (others.length > 0 ? others : managers).join(', ') || 'unknown'
}

/** Reports another owner's object in our place, which is left untouched. */
export const namesakeConflict = (
  desired: KubernetesObject,
  found: KubernetesObject,
  manager: string,
): ObjectConflict => ({ object: objectKey(desired), manager: othersOf(found, manager) })

/**
 * Applies one object over the one found, or where none was: drift in our fields is reverted by force. Rejects with an error that isStale where
 * something else is there now, and with any other refusal. Then the managers of `releases` let go of all that they hold.
 */
export const applyObject = async (
  kubernetes: Kubernetes,
  { desired, live: found }: ObjectPlan['apply'][number],
  manager: string,
  releases: readonly string[] = [],
): Promise<ObjectReport> => {
  let applied = await kubernetes.apply(asFound(desired, found), manager, { force: true })
  for (const former of releases) applied = await kubernetes.apply(withStringsAt(applied, [], {}), former)
  const conflict = addition(applied, desired, manager)
  const isChanged = applied.metadata.resourceVersion !== found?.metadata.resourceVersion
  return { applied, ...(isChanged && { written: objectKey(desired) }), ...(conflict && { conflict }) }
}

/** The resourceVersion of an apply that is to create: no object ever has it, as etcd counts from it, and the first write has the next. */
export const ABSENT = '1'

/**
 * Binds the apply to the object as found. A deleted one is not recreated without a new lookup, and a changed one is read again. So is one
 * that was absent: the API server looks at the resourceVersion of an apply only where there is an object, so this one creates it or is
 * refused with 409.
 */
const asFound = (desired: KubernetesObject, found: KubernetesObject | undefined): KubernetesObject => {
  if (found === undefined) return { ...desired, metadata: { ...desired.metadata, resourceVersion: ABSENT } }
  const { uid = '', resourceVersion } = found.metadata
  return { ...desired, metadata: { ...desired.metadata, uid, ...(resourceVersion && { resourceVersion }) } }
}
