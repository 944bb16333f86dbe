import { type JsonMap, mapOf, withoutNulls } from '../../platform/base/json.ts'
import { serverSideApply } from '../../platform/kubernetes/apply/apply.ts'
import { refuseConflicts } from '../apply/conflicts.ts'
import { apiVersionOf, type Kind } from '../kinds/kind.ts'
import { conflict, notAllowed, notFound, Refusal } from '../kinds/status.ts'
import { create } from '../store/create.ts'
import { checkVersion, update } from '../store/update.ts'
import type { Write } from '../store/world.ts'
import { mediaType } from './body.ts'
import { afterControllers, type Call, find, list, type Named, named, optionsFor, type Result, writeOf } from './call.ts'
import { decodeObject, type ReadObject } from './decode.ts'
import { deleteMany, deleteOne } from './delete.ts'
import type { Options } from './options.ts'
import { appliedConfig, applyType, patched, patchType } from './patch.ts'
import { checkConfig, checkNamespace, checkObjectName, checkReplace } from './request-checks.ts'
import { onScale } from './scale.ts'
import { asksForTable, tableOf } from './table.ts'

const typed = (object: JsonMap, kind: Kind): JsonMap => ({ ...object, apiVersion: apiVersionOf(kind), kind: kind.kind })

const decodedBody = ({ request, target: { kind } }: Call, { validation }: Options): ReadObject => {
  const { object, warnings } = decodeObject(request.body ?? '', mediaType(request.headers), kind, validation)
  return { object: typed(withoutNulls(object) as JsonMap, kind), warnings }
}

const post = (call: Call): Result => {
  const { target } = call
  if (target.name !== undefined || (target.kind.namespaced && target.namespace === undefined)) throw notAllowed()
  const options = optionsFor(call)
  const { object, warnings } = decodedBody(call, options)
  checkNamespace(
    target,
    object,
    'the namespace of the provided object does not match the namespace sent on the request',
  )
  if (mapOf(object.metadata).resourceVersion) {
    throw new Refusal(500, '', 'resourceVersion should not be set on objects to be created')
  }
  const write = writeOf(call, options, 'Update')
  const created = create(call.world, object, write, target.namespace)
  return { status: 201, object: afterControllers(call, write, { object: created }), warnings }
}

const put = (call: Call): Result => {
  const address = named(call.target)
  const { kind, namespace, name } = address
  const options = optionsFor(call)
  const { object, warnings } = decodedBody(call, options)
  checkObjectName(address, object)
  const write = writeOf(call, options, 'Update')
  const live = call.world.store.get(kind, namespace, name)
  if (live === undefined && kind.createOnPut) {
    const created = create(call.world, object, write, namespace)
    return { status: 201, object: afterControllers(call, write, { object: created }), warnings }
  }
  const current = live ?? find(call.world, address)
  checkReplace(kind, current, mapOf(object.metadata))
  return {
    status: 200,
    object: afterControllers(call, write, { object: update(call.world, current, object, write), live: current }),
    warnings,
  }
}

const patch = (call: Call): Result => {
  const address = named(call.target)
  const type = patchType(call.request, address.kind)
  const options = optionsFor(call, type === applyType)
  if (type === applyType) return apply(call, address, options)
  const live = find(call.world, address)
  const { validation } = options
  const read = patched(live, type, call.request.body ?? '', { kind: address.kind, validation })
  const object = typed(read.object, address.kind)
  checkObjectName(address, object)
  const write = writeOf(call, options, 'Update')
  const updated = update(call.world, live, object, write)
  return { status: 200, object: afterControllers(call, write, { object: updated, live }), warnings: read.warnings }
}

const apply = (call: Call, address: Named, options: Options): Result => {
  const { kind, namespace, name } = address
  const { world } = call
  const config = appliedConfig(call.request.body ?? '', kind, address)
  checkConfig(address, config)
  const live = world.store.get(kind, namespace, name)
  if (live === undefined && call.target.subresource !== undefined) throw notFound(kind, name)
  const { uid, resourceVersion } = mapOf(config.metadata)
  if (live) checkVersion(kind, live, resourceVersion)
  const write = writeOf(call, options, 'Apply')
  const sent = { ...config, metadata: { name, ...mapOf(config.metadata) } }
  const applied = serverSideApply({ live, config: sent, kind }, { writer: write.writer, time: world.now() })
  if (!options.force) refuseConflicts(applied.conflicts)
  const owned: Write = { ...write, owners: applied.owners }
  if (live)
    return {
      status: 200,
      object: afterControllers(call, write, { object: update(world, live, applied.object, owned), live }),
    }
  if (uid !== undefined) {
    throw conflict(
      kind,
      name,
      `uid mismatch: the provided object specified uid ${uid}, and no existing object was found`,
    )
  }
  return {
    status: 201,
    object: afterControllers(call, write, { object: create(world, applied.object, owned, namespace) }),
  }
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
  PUT: put,
  PATCH: patch,
  DELETE: (call) => (call.target.name === undefined ? deleteMany(call) : deleteOne(call)),
}

/** Responds to one request on a resource; every refusal is thrown. */
export const onResource = (call: Call): Result => {
  if (call.target.subresource === 'scale') return onScale(call)
  const { method } = call.request
  const verb = Object.hasOwn(verbs, method) ? verbs[method] : undefined
  if (verb === undefined) throw notAllowed()
  return verb(call)
}
