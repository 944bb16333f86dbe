import { parse as parseYaml, type Tags } from 'yaml'
import { isMap, type Json, type JsonMap, mapOf } from './json.ts'
import { apiVersionOf, type Kind } from './kind.ts'
import { kinds } from './kinds.ts'
import { parseProtobuf } from './protobuf.ts'
import { badRequest, unsupportedMediaType } from './status.ts'

const goContexts: readonly (readonly [RegExp, string])[] = [
  [/^(Expected property name|Expected double-quoted)/, 'looking for beginning of object key string'],
  [/^Expected ':'/, 'after object key'],
  [/^Expected ',' or '}'/, 'after object key:value pair'],
  [/^Expected ',' or ']'/, 'after array element'],
  [/^Unexpected non-whitespace/, 'after top-level value'],
]

/** What Go's JSON decoder says of a text that JSON.parse refuses. */
const goJsonError = (text: string, { message }: Error): string => {
  const quoted = /^Unexpected token '(.)'/su.exec(message)?.[1]
  const position = /at position (\d+)/.exec(message)?.[1]
  const character = quoted ?? (position === undefined ? undefined : text[Number(position)])
  if (character === undefined || message.startsWith('Unterminated')) return 'unexpected end of JSON input'
  const context = goContexts.find(([pattern]) => pattern.test(message))?.[1] ?? 'looking for beginning of value'
  return `invalid character '${character}' ${context}`
}

/** The value, or what Go would say is wrong with the text. */
export const parseJson = (text: string): { value: Json } | { error: string } => {
  try {
    return { value: JSON.parse(text) as Json }
  } catch (error) {
    return { error: goJsonError(text, error as Error) }
  }
}

// The API server reads YAML 1.1, where `on` is a truth value, but leaves dates as text.
const yaml11 = {
  version: '1.1',
  customTags: (tags: Tags) => tags.filter((tag) => typeof tag === 'string' || !tag.tag.endsWith(':timestamp')),
} as const

/** The value of a YAML text, of which JSON is the usual case. */
export const parseYamlOrJson = (text: string): { value: Json } | { error: string } => {
  const asJson = text.trimStart().startsWith('{') ? parseJson(text) : undefined
  if (asJson && 'value' in asJson) return asJson
  try {
    return { value: parseYaml(text, yaml11) as Json }
  } catch (error) {
    return { error: (error as Error).message }
  }
}

const summary = (text: string): string => {
  const cut = (whole: string, limit: number): string => (whole.length > limit ? `${whole.slice(0, limit)} ...` : whole)
  if (text === '') return '<empty>'
  return text.startsWith('{') ? cut(text, 30) : cut(Buffer.from(text).toString('hex'), 60)
}

export const mediaType = (headers: Readonly<Record<string, string>>): string =>
  (headers['content-type'] ?? '').split(';')[0]?.trim().toLowerCase() ?? ''

const goPackage = (group: string): string => (group === '' ? 'core' : (group.split('.')[0] ?? group))

const versionOf = (apiVersion: string): string => apiVersion.split('/').at(-1) ?? ''

/** Refuses an object of another kind than the address names. */
const checkKind = (object: JsonMap, kind: Kind): void => {
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
}

const goType = (value: Json): string =>
  Array.isArray(value)
    ? 'array'
    : isMap(value)
      ? 'object'
      : value === null
        ? 'null'
        : value === true || value === false
          ? 'bool'
          : typeof value

const textMaps = (object: JsonMap, kind: Kind): { field: string; map: JsonMap }[] => [
  { field: 'ObjectMeta.metadata.labels', map: mapOf(mapOf(object.metadata).labels) },
  { field: 'ObjectMeta.metadata.annotations', map: mapOf(mapOf(object.metadata).annotations) },
  {
    field: 'ObjectMeta.spec.template.metadata.labels',
    map: kind.custom ? {} : mapOf(mapOf(mapOf(mapOf(object.spec).template).metadata).labels),
  },
  ...(kind.kind === 'ConfigMap' ? [{ field: 'ConfigMap.data', map: mapOf(object.data) }] : []),
]

/** Where the object has something else than text in a map of texts; undefined when nowhere. */
export const notText = (object: JsonMap, kind: Kind): { path: string; value: Json; error: string } | undefined => {
  for (const { field, map } of textMaps(object, kind)) {
    for (const [key, value] of Object.entries(map)) {
      if (typeof value === 'string' || value === undefined || value === null) continue
      const error = `json: cannot unmarshal ${goType(value)} into Go struct field ${field} of type string`
      return { path: `${field.slice(field.indexOf('.'))}.${key}`, value, error }
    }
  }
  return undefined
}

const protobufType = 'application/vnd.kubernetes.protobuf'

const readers = {
  'application/json': parseJson,
  'application/yaml': parseYamlOrJson,
  [protobufType]: parseProtobuf,
  '': parseJson,
} as const

/** The object in the body of a create or replace, in JSON or YAML. */
export const decodeObject = (text: string, type: string, kind: Kind): JsonMap => {
  const accepted = ['application/json', 'application/yaml', ...(kind.custom ? [] : [protobufType])]
  const reader = Object.hasOwn(readers, type) ? readers[type as keyof typeof readers] : undefined
  if (reader === undefined || (kind.custom && type === protobufType)) throw unsupportedMediaType(accepted)
  const read = reader(text)
  const unrecognized = `the object provided is unrecognized (must be of type ${kind.kind})`
  if ('error' in read)
    throw badRequest(`${unrecognized}: couldn't get version/kind; json parse error: ${read.error} (${summary(text)})`)
  if (!isMap(read.value)) {
    const why = `json: cannot unmarshal ${goType(read.value)} into Go value of type struct { APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" }`
    throw badRequest(`${unrecognized}: couldn't get version/kind; json parse error: ${why} (${summary(text)})`)
  }
  if (kind.custom && read.value.kind === undefined) {
    throw badRequest(`${unrecognized}: Object 'Kind' is missing in '${text}' (${summary(text)})`)
  }
  checkKind(read.value, kind)
  const wrong = notText(read.value, kind)
  if (wrong)
    throw badRequest(`${kind.kind} in version "${kind.version}" cannot be handled as a ${kind.kind}: ${wrong.error}`)
  return read.value
}
