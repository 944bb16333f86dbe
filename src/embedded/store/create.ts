import { type JsonMap, mapOf } from '../../platform/base/json.ts'
import type { ObjectMeta, StoredObject } from '../../platform/kubernetes/managed-fields/object.ts'
import {
  type Owner,
  ownersAfterUpdate,
  type Writer,
  withOwners,
} from '../../platform/kubernetes/managed-fields/owners.ts'
import { kindOf } from '../kinds/kinds.ts'
import { alreadyExists, notFound } from '../kinds/status.ts'
import { assigned } from './assign.ts'
import { withDefaults } from './defaults.ts'
import { nameHash } from './hash.ts'
import { refuseInvalid, type World, type Write } from './world.ts'

const systemNames = ['selfLink', 'resourceVersion', 'deletionTimestamp', 'deletionGracePeriodSeconds', 'managedFields']

// Leaves room for the suffix in a label's 63 characters
const longestBase = 58

const suffix = (world: World): string => nameHash(`suffix ${world.store.nextSerial()}`, 5)

const newMetadata = (world: World, { kind }: Write, metadata: JsonMap, namespace: string | undefined): ObjectMeta => {
  const { name, generateName } = metadata
  const sent = Object.fromEntries(Object.entries(metadata).filter(([key]) => !systemNames.includes(key)))
  return {
    ...sent,
    name: String(name || (generateName ? `${String(generateName).slice(0, longestBase)}${suffix(world)}` : '')),
    ...(namespace === undefined ? {} : { namespace }),
    uid: world.uid(),
    creationTimestamp: world.now(),
    ...(kind.counted ? { generation: 1 } : {}),
  }
}

const requireNamespace = (world: World, namespace: string | undefined): void => {
  const kind = kindOf('v1', 'Namespace')
  if (kind && namespace !== undefined && !world.store.get(kind, undefined, namespace)) throw notFound(kind, namespace)
}

/** A new pod's status belongs to the kubelet, not to its creator. */
const startedBy = (object: JsonMap, { kind, writer }: Write, time: string): Owner[] => {
  if (kind.kind !== 'Pod') return []
  const starter: Writer = { ...writer, manager: 'kube-controller-manager', operation: 'Update', subresource: 'status' }
  return ownersAfterUpdate({ before: kind.zero, after: object, kind }, [], { writer: starter, time })
}

/** Stores a new object with its defaults, or refuses it as the API server does. */
export const create = (world: World, sent: JsonMap, write: Write, namespace: string | undefined): StoredObject => {
  const { kind, writer } = write
  requireNamespace(world, namespace)
  const { status, ...content } = sent
  const metadata = newMetadata(world, write, mapOf(sent.metadata), namespace)
  const plain = withDefaults({ ...(kind.status ? content : sent), metadata }, kind)
  const time = world.now()
  const owners = write.owners ?? ownersAfterUpdate({ before: kind.zero, after: plain, kind }, [], { writer, time })
  const object = assigned(plain, kind, undefined, () => world.store.nextSerial())
  refuseInvalid(kind, object, undefined)
  if (world.store.get(kind, namespace, metadata.name)) throw alreadyExists(kind, metadata.name)
  const complete = withOwners(object, [...owners, ...startedBy(object, write, time)]) as StoredObject
  return write.dryRun ? complete : world.store.put(kind, complete)
}
