import { type JsonMap, listOf, mapOf } from '../../platform/base/json.ts'
import { deleted, notAllowed } from '../kinds/status.ts'
import { remove } from '../store/remove.ts'
import { settle } from '../workloads/settle.ts'
import { type Call, find, named, type Result } from './call.ts'
import { readMap } from './decode.ts'
import { isDryRun } from './options.ts'

/** Deletes an object, by the DeleteOptions in the body or in the query. */
export const deleteOne = ({ world, target, request, query }: Call): Result => {
  const { kind, namespace, name } = named(target)
  if (target.subresource !== undefined) throw notAllowed()
  const options: JsonMap = request.body ? readMap(request) : {}
  const dryRun = isDryRun([...listOf(options.dryRun), ...query.getAll('dryRun')])
  const orphan = [options.propagationPolicy, query.get('propagationPolicy')].includes('Orphan')
  const live = find(world, { kind, namespace, name })
  const removed = remove(world, live, kind, { preconditions: mapOf(options.preconditions), dryRun, orphan })
  if (!dryRun && !orphan) settle(world, kind, removed)
  return { status: 200, object: deleted(kind, name, live.metadata.uid ?? '') }
}
