import { equal, type JsonMap, listOf, mapOf } from '../../platform/base/json.ts'
import type { StoredObject } from '../../platform/kubernetes/managed-fields/object.ts'
import {
  type Owner,
  ownersAfterUpdate,
  ownersOf,
  sameOwners,
  withOwners,
} from '../../platform/kubernetes/managed-fields/owners.ts'
import type { Kind } from '../kinds/kind.ts'
import { modified } from '../kinds/status.ts'
import { assigned } from './assign.ts'
import { withDefaults } from './defaults.ts'
import { stateOf } from './pod-states.ts'
import { refuseInvalid, type World, type Write } from './world.ts'

/** The stored content of an update to the object or its status. */
const contentOf = (live: StoredObject, sent: JsonMap, { kind, writer }: Write): JsonMap => {
  if (writer.subresource === 'status') return { ...live, status: sent.status }
  if (!kind.status) return sent
  const { status: _, ...content } = sent
  return live.status === undefined ? content : { ...content, status: live.status }
}

const keptFields = [
  'creationTimestamp',
  'generation',
  'deletionTimestamp',
  'deletionGracePeriodSeconds',
  'resourceVersion',
]

const keptMetadata = (live: StoredObject, sent: JsonMap): JsonMap => {
  const { uid, namespace } = live.metadata
  const known: JsonMap = { ...(uid === undefined ? {} : { uid }), ...(namespace === undefined ? {} : { namespace }) }
  const metadata: JsonMap = { ...known, ...sent }
  delete metadata.managedFields
  delete metadata.selfLink
  for (const key of keptFields) {
    delete metadata[key]
    if (live.metadata[key] !== undefined) metadata[key] = live.metadata[key]
  }
  return metadata
}

const specOf = ({ apiVersion: _, kind: __, metadata, status: ___, ...spec }: JsonMap, kind: Kind): JsonMap =>
  kind.kind === 'Deployment' ? { ...spec, annotations: mapOf(metadata).annotations } : spec

const counted = (object: JsonMap, live: StoredObject, { kind, writer }: Write): JsonMap => {
  if (!kind.counted || writer.subresource === 'status') return object
  if (equal(specOf(object, kind), specOf(live, kind))) return object
  return { ...object, metadata: { ...mapOf(object.metadata), generation: Number(live.metadata.generation ?? 0) + 1 } }
}

const unchanged = (object: JsonMap, live: StoredObject, owners: readonly Owner[]): boolean =>
  sameOwners(owners, ownersOf(live)) && equal(withOwners(object, []), withOwners(live, []))

/** Refuses a write that names another version than the stored one; an update may name none. */
export const checkVersion = (kind: Kind, live: StoredObject, version: unknown): void => {
  if (version !== undefined && version !== '' && version !== live.metadata.resourceVersion) {
    throw modified(kind, live.metadata.name)
  }
}

/** Stores a changed object; one that equals the stored one is not written, and keeps its resourceVersion. */
export const update = (world: World, live: StoredObject, sent: JsonMap, write: Write): StoredObject => {
  const { kind, writer } = write
  checkVersion(kind, live, mapOf(sent.metadata).resourceVersion)
  const metadata = writer.subresource === 'status' ? live.metadata : keptMetadata(live, mapOf(sent.metadata))
  const content = withDefaults({ ...contentOf(live, sent, write), metadata }, kind)
  const change = { before: live, after: content, kind }
  // one empty entry is how a client resets the recorded owners
  const known = equal(mapOf(sent.metadata).managedFields, [{}]) ? [] : ownersOf(live)
  const owners = write.owners ?? ownersAfterUpdate(change, known, { writer, time: world.now() })
  const object = counted(
    assigned(content, kind, live, () => world.store.nextSerial()),
    live,
    write,
  )
  refuseInvalid(kind, object, live)
  if (unchanged(object, live, owners)) return live
  const complete = withOwners(object, owners) as StoredObject
  if (write.dryRun) return complete
  const finished =
    live.metadata.deletionTimestamp !== undefined &&
    listOf(complete.metadata.finalizers).length === 0 &&
    stateOf(complete) !== 'terminating'
  return finished ? world.store.remove(kind, complete) : world.store.put(kind, complete)
}
