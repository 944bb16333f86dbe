import { type JsonMap, listOf, mapOf } from '../../platform/base/json.ts'
import type { KubernetesObject } from '../../platform/kubernetes/apply/object.ts'
import { deleted, notAllowed } from '../kinds/status.ts'
import { remove } from '../store/remove.ts'
import { settle } from '../workloads/settle.ts'
import { type Call, find, list, named, type Result } from './call.ts'
import { deleteOptions } from './delete-options.ts'
import { selected } from './select.ts'

const removeOne = (call: Call, live: KubernetesObject, options: JsonMap): KubernetesObject => {
  const { kind } = call.target
  const dryRun = listOf(options.dryRun).length > 0
  const orphan = options.propagationPolicy === 'Orphan' || options.orphanDependents === true
  const removed = remove(call.world, live, kind, { preconditions: mapOf(options.preconditions), dryRun, orphan })
  if (!dryRun && !orphan) settle(call.world, kind, removed)
  return removed
}

export const deleteOne = (call: Call): Result => {
  const { kind, name } = named(call.target)
  if (call.target.subresource !== undefined) throw notAllowed()
  const options = deleteOptions(call)
  const live = find(call.world, named(call.target))
  const removed = removeOne(call, live, options)
  const answersObject = kind.deleteAnswersObject || removed.metadata.finalizers !== undefined
  return { status: 200, object: answersObject ? removed : deleted(kind, name, live.metadata.uid ?? '') }
}

export const deleteMany = (call: Call): Result => {
  const { kind, namespace } = call.target
  if (kind.kind === 'Namespace' || (kind.namespaced && namespace === undefined)) throw notAllowed()
  const options = deleteOptions(call)
  const result = list(call)
  const { store } = call.world
  for (const { metadata } of store.list(kind, namespace).filter(selected(call.query))) {
    const live = store.get(kind, metadata.namespace, metadata.name)
    if (live && live.metadata.uid === metadata.uid) removeOne(call, live, options)
  }
  return result
}
