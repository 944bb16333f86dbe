import { isMap, type Json, type JsonMap, mapOf } from '../../platform/base/json.ts'
import { apiVersionOf, type Kind } from '../kinds/kind.ts'
import { badRequest } from '../kinds/status.ts'
import { readFields } from '../validate/fields.ts'
import type { FieldValidation } from './options.ts'
import { parseProtobuf } from './protobuf.ts'
import type { Request } from './route.ts'

export const mediaType = ({ headers }: Request): string =>
  (headers['content-type'] ?? '').split(';')[0]?.trim().toLowerCase() ?? ''

/** Parses a body: JSON, or protobuf, as kubectl's own create commands send nothing else. */
export const readBody = (request: Request): Json => {
  const { body = '' } = request
  try {
    return mediaType(request) === 'application/vnd.kubernetes.protobuf' ? parseProtobuf(body) : JSON.parse(body)
  } catch (error) {
    throw badRequest(`the body cannot be read: ${(error as Error).message}`)
  }
}

export const readMap = (request: Request): JsonMap => {
  const value = readBody(request)
  if (!isMap(value)) throw badRequest('the body cannot be read: expected an object')
  return value
}

/** Refuses an object of another kind than the address names. */
export const checkKind = (object: JsonMap, kind: Kind): void => {
  const wanted = { apiVersion: apiVersionOf(kind), kind: kind.kind }
  const { apiVersion = wanted.apiVersion, kind: named = wanted.kind } = object
  if (named === wanted.kind && apiVersion === wanted.apiVersion) return
  throw badRequest(`expected ${JSON.stringify(wanted)}, got ${JSON.stringify({ apiVersion, kind: named })}`)
}

/** An object of a request, and the warnings for its sender. */
export type ReadObject = { readonly object: JsonMap; readonly warnings: readonly string[] }

/**
 * Removes undeclared fields with a warning, or refuses them where the client asks for that. Throws `refusal` for the first value of a wrong type: those of a
 * custom resource are left to its schema.
 */
export const declared = (
  object: JsonMap,
  { kind, validation }: { kind: Kind; validation: FieldValidation },
  refusal: (error: string) => Error,
): ReadObject => {
  const { value, problems } = readFields(object, kind.shape)
  const wrong = problems
    .filter(({ path }) => !kind.custom || path.startsWith('.metadata'))
    .find(({ sort }) => sort === 'type' || sort === 'form')
  if (wrong) throw refusal(`${wrong.path.slice(1)}: ${wrong.why}`)
  const unknown = problems.filter(({ sort }) => sort === 'undeclared')
  const fields = unknown.map(({ path }) => `unknown field "${path.slice(1)}"`)
  if (fields.length > 0 && validation === 'Strict') throw refusal(`strict decoding error: ${fields.join(', ')}`)
  return { object: mapOf(value), warnings: validation === 'Warn' ? fields : [] }
}

/** Reads the object of a create or replace. */
export const decodeObject = (request: Request, kind: Kind, validation: FieldValidation = 'Ignore'): ReadObject => {
  const sent = readMap(request)
  checkKind(sent, kind)
  return declared(sent, { kind, validation }, (error) => badRequest(`${kind.kind} cannot be read: ${error}`))
}
