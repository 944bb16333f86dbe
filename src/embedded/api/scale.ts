import { at, type JsonMap, mapOf, withAt } from '../../platform/base/json.ts'
import type { StoredObject } from '../../platform/kubernetes/managed-fields/object.ts'
import { builtin } from '../kinds/kind.ts'
import { notAllowed } from '../kinds/status.ts'
import { type Call, checkAddress, find, named, type Result, updated, writeOf } from './call.ts'
import { decodeObject } from './decode.ts'
import { optionsOf } from './options.ts'
import { patched } from './patch.ts'

const scale = builtin('autoscaling', 'v1', { kind: 'Scale', plural: 'scales' })

const selectorText = (labels: JsonMap): string =>
  Object.entries(labels)
    .map(([key, value]) => `${key}=${value}`)
    .toSorted()
    .join(',')

/** A workload as its autoscaler sees it. */
const scaleOf = ({ metadata, spec, status }: StoredObject): StoredObject => {
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

/** Responds to a request on the scale of a workload. */
export const onScale = (call: Call): Result => {
  const { request, target, world } = call
  const live = find(world, named(target))
  if (request.method === 'GET') return { status: 200, object: scaleOf(live) }
  if (request.method !== 'PATCH' && request.method !== 'PUT') throw notAllowed()
  const options = optionsOf(call)
  const { object, warnings } =
    request.method === 'PUT'
      ? decodeObject(request, scale, options.validation)
      : patched(scaleOf(live), request, { kind: scale, validation: options.validation })
  checkAddress({ ...target, kind: scale }, object)
  const { managedFields: _, ...metadata } = live.metadata
  const { resourceVersion } = mapOf(object.metadata)
  const replicas = at(object, 'spec', 'replicas') ?? 0
  const sent: JsonMap = { ...withAt(live, ['spec', 'replicas'], replicas), metadata: { ...metadata, resourceVersion } }
  return { status: 200, object: scaleOf(updated(call, live, sent, writeOf(call, options, 'Update'))), warnings }
}
