import { at, isMap, type JsonMap, mapOf } from '../kinds/json.ts'
import { apiVersionOf, type Kind } from '../kinds/kind.ts'
import { kinds } from '../kinds/kinds.ts'
import type { Shape } from '../kinds/schema.ts'
import { badRequest, invalid, unsupportedMediaType } from '../kinds/status.ts'
import { invalidValue } from '../validate/errors.ts'
import { decodeInto, goType, pruneInto } from '../validate/field-types.ts'
import { parseGoJson, parseYamlOrJson } from './body.ts'
import type { FieldValidation } from './options.ts'
import { parseProtobuf } from './protobuf.ts'

const summary = (text: string): string => {
  const cut = (whole: string, limit: number): string => (whole.length > limit ? `${whole.slice(0, limit)} ...` : whole)
  if (text === '') return '<empty>'
  return text.startsWith('{') ? cut(text, 30) : cut(Buffer.from(text).toString('hex'), 60)
}

const goPackage = (group: string): string => (group === '' ? 'core' : (group.split('.')[0] ?? group))

const versionOf = (apiVersion: string): string => apiVersion.split('/').at(-1) ?? ''

const nameOf = (object: JsonMap): string => {
  const name = at(object, 'metadata', 'name')
  return typeof name === 'string' ? name : ''
}

/** Refuses an object of another kind than the address names. */
export const checkKind = (object: JsonMap, kind: Kind): void => {
  const sent = String(object.kind ?? kind.kind)
  const apiVersion = String(object.apiVersion ?? apiVersionOf(kind))
  const version = versionOf(apiVersion)
  if (sent !== kind.kind && !kind.custom) {
    const isList = sent === 'List' && apiVersion === 'v1'
    const known = isList || kinds.some((each) => each.kind === sent && apiVersionOf(each) === apiVersion)
    const why = known
      ? `converting (${version}.${sent}) to (${goPackage(kind.group)}.${kind.kind}): unknown conversion`
      : `no kind "${sent}" is registered for version "${apiVersion}" in scheme "pkg/api/legacyscheme/scheme.go:30"`
    throw badRequest(`${sent} in version "${version}" cannot be handled as a ${kind.kind}: ${why}`)
  }
  if (apiVersion !== apiVersionOf(kind)) {
    throw badRequest(
      `the API version in the data (${apiVersion}) does not match the expected API version (${apiVersionOf(kind)})`,
    )
  }
  if (sent !== kind.kind) throw invalid(kind, nameOf(object), [invalidValue('kind', sent, `must be ${kind.kind}`)])
}

/** An object with its kind's declared fields, and the paths of all others. */
export type DeclaredObject = { readonly object: JsonMap; readonly unknown: readonly string[] }

/** Removes undeclared fields; throws `refusal` for the first value of a wrong type. */
export const declared = (object: JsonMap, kind: Kind, refusal: (error: string) => Error): DeclaredObject => {
  const { metadata } = object
  const strict = kind.custom ? (metadata === undefined ? {} : { metadata }) : object
  const decoded = decodeInto(strict, kind.shape)
  if (decoded.wrong) throw refusal(decoded.wrong.error)
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

const unhandled =
  (kind: Kind) =>
  (error: string): Error =>
    badRequest(`${kind.kind} in version "${kind.version}" cannot be handled as a ${kind.kind}: ${error}`)

const protobufType = 'application/vnd.kubernetes.protobuf'

const readers = {
  'application/json': parseGoJson,
  'application/yaml': parseYamlOrJson,
  [protobufType]: parseProtobuf,
  '': parseGoJson,
} as const

const typeMeta: Shape = {
  type: 'struct',
  name: '',
  fields: () => ({ apiVersion: { type: 'string' }, kind: { type: 'string' } }),
}

const goTypeMeta =
  'struct { APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" }'

/** Reads the map in a body of a media type that the kind takes; its kind and version are texts. */
export const readMap = (text: string, type: string, kind: Kind): JsonMap => {
  const accepted = ['application/json', 'application/yaml', ...(kind.custom ? [] : [protobufType])]
  const reader = Object.hasOwn(readers, type) ? readers[type as keyof typeof readers] : undefined
  if (reader === undefined || (kind.custom && type === protobufType)) throw unsupportedMediaType(accepted)
  const read = reader(text)
  const unrecognized = `the object provided is unrecognized (must be of type ${kind.kind})`
  const unread = (why: string): Error =>
    badRequest(`${unrecognized}: couldn't get version/kind; json parse error: ${why} (${summary(text)})`)
  if ('error' in read) throw unread(read.error)
  const { value } = read
  if (!isMap(value)) throw unread(`json: cannot unmarshal ${goType(value)} into Go value of type ${goTypeMeta}`)
  const { wrong } = decodeInto(value, typeMeta)
  if (wrong) throw unread(wrong.error)
  if (kind.custom && value.kind === undefined) {
    throw badRequest(`${unrecognized}: Object 'Kind' is missing in '${text}' (${summary(text)})`)
  }
  return value
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
  const sent = readMap(text, type, kind)
  checkKind(sent, kind)
  const { object, unknown } = declared(sent, kind, unhandled(kind))
  return { object, warnings: warningsOf(unknown, validation, unhandled(kind)) }
}
