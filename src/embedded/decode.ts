import { parseJson, parseYamlOrJson } from './body.ts'
import { type FieldType, goType, wrongIn } from './field-types.ts'
import { at, isMap, type JsonMap } from './json.ts'
import { apiVersionOf, type Kind } from './kind.ts'
import { wrongType } from './kind-types.ts'
import { kinds } from './kinds.ts'
import { parseProtobuf } from './protobuf.ts'
import { badRequest, invalid, unsupportedMediaType } from './status.ts'
import { invalidValue } from './validate.ts'

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
    const known = kinds.some((each) => each.kind === sent && apiVersionOf(each) === apiVersion)
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

/** Refuses an object with a value that its field cannot hold. */
export const checkTypes = (object: JsonMap, kind: Kind): void => {
  const wrong = wrongType(object, kind)
  if (wrong === undefined) return
  const field = wrong.path.slice(1)
  if (kind.custom && !field.startsWith('metadata')) {
    const type = JSON.stringify(Array.isArray(wrong.value) ? 'array' : typeof wrong.value)
    const message = `Invalid value: ${type}: ${field} in body must be of type object: ${type}`
    throw invalid(kind, nameOf(object), [{ field, reason: 'FieldValueTypeInvalid', message }])
  }
  throw badRequest(`${kind.kind} in version "${kind.version}" cannot be handled as a ${kind.kind}: ${wrong.error}`)
}

const protobufType = 'application/vnd.kubernetes.protobuf'

const readers = {
  'application/json': parseJson,
  'application/yaml': parseYamlOrJson,
  [protobufType]: parseProtobuf,
  '': parseJson,
} as const

const typeMeta: FieldType = { struct: '', members: { apiVersion: 'string', kind: 'string' } }

const goTypeMeta =
  'struct { APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" }'

/** The map in a body of one of the media types that the kind takes; its kind and version are texts. */
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
  const wrong = wrongIn(value, typeMeta)
  if (wrong) throw unread(wrong.error)
  if (kind.custom && value.kind === undefined) {
    throw badRequest(`${unrecognized}: Object 'Kind' is missing in '${text}' (${summary(text)})`)
  }
  return value
}

/** The object in the body of a create or replace, in JSON or YAML. */
export const decodeObject = (text: string, type: string, kind: Kind): JsonMap => {
  const object = readMap(text, type, kind)
  checkKind(object, kind)
  checkTypes(object, kind)
  return object
}
