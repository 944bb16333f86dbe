import { isApplied, listAdders } from './applied.ts'
import type { Kubernetes } from './client.ts'
import { listAppliers, withStringsAt } from './field-managers.ts'
import { type KubernetesObject, objectKey } from './objects.ts'

/** A conflict: an object of another owner with our object's name, or a field in our object that another manager holds. */
export type ObjectConflict = { readonly object: string; readonly manager: string; readonly key?: string }

/** The result for one object: its current content, its name if it was written, and the conflict, if any. */
export type ObjectReport = { applied?: KubernetesObject; written?: string; conflict?: ObjectConflict }

type Pair = { desired: KubernetesObject; live: KubernetesObject | undefined }
type SamePair = { desired: KubernetesObject; live: KubernetesObject }

/** The operations that bring the objects of one kind to the desired state. */
export type ObjectPlan = {
  /** New and changed objects, each with the existing one. */
  readonly apply: readonly Pair[]
  /** Objects that are already as desired. */
  readonly same: readonly SamePair[]
  readonly stale: readonly KubernetesObject[]
  readonly conflicts: readonly ObjectConflict[]
}

/**
 * Compares the `live` objects with the owner's labels to the desired ones, by kind, namespace and name. Only objects that our field manager applied are
 * ours: a copy with our labels is not. `isDue` tells if an object must be applied for another reason.
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

/**
 * Kinds with a spec that is entirely ours, and the fields in it that their controllers set. Server-side apply keeps entries and fields that others add.
 * Workloads, Services and accounts are not listed, because injectors and autoscalers add to them.
 */
const WHOLE: ReadonlyMap<string, readonly string[]> = new Map([
  ['AuthorizationPolicy', []],
  ['Gateway', ['addresses']],
  ['HorizontalPodAutoscaler', []],
  ['PodDisruptionBudget', []],
])

/** Finds additions of others to the spec of an object, which change its meaning. */
const addition = (live: KubernetesObject, { kind }: KubernetesObject, manager: string): ObjectConflict | undefined => {
  const open = WHOLE.get(kind)
  const adders = open === undefined ? [] : listAdders(live, manager, open)
  return adders.length === 0 ? undefined : { object: objectKey(live), manager: adders.join(', '), key: 'spec' }
}

/** Lists other field managers of an object. An application of the same name in another namespace has the same manager. */
const othersOf = ({ metadata }: KubernetesObject, manager: string): string => {
  const managers = [...new Set((metadata.managedFields ?? []).map((entry) => entry.manager))]
  const others = managers.filter((name) => name !== manager)
  return (others.length > 0 ? others : managers).join(', ') || 'unknown'
}

/** Reports an object of another owner with our object's name. It stays untouched. */
export const namesakeConflict = (
  desired: KubernetesObject,
  found: KubernetesObject,
  manager: string,
): ObjectConflict => ({ object: objectKey(desired), manager: othersOf(found, manager) })

/**
 * Applies one object over the existing one, or creates it. It reverts drift in our fields by force. Rejects with a version conflict if the object has
 * changed meanwhile, and with any other refusal. Then the managers in `releases` give up all their fields.
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

/** The resourceVersion of an apply that must create. No object ever has it, because etcd counts from it, and the first write gets the next number. */
export const ABSENT = '1'

/**
 * Binds the apply to the existing object. A deleted one is not recreated without a new lookup, and a changed one is read again. For an absent one, the
 * apply creates it, or is refused with 409, because the API server checks the resourceVersion only if an object exists.
 */
const asFound = (desired: KubernetesObject, found: KubernetesObject | undefined): KubernetesObject => {
  if (found === undefined) return { ...desired, metadata: { ...desired.metadata, resourceVersion: ABSENT } }
  const { uid = '', resourceVersion } = found.metadata
  return { ...desired, metadata: { ...desired.metadata, uid, ...(resourceVersion && { resourceVersion }) } }
}
