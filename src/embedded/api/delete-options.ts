import { type Json, type JsonMap, listOf } from '../kinds/json.ts'
import { builtin } from '../kinds/kind.ts'
import { badRequest, type FieldError, invalid } from '../kinds/status.ts'
import { invalidValue, unsupported } from '../validate/errors.ts'
import { mediaType } from './body.ts'
import type { Call } from './call.ts'
import { declared, readMap } from './decode.ts'
import { dryRunErrors } from './options.ts'

const kind = builtin('', 'v1', { kind: 'DeleteOptions', plural: 'deleteoptions' })

const badRequestOf = (error: string): Error =>
  badRequest(`${kind.kind} in version "v1" cannot be handled as a ${kind.kind}: ${error}`)

/** Every group has its DeleteOptions, which are all the same. */
const fromBody = (body: string, type: string): JsonMap => {
  const options = readMap(body, type, kind)
  const { kind: sent = kind.kind, apiVersion = 'v1' } = options
  if (sent !== kind.kind) throw badRequest(`no kind "${sent}" is registered for version "${apiVersion}"`)
  return declared(options, kind, badRequestOf).object
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

const policies: readonly Json[] = ['Foreground', 'Background', 'Orphan']

const policyErrors = ({ propagationPolicy: policy, orphanDependents }: JsonMap): FieldError[] => {
  if (policy === undefined || policy === null) return []
  const both = typeof orphanDependents === 'boolean'
  const known = policies.includes(policy)
  return [
    ...(both
      ? [invalidValue('propagationPolicy', policy, 'orphanDependents and deletionPropagation cannot be both set')]
      : []),
    ...(known ? [] : [unsupported('propagationPolicy', policy, [...policies.map(String), 'nil'])]),
  ]
}

/** The options of a delete: of its body, or of the query without a body. */
export const deleteOptions = ({ request, query }: Call): JsonMap => {
  const options = request.body ? fromBody(request.body, mediaType(request.headers)) : fromQuery(query)
  const errors = [...policyErrors(options), ...dryRunErrors(listOf(options.dryRun))]
  if (errors.length > 0) throw invalid({ group: 'meta.k8s.io', kind: kind.kind }, '', errors)
  return options
}
