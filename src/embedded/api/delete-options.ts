import { type JsonMap, listOf } from '../../platform/base/json.ts'
import { builtin } from '../kinds/kind.ts'
import { badRequest } from '../kinds/status.ts'
import { mediaType } from './body.ts'
import type { Call } from './call.ts'
import { declared, readMap } from './decode.ts'
import { checkDryRun } from './options.ts'

const kind = builtin('', 'v1', { kind: 'DeleteOptions', plural: 'deleteoptions' })

/** Every group has its DeleteOptions, which are all the same. */
const fromBody = (body: string, type: string): JsonMap => {
  const options = readMap(body, type)
  const { kind: sent = kind.kind } = options
  if (sent !== kind.kind) throw badRequest(`expected DeleteOptions, got ${JSON.stringify(sent)}`)
  return declared(options, kind, badRequest).object
}

const fromQuery = (query: URLSearchParams): JsonMap => {
  const policy = query.get('propagationPolicy')
  const orphan = query.get('orphanDependents')
  return {
    ...(policy === null ? {} : { propagationPolicy: policy }),
    ...(orphan === null ? {} : { orphanDependents: orphan === 'true' }),
    dryRun: query.getAll('dryRun').filter((value) => value !== ''),
  }
}

/** The options of a delete: of its body, or of the query without a body. */
export const deleteOptions = ({ request, query }: Call): JsonMap => {
  const options = request.body ? fromBody(request.body, mediaType(request.headers)) : fromQuery(query)
  checkDryRun(listOf(options.dryRun))
  return options
}
