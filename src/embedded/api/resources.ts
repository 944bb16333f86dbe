import { type JsonMap, mapOf, withoutNulls } from '../../platform/base/json.ts'
import { serverSideApply } from '../../platform/kubernetes/managed-fields/apply.ts'
import { refuseConflicts } from '../apply/conflicts.ts'
import { apiVersionOf, type Kind } from '../kinds/kind.ts'
import { badRequest, conflict, notAllowed, notFound, Refusal } from '../kinds/status.ts'
import { checkVersion } from '../store/update.ts'
import type { Write } from '../store/world.ts'
import { type Call, checkAddress, created, find, list, named, type Result, updated, writeOf } from './call.ts'
import { decodeObject, mediaType, type ReadObject } from './decode.ts'
import { deleteOne } from './delete.ts'
import { optionsOf } from './options.ts'
import { appliedConfig, applyType, patched } from './patch.ts'
import { onScale } from './scale.ts'
import { asksForTable, tableOf } from './table.ts'

const typed = (object: JsonMap, kind: Kind): JsonMap => ({ ...object, apiVersion: apiVersionOf(kind), kind: kind.kind })

const post = (call: Call): Result => {
  const { request, target } = call
  if (target.name !== undefined || (target.kind.namespaced && target.namespace === undefined)) throw notAllowed()
  const options = optionsOf(call)
  const { object, warnings } = decodeObject(request, target.kind, options.validation)
  checkAddress(target, object)
  if (mapOf(object.metadata).resourceVersion) {
    throw new Refusal(500, '', 'resourceVersion should not be set on objects to be created')
  }
  const sent = typed(withoutNulls(object) as JsonMap, target.kind)
  return { status: 201, object: created(call, sent, writeOf(call, options, 'Update')), warnings }
}

/** Replaces or patches an object, by what `read` makes of the live one. */
const change = (call: Call, read: typeof patched): Result => {
  const { kind } = call.target
  const live = find(call.world, named(call.target))
  const options = optionsOf(call)
  const { object, warnings } = read(live, call.request, { kind, validation: options.validation })
  const sent = typed(withoutNulls(object) as JsonMap, kind)
  checkAddress(call.target, sent)
  return { status: 200, object: updated(call, live, sent, writeOf(call, options, 'Update')), warnings }
}

const replaced: typeof patched = (_, request, { kind, validation }): ReadObject =>
  decodeObject(request, kind, validation)

const apply = (call: Call): Result => {
  const { world, request, target } = call
  const { kind, namespace, name } = named(target)
  const options = optionsOf(call, true)
  const config = appliedConfig(request, kind, { namespace, name })
  const sent = { ...config, metadata: { name, ...mapOf(config.metadata) } }
  checkAddress(target, sent)
  const { uid, resourceVersion, managedFields }: JsonMap = sent.metadata
  if (managedFields !== undefined) throw badRequest('metadata.managedFields must be nil')
  const live = world.store.get(kind, namespace, name)
  if (live === undefined && target.subresource !== undefined) throw notFound(kind, name)
  if (live) checkVersion(kind, live, resourceVersion)
  const write = writeOf(call, options, 'Apply')
  const applied = serverSideApply({ live, config: sent, kind }, { writer: write.writer, time: world.now() })
  if (!options.force) refuseConflicts(applied.conflicts)
  const owned: Write = { ...write, owners: applied.owners }
  if (live) return { status: 200, object: updated(call, live, applied.object, owned) }
  if (uid !== undefined) {
    const why = `uid mismatch: the provided object specified uid ${uid}, and no existing object was found`
    throw conflict(kind, name, why)
  }
  return { status: 201, object: created(call, applied.object, owned) }
}

const get = (call: Call): Result => {
  const result =
    call.target.name === undefined ? list(call) : { status: 200, object: find(call.world, named(call.target)) }
  const isTable = asksForTable(call.request.headers.accept)
  return isTable ? { ...result, object: tableOf(call.target.kind, result.object) } : result
}

const verbs: Readonly<Record<string, (call: Call) => Result>> = {
  GET: get,
  POST: post,
  PUT: (call) => change(call, replaced),
  PATCH: (call) => (mediaType(call.request) === applyType ? apply(call) : change(call, patched)),
  DELETE: deleteOne,
}

/** Responds to one request on a resource; every refusal is thrown. */
export const onResource = (call: Call): Result => {
  if (call.target.subresource === 'scale') return onScale(call)
  const { method } = call.request
  const verb = Object.hasOwn(verbs, method) ? verbs[method] : undefined
  if (verb === undefined) throw notAllowed()
  return verb(call)
}
