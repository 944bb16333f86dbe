import { isMap, type Json, type JsonMap, mapOf, withoutNulls } from '../../platform/base/json.ts'
import type { StoredObject } from '../../platform/kubernetes/managed-fields/object.ts'
import { jsonPatch, PatchFailure } from '../apply/json-patch.ts'
import { mergePatch } from '../apply/merge-patch.ts'
import { strategicMerge } from '../apply/strategic-merge.ts'
import { apiVersionOf, type Kind } from '../kinds/kind.ts'
import { badRequest, invalid, Refusal } from '../kinds/status.ts'
import { invalidValue } from '../validate/errors.ts'
import { readFields } from '../validate/fields.ts'
import { checkKind, declared, mediaType, type ReadObject, readBody, readMap } from './decode.ts'
import type { FieldValidation } from './options.ts'
import type { Request } from './route.ts'

export const applyType = 'application/apply-patch+yaml'

const withOperations = (live: StoredObject, request: Request): Json => {
  const operations = readBody(request)
  if (!Array.isArray(operations) || !operations.every(isMap)) throw badRequest('expected a list of operations')
  try {
    return jsonPatch(live, operations)
  } catch (error) {
    if (!(error instanceof PatchFailure)) throw error
    throw new Refusal(422, 'Invalid', 'the server rejected our request due to an error in our request', {})
  }
}

type Patcher = (live: StoredObject, request: Request, kind: Kind) => Json

const customPatchers: Readonly<Record<string, Patcher>> = {
  'application/json-patch+json': withOperations,
  'application/merge-patch+json': (live, request) => mergePatch(live, readMap(request)),
}

const patchers: typeof customPatchers = {
  ...customPatchers,
  'application/strategic-merge-patch+json': (live, request, kind) => strategicMerge(live, readMap(request), kind.shape),
}

/** The live object as a patch changes it, before defaults and validation, and the warnings for the sender. */
export const patched = (
  live: StoredObject,
  request: Request,
  { kind, validation }: { kind: Kind; validation: FieldValidation },
): ReadObject => {
  const type = mediaType(request)
  const known = kind.custom ? customPatchers : patchers
  const patcher = Object.hasOwn(known, type) ? known[type] : undefined
  if (patcher === undefined) throw new Refusal(415, 'UnsupportedMediaType', '415: Unsupported Media Type', {})
  const refusal = (error: string) =>
    invalid({ group: '', kind: '' }, '', [invalidValue('patch', request.body ?? '', error)])
  const { object, warnings } = declared(mapOf(patcher(live, request, kind)), { kind, validation }, refusal)
  checkKind(object, kind)
  return { object: withoutNulls(object) as JsonMap, warnings }
}

/** The object of a server-side apply. Its fields are compared one by one, so that each has to be declared. */
export const appliedConfig = (
  request: Request,
  kind: Kind,
  { namespace = '', name }: { namespace?: string | undefined; name: string },
): JsonMap => {
  const config = readMap(request)
  // an apply names its kind
  checkKind({ kind: null, apiVersion: null, ...config }, kind)
  const { problems } = readFields(config, kind.shape)
  const place = `${namespace}/${name}; ${apiVersionOf(kind)}, Kind=${kind.kind}`
  const untyped = problems.filter(({ sort }) => sort !== 'form').map(({ path, why }) => `${path}: ${why}`)
  if (untyped.length > 0) {
    const all = untyped.length > 1 ? ['errors:', ...untyped.map((problem) => `  ${problem}`)] : untyped
    throw new Refusal(500, '', `failed to create typed patch object (${place}): ${all.join('\n')}`)
  }
  const [wrong] = kind.custom ? [] : problems
  if (wrong)
    throw new Refusal(500, '', `failed to convert new object (${place}) to proper version: ${wrong.path}: ${wrong.why}`)
  return config
}
