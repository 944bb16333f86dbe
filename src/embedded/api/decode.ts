import { isMap, type JsonMap, mapOf } from '../../platform/base/json.ts'
import { apiVersionOf, type Kind } from '../kinds/kind.ts'
import { badRequest, unsupportedMediaType } from '../kinds/status.ts'
import { decodeInto, pruneInto } from '../validate/field-types.ts'
import { parseJson, parseYamlOrJson } from './body.ts'
import type { FieldValidation } from './options.ts'
import { parseProtobuf } from './protobuf.ts'

/** Refuses an object of another kind than the address names. */
export const checkKind = (object: JsonMap, kind: Kind): void => {
  const { kind: sent = kind.kind, apiVersion = apiVersionOf(kind) } = object
  if (sent === kind.kind && apiVersion === apiVersionOf(kind)) return
  const [wanted, got] = [
    { apiVersion: apiVersionOf(kind), kind: kind.kind },
    { apiVersion, kind: sent },
  ]
  throw badRequest(`expected ${JSON.stringify(wanted)}, got ${JSON.stringify(got)}`)
}

/** An object with its kind's declared fields, and the paths of all others. */
export type DeclaredObject = { readonly object: JsonMap; readonly unknown: readonly string[] }

/** Removes undeclared fields; throws `refusal` for the first value of a wrong type. */
export const declared = (object: JsonMap, kind: Kind, refusal: (error: string) => Error): DeclaredObject => {
  const { metadata } = object
  const strict = kind.custom ? (metadata === undefined ? {} : { metadata }) : object
  const decoded = decodeInto(strict, kind.shape)
  if (decoded.wrong) throw refusal(decoded.wrong)
  const { value, unknown } = kind.custom ? pruneInto(object, kind.shape) : decoded
  return { object: mapOf(value), unknown }
}

/** Warns of undeclared fields, or refuses them where the client asks for that. */
export const warningsOf = (
  unknown: readonly string[],
  validation: FieldValidation,
  refusal: (error: string) => Error,
): string[] => {
  const fields = unknown.map((path) => `unknown field "${path}"`)
  if (fields.length > 0 && validation === 'Strict') throw refusal(`strict decoding error: ${fields.join(', ')}`)
  return validation === 'Warn' ? fields : []
}

const readers = {
  'application/json': parseJson,
  'application/yaml': parseYamlOrJson,
  // kubectl's own create commands send nothing else
  'application/vnd.kubernetes.protobuf': parseProtobuf,
  '': parseJson,
} as const

/** Reads the map in a body. */
export const readMap = (text: string, type: string): JsonMap => {
  const reader = Object.hasOwn(readers, type) ? readers[type as keyof typeof readers] : undefined
  if (reader === undefined) throw unsupportedMediaType(['application/json', 'application/yaml'])
  const read = reader(text)
  if ('error' in read) throw badRequest(`the body cannot be read: ${read.error}`)
  if (!isMap(read.value)) throw badRequest('the body cannot be read: expected an object')
  return read.value
}

/** An object of a request, and the warnings for its sender. */
export type ReadObject = { readonly object: JsonMap; readonly warnings: readonly string[] }

/** Reads the object of a create or replace, in JSON or YAML. */
export const decodeObject = (
  text: string,
  type: string,
  kind: Kind,
  validation: FieldValidation = 'Ignore',
): ReadObject => {
  const sent = readMap(text, type)
  checkKind(sent, kind)
  const unread = (error: string): Error => badRequest(`${kind.kind} cannot be read: ${error}`)
  const { object, unknown } = declared(sent, kind, unread)
  return { object, warnings: warningsOf(unknown, validation, unread) }
}
