import { at, type JsonMap, mapOf, withAt } from '../../platform/base/json.ts'
import type { KubernetesObject } from '../../platform/kubernetes/apply/object.ts'
import { builtin } from '../kinds/kind.ts'
import { notAllowed, unsupportedMediaType } from '../kinds/status.ts'
import { update } from '../store/update.ts'
import { mediaType } from './body.ts'
import { afterControllers, type Call, find, named, optionsFor, type Result, writeOf } from './call.ts'
import { decodeObject, type ReadObject } from './decode.ts'
import type { Options } from './options.ts'
import { applyType, patched, patchType } from './patch.ts'
import { checkObjectName } from './request-checks.ts'

const scale = builtin('autoscaling', 'v1', { kind: 'Scale', plural: 'scales' })

const selectorText = (labels: JsonMap): string =>
  Object.entries(labels)
    .map(([key, value]) => `${key}=${value}`)
    .toSorted()
    .join(',')

/** A workload as its autoscaler sees it. */
const scaleOf = ({ metadata, spec, status }: KubernetesObject): KubernetesObject => {
  const { name, namespace = '', uid = '', resourceVersion = '', creationTimestamp = '' } = metadata
  const replicas = Number(at(spec, 'replicas') ?? 0)
  return {
    apiVersion: 'autoscaling/v1',
    kind: scale.kind,
    metadata: { name, namespace, uid, resourceVersion, creationTimestamp },
    spec: replicas === 0 ? {} : { replicas },
    status: {
      replicas: at(status, 'replicas') ?? 0,
      selector: selectorText(mapOf(at(spec, 'selector', 'matchLabels'))),
    },
  }
}

const write = (call: Call, live: KubernetesObject, options: Options, { object, warnings }: ReadObject): Result => {
  checkObjectName({ ...named(call.target), kind: scale }, object)
  const replicas = at(object, 'spec', 'replicas') ?? 0
  const { managedFields: _, ...metadata } = live.metadata
  const { resourceVersion } = mapOf(object.metadata)
  const sent: JsonMap = { ...withAt(live, ['spec', 'replicas'], replicas), metadata: { ...metadata, resourceVersion } }
  const written = writeOf(call, options, 'Update')
  const updated = update(call.world, live, sent, written)
  return { status: 200, object: scaleOf(afterControllers(call, written, { object: updated, live })), warnings }
}

const patch = (call: Call, live: KubernetesObject): Result => {
  const type = patchType(call.request, call.target.kind)
  if (type === applyType) throw unsupportedMediaType(['application/json-patch+json', 'application/merge-patch+json'])
  const options = optionsFor(call)
  const { validation } = options
  return write(call, live, options, patched(scaleOf(live), type, call.request.body ?? '', { kind: scale, validation }))
}

/** Responds to a request on the scale of a workload. */
export const onScale = (call: Call): Result => {
  const { method, headers, body = '' } = call.request
  const live = find(call.world, named(call.target))
  if (method === 'GET') return { status: 200, object: scaleOf(live) }
  if (method === 'PATCH') return patch(call, live)
  if (method !== 'PUT') throw notAllowed()
  const options = optionsFor(call)
  return write(call, live, options, decodeObject(body, mediaType(headers), scale, options.validation))
}
