import { isMap, type Json, type JsonMap, mapOf, withoutNulls } from '../../platform/base/json.ts'
import type { KubernetesObject } from '../../platform/kubernetes/apply/object.ts'
import { jsonPatch, PatchFailure } from '../apply/json-patch.ts'
import { mergePatch } from '../apply/merge-patch.ts'
import { strategicMerge } from '../apply/strategic-merge.ts'
import { typedProblem } from '../apply/typed-patch.ts'
import { apiVersionOf, type Kind } from '../kinds/kind.ts'
import { badRequest, invalid, Refusal, unsupportedMediaType } from '../kinds/status.ts'
import { invalidValue } from '../validate/errors.ts'
import { decodeInto } from '../validate/field-types.ts'
import { isNestedTooDeep, mediaType, parseJson, parseYamlOrJson } from './body.ts'
import { checkKind, declared, type ReadObject, warningsOf } from './decode.ts'
import type { FieldValidation } from './options.ts'
import type { Request } from './route.ts'

export const applyType = 'application/apply-patch+yaml'

const decoded = (read: { value: Json } | { error: string }): Json => {
  if ('error' in read) throw badRequest(`error decoding patch: ${read.error}`)
  return read.value
}

const decodedMap = (text: string): JsonMap => {
  const value = decoded(parseJson(text))
  if (!isMap(value)) throw badRequest('error decoding patch: expected an object')
  return value
}

const withOperations = (live: KubernetesObject, text: string): Json => {
  const operations = decoded(parseJson(text))
  if (!Array.isArray(operations) || !operations.every(isMap))
    throw badRequest('error decoding patch: expected a list of operations')
  try {
    return jsonPatch(live, operations)
  } catch (error) {
    if (!(error instanceof PatchFailure)) throw error
    throw new Refusal(422, 'Invalid', 'the server rejected our request due to an error in our request', {})
  }
}

type Patcher = (live: KubernetesObject, text: string, kind: Kind) => Json

const patchers: Readonly<Record<string, Patcher>> = {
  'application/json-patch+json': withOperations,
  'application/merge-patch+json': (live, text) => mergePatch(live, decodedMap(text)),
  'application/strategic-merge-patch+json': (live, text, kind) => strategicMerge(live, decodedMap(text), kind.shape),
}

const customTypes = ['application/json-patch+json', 'application/merge-patch+json', applyType]

/** The patch's media type; refuses one that the kind does not take. */
export const patchType = ({ headers }: Request, kind: Kind): string => {
  const type = mediaType(headers)
  if (kind.custom && !customTypes.includes(type)) throw unsupportedMediaType(customTypes)
  if (type !== applyType && !Object.hasOwn(patchers, type)) {
    throw new Refusal(415, 'UnsupportedMediaType', '415: Unsupported Media Type', {})
  }
  return type
}

/** The live object as the patch changes it, before defaults and validation, and the warnings for the sender. */
export const patched = (
  live: KubernetesObject,
  type: string,
  text: string,
  { kind, validation }: { kind: Kind; validation: FieldValidation },
): ReadObject => {
  const refusal = (error: string) => invalid({ group: '', kind: '' }, '', [invalidValue('patch', text, error)])
  const changed = mapOf(patchers[type]?.(live, text, kind))
  if (isNestedTooDeep(changed)) throw refusal('exceeded max depth')
  const { object, unknown } = declared(changed, kind, refusal)
  checkKind(object, kind)
  return { object: withoutNulls(object) as JsonMap, warnings: warningsOf(unknown, validation, refusal) }
}

/** The object of a server-side apply. */
export const appliedConfig = (
  text: string,
  kind: Kind,
  address: { namespace?: string | undefined; name: string },
): JsonMap => {
  const read = parseYamlOrJson(text)
  if ('error' in read) throw badRequest(`error decoding YAML: ${read.error}`)
  if (!isMap(read.value)) throw badRequest('error decoding YAML: not an object')
  // an apply names its kind
  checkKind({ kind: null, apiVersion: null, ...read.value }, kind)
  const place = `${address.namespace ?? ''}/${address.name}; ${apiVersionOf(kind)}, Kind=${kind.kind}`
  const problem = typedProblem(read.value, kind.shape)
  if (problem !== undefined) throw new Refusal(500, '', `failed to create typed patch object (${place}): ${problem}`)
  const wrong = kind.custom ? undefined : decodeInto(read.value, kind.shape).wrong
  if (wrong !== undefined)
    throw new Refusal(500, '', `failed to convert new object (${place}) to proper version: ${wrong}`)
  return read.value
}
