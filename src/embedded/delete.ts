import { parseJson } from './body.ts'
import { type Call, find, list, named, type Result } from './call.ts'
import { type Json, type JsonMap, type KubernetesObject, mapOf } from './json.ts'
import { remove } from './remove.ts'
import { selected } from './select.ts'
import { badRequest, deleted, notAllowed } from './status.ts'
import { settle } from './workloads.ts'

const deleteOptions = ({ request, query }: Call): JsonMap => {
  const read = request.body ? parseJson(request.body) : { value: {} as Json }
  if ('error' in read) throw badRequest(`couldn't get version/kind; json parse error: ${read.error}`)
  const fromQuery = Object.fromEntries([...query].filter(([key]) => ['propagationPolicy', 'dryRun'].includes(key)))
  return { ...fromQuery, ...mapOf(read.value) }
}

const removeOne = (call: Call, live: KubernetesObject, options: JsonMap): KubernetesObject => {
  const { kind } = call.target
  const dryRun = options.dryRun !== undefined
  const orphan = options.propagationPolicy === 'Orphan' || options.orphanDependents === true
  const removed = remove(call.world, live, kind, { preconditions: mapOf(options.preconditions), dryRun, orphan })
  if (!dryRun && !orphan) settle(call.world, kind, removed)
  return removed
}

export const deleteOne = (call: Call): Result => {
  const { kind, name } = named(call.target)
  const live = find(call.world, named(call.target))
  const removed = removeOne(call, live, deleteOptions(call))
  const answersObject = kind.deleteAnswersObject || removed.metadata.finalizers !== undefined
  return { status: 200, object: answersObject ? removed : deleted(kind, name, live.metadata.uid ?? '') }
}

export const deleteMany = (call: Call): Result => {
  if (call.target.kind.namespaced && call.target.namespace === undefined) throw notAllowed()
  const options = deleteOptions(call)
  const result = list(call)
  const { kind, namespace } = call.target
  const { store } = call.world
  for (const { metadata } of store.list(kind, namespace).filter(selected(kind, call.query))) {
    const live = store.get(kind, metadata.namespace, metadata.name)
    if (live && live.metadata.uid === metadata.uid) removeOne(call, live, options)
  }
  return result
}
