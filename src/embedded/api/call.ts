import { type JsonMap, mapOf } from '../../platform/base/json.ts'
import { perObject } from '../../platform/base/per-object.ts'
import type { StoredObject } from '../../platform/kubernetes/managed-fields/object.ts'
import type { Writer } from '../../platform/kubernetes/managed-fields/owners.ts'
import { apiVersionOf, type Kind } from '../kinds/kind.ts'
import { badRequest, notAllowed, notFound } from '../kinds/status.ts'
import { create } from '../store/create.ts'
import { update } from '../store/update.ts'
import type { World, Write } from '../store/world.ts'
import { settle } from '../workloads/settle.ts'
import type { Options } from './options.ts'
import { pageOf } from './pages.ts'
import type { Request, Target } from './route.ts'
import { selected } from './select.ts'

/** `warnings` are sent beside the answer. */
export type Result = { readonly status: number; readonly object: JsonMap; readonly warnings?: readonly string[] }

/** A request on a resource, and the world it is for. */
export type Call = {
  readonly world: World
  readonly request: Request
  readonly query: URLSearchParams
  readonly target: Target
}

export type Named = { readonly kind: Kind; readonly namespace: string | undefined; readonly name: string }

/** The object that a path names. */
export const named = ({ kind, namespace, name }: Target): Named => {
  if (name === undefined || (kind.namespaced && namespace === undefined)) throw notAllowed()
  return { kind, namespace, name }
}

export const find = ({ store }: World, { kind, namespace, name }: Named): StoredObject => {
  const found = store.get(kind, namespace, name)
  if (found === undefined) throw notFound(kind, name)
  return found
}

/** Refuses an object of another name or namespace than the path's. */
export const checkAddress = ({ kind, namespace, name }: Target, object: JsonMap): void => {
  const sent = mapOf(object.metadata)
  if (name !== undefined && sent.name !== name)
    throw badRequest(`the name of the object (${sent.name}) does not match the name on the URL (${name})`)
  if (kind.namespaced && sent.namespace && sent.namespace !== namespace)
    throw badRequest(
      `the namespace of the object (${sent.namespace}) does not match that of the request (${namespace})`,
    )
}

/** The write of a request, by the manager it names. */
export const writeOf = ({ target }: Call, { manager, dryRun }: Options, operation: Writer['operation']): Write => {
  const { kind, subresource } = target
  const writer = {
    manager,
    operation,
    apiVersion: apiVersionOf(kind),
    ...(subresource === undefined ? {} : { subresource }),
  }
  return { kind, writer, dryRun }
}

/** The object as the controllers leave it after a write. */
const afterControllers = (world: World, { kind, dryRun }: Write, object: StoredObject): StoredObject => {
  if (dryRun) return object
  settle(world, kind, object)
  const current = world.store.get(kind, object.metadata.namespace, object.metadata.name)
  return current?.metadata.uid === object.metadata.uid ? (current ?? object) : object
}

export const created = ({ world, target }: Call, object: JsonMap, write: Write): StoredObject =>
  afterControllers(world, write, create(world, object, write, target.namespace))

export const updated = ({ world }: Call, live: StoredObject, object: JsonMap, write: Write): StoredObject => {
  const stored = update(world, live, object, write)
  return stored === live ? live : afterControllers(world, write, stored)
}

const leanOf = perObject(({ apiVersion: _, kind: __, ...lean }: StoredObject): JsonMap => lean)

/** Lists the selected objects of a kind at the present version, or those of the next page at the version of the first one. */
export const list = ({ world, query, target }: Call): Result => {
  const { kind, namespace } = target
  const isSelected = selected(query)
  const all = () => world.store.list(kind, namespace).filter(isSelected)
  const { items, revision, next } = pageOf(world.store, query, all)
  // Items of built-in kinds leave out their kind and apiVersion, which the list implies.
  const lean = kind.custom ? items : items.map(leanOf)
  const metadata = { resourceVersion: String(revision), ...(next !== undefined && { continue: next }) }
  return { status: 200, object: { kind: `${kind.kind}List`, apiVersion: apiVersionOf(kind), metadata, items: lean } }
}
