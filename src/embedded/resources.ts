import { serverSideApply } from './apply.ts'
import { mediaType } from './body.ts'
import { type Call, find, list, type Named, named, optionsFor, type Result, settled, writeOf } from './call.ts'
import { create } from './create.ts'
import { decodeObject } from './decode.ts'
import { deleteMany, deleteOne } from './delete.ts'
import { type JsonMap, mapOf, withoutNulls } from './json.ts'
import { apiVersionOf, type Kind } from './kind.ts'
import type { Options } from './options.ts'
import { appliedConfig, applyType, patched, patchType } from './patch.ts'
import { checkConfig, checkName, checkNamespace, checkReplace } from './request-checks.ts'
import { conflict, notAllowed, notFound, Refusal } from './status.ts'
import { checkVersion, update } from './update.ts'
import type { Write } from './world.ts'

const typed = (object: JsonMap, kind: Kind): JsonMap => ({ ...object, apiVersion: apiVersionOf(kind), kind: kind.kind })

const decodedBody = ({ request, target: { kind } }: Call): JsonMap =>
  typed(withoutNulls(decodeObject(request.body ?? '', mediaType(request.headers), kind)) as JsonMap, kind)

const post = (call: Call): Result => {
  const { target } = call
  if (target.name !== undefined || (target.kind.namespaced && target.namespace === undefined)) throw notAllowed()
  const options = optionsFor(call)
  const object = decodedBody(call)
  checkNamespace(
    target,
    object,
    'the namespace of the provided object does not match the namespace sent on the request',
  )
  if (mapOf(object.metadata).resourceVersion) {
    throw new Refusal(500, '', 'resourceVersion should not be set on objects to be created')
  }
  const write = writeOf(call, options, 'Update')
  return { status: 201, object: settled(call, write, { object: create(call.world, object, write, target.namespace) }) }
}

const put = (call: Call): Result => {
  const address = named(call.target)
  const { kind, namespace, name } = address
  const options = optionsFor(call)
  const object = decodedBody(call)
  checkName(address, object)
  const write = writeOf(call, options, 'Update')
  const live = call.world.store.get(kind, namespace, name)
  if (live === undefined && kind.createOnPut) {
    return { status: 201, object: settled(call, write, { object: create(call.world, object, write, namespace) }) }
  }
  const current = live ?? find(call.world, address)
  checkReplace(kind, current, mapOf(object.metadata))
  return {
    status: 200,
    object: settled(call, write, { object: update(call.world, current, object, write), live: current }),
  }
}

const patch = (call: Call): Result => {
  const address = named(call.target)
  const type = patchType(call.request, address.kind)
  const options = optionsFor(call, type === applyType)
  if (type === applyType) return apply(call, address, options)
  const live = find(call.world, address)
  const object = typed(patched(live, type, call.request.body ?? '', address.kind), address.kind)
  checkName(address, object)
  const write = writeOf(call, options, 'Update')
  return { status: 200, object: settled(call, write, { object: update(call.world, live, object, write), live }) }
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
  const applied = serverSideApply(
    { live, config: sent, kind },
    { writer: write.writer, force: options.force, time: world.now() },
  )
  const owned: Write = { ...write, owners: applied.owners }
  if (live)
    return { status: 200, object: settled(call, write, { object: update(world, live, applied.object, owned), live }) }
  if (uid !== undefined) {
    throw conflict(
      kind,
      name,
      `uid mismatch: the provided object specified uid ${uid}, and no existing object was found`,
    )
  }
  return { status: 201, object: settled(call, write, { object: create(world, applied.object, owned, namespace) }) }
}

const get = (call: Call): Result =>
  call.target.name === undefined ? list(call) : { status: 200, object: find(call.world, named(call.target)) }

const verbs: Readonly<Record<string, (call: Call) => Result>> = {
  GET: get,
  POST: post,
  PUT: put,
  PATCH: patch,
  DELETE: (call) => (call.target.name === undefined ? deleteMany(call) : deleteOne(call)),
}

/** Answers one request on a resource; every refusal is thrown. */
export const onResource = (call: Call): Result => {
  const { method } = call.request
  const verb = Object.hasOwn(verbs, method) ? verbs[method] : undefined
  if (verb === undefined) throw notAllowed()
  return verb(call)
}
