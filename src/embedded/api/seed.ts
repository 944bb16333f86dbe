import type { StoredObject } from '../../platform/kubernetes/managed-fields/object.ts'
import { apiVersionOf } from '../kinds/kind.ts'
import { kindOf } from '../kinds/kinds.ts'
import { create } from '../store/create.ts'
import { update } from '../store/update.ts'
import type { World } from '../store/world.ts'
import { settle } from '../workloads/settle.ts'

const writeBy = (manager: string, apiVersion: string) => ({
  writer: { manager, operation: 'Update', apiVersion } as const,
  dryRun: false,
})

/** Creates a namespace unless it exists. */
export const ensureNamespace = (world: World, name: string | undefined): void => {
  const kind = kindOf('v1', 'Namespace')
  if (name === undefined || kind === undefined || world.store.get(kind, undefined, name)) return
  create(
    world,
    { apiVersion: 'v1', kind: 'Namespace', metadata: { name } },
    { kind, ...writeBy('embedded', 'v1') },
    undefined,
  )
}

/** Creates an object, with its status when it has one, as if a field manager had. */
export const plant = (world: World, object: StoredObject, manager: string): void => {
  const { apiVersion, kind: named, metadata, status } = object
  const kind = kindOf(apiVersion, named)
  if (kind === undefined) throw new Error(`Expected a kind that is served, got ${apiVersion} ${named}`)
  const namespace = kind.namespaced ? (metadata.namespace ?? 'default') : undefined
  ensureNamespace(world, namespace)
  const write = { kind, ...writeBy(manager, apiVersionOf(kind)) }
  const created = create(world, object, write, namespace)
  const withStatus = { ...created, status }
  const statusWrite = { ...write, writer: { ...write.writer, subresource: 'status' } }
  const stored = kind.status && status !== undefined ? update(world, created, withStatus, statusWrite) : created
  settle(world, kind, stored)
}
