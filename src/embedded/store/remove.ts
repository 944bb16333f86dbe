import { isEmptyValue, type JsonMap, listOf, mapOf } from '../../platform/base/json.ts'
import type { StoredObject } from '../../platform/kubernetes/managed-fields/object.ts'
import type { Kind } from '../kinds/kind.ts'
import { conflict } from '../kinds/status.ts'
import { uidOf } from './hash.ts'
import type { Stored } from './store.ts'
import type { World } from './world.ts'

type Removal = {
  readonly preconditions?: JsonMap
  readonly dryRun: boolean
  readonly orphan: boolean
  /** The uids of the enclosing removal: owners may own each other. */
  readonly within?: ReadonlySet<unknown>
}

const checkPreconditions = (kind: Kind, { metadata }: StoredObject, preconditions: JsonMap): void => {
  for (const key of ['uid', 'resourceVersion']) {
    const wanted = preconditions[key]
    if (wanted === undefined || wanted === metadata[key]) continue
    const why = `the ${key} in the precondition (${wanted}) does not match that in record (${metadata[key]})`
    throw conflict(kind, metadata.name, why)
  }
}

const leaving = (world: World, live: StoredObject, kind: Kind): StoredObject => ({
  ...live,
  ...(kind.kind === 'Namespace' ? { status: { phase: 'Terminating' } } : {}),
  metadata: {
    ...live.metadata,
    deletionTimestamp: live.metadata.deletionTimestamp ?? world.now(),
    ...(kind.kind === 'Namespace' ? {} : { deletionGracePeriodSeconds: 0 }),
    ...(live.metadata.generation === undefined ? {} : { generation: live.metadata.generation + 1 }),
  },
})

const dependents = ({ store }: World, kind: Kind, live: StoredObject): Stored[] => {
  const owned = store
    .ownedBy(live)
    .filter(({ object }) =>
      listOf(object.metadata.ownerReferences).every((owner) => isOrIsOf(live.metadata.uid, mapOf(owner))),
    )
  return kind.kind === 'Namespace' ? [...store.all(live.metadata.name), ...owned] : owned
}

/** An owner has the uid, or is a ReplicaSet, which is not stored, of the Deployment that has it. */
const isOrIsOf = (uid: string | undefined, owner: JsonMap): boolean =>
  owner.uid === uid || (owner.kind === 'ReplicaSet' && owner.uid === uidOf(`${uid} ${owner.name}`))

/** Deletes an object and its dependents; one with finalizers is only marked until they are gone. */
export const remove = (world: World, live: StoredObject, kind: Kind, removal: Removal): StoredObject => {
  checkPreconditions(kind, live, removal.preconditions ?? {})
  const last = leaving(world, live, kind)
  if (removal.dryRun) return last
  if (!isEmptyValue(live.metadata.finalizers ?? null)) {
    return live.metadata.deletionTimestamp === undefined ? world.store.put(kind, last) : live
  }
  const within = new Set(removal.within).add(live.metadata.uid)
  const gone = removal.orphan ? [] : dependents(world, kind, live)
  for (const dependent of gone) {
    const current = world.store.get(dependent.kind, dependent.object.metadata.namespace, dependent.object.metadata.name)
    if (current && !within.has(current.metadata.uid))
      remove(world, current, dependent.kind, { dryRun: false, orphan: false, within })
  }
  return world.store.remove(kind, last)
}
