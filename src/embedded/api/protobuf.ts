import type { Json, JsonMap } from '../../platform/base/json.ts'

/**
 * Reads the Kubernetes protobuf encoding of what kubectl's own create commands send (configmap, namespace): a magic number, then a message with apiVersion, kind and the encoded object. The numbers are
 * those of the generated.proto files of the Kubernetes API.
 * See https://kubernetes.io/docs/reference/using-api/api-concepts/#alternate-representations-of-resources
 */

type Field = {
  readonly name: string
  readonly type: 'text' | 'bytes' | 'map' | 'bytesMap' | Message
}
type Message = { readonly [number: number]: Field }

const objectMeta: Message = {
  1: { name: 'name', type: 'text' },
  3: { name: 'namespace', type: 'text' },
  11: { name: 'labels', type: 'map' },
  12: { name: 'annotations', type: 'map' },
}

const metadata: Field = { name: 'metadata', type: objectMeta }

const messages: Readonly<Record<string, Message>> = {
  ConfigMap: {
    1: metadata,
    2: { name: 'data', type: 'map' },
    3: { name: 'binaryData', type: 'bytesMap' },
  },
  Namespace: { 1: metadata },
}

const envelope: Message = {
  1: { name: 'type', type: { 1: { name: 'apiVersion', type: 'text' }, 2: { name: 'kind', type: 'text' } } },
  2: { name: 'raw', type: 'bytes' },
}

const magic = Buffer.from('k8s\0')

const lengthDelimited = 2

type Part = { readonly number: number; readonly value: number | Buffer }

const varint = (bytes: Buffer, start: number): { value: number; end: number } => {
  let value = 0
  for (let end = start, scale = 1; end < bytes.length; end += 1, scale *= 128) {
    const byte = bytes[end] ?? 0
    value += (byte & 127) * scale
    if (byte < 128) return { value, end: end + 1 }
  }
  throw new Error('unexpected EOF')
}

const partsOf = (bytes: Buffer): Part[] => {
  const parts: Part[] = []
  for (let position = 0; position < bytes.length; ) {
    const tag = varint(bytes, position)
    const { value, end } = varint(bytes, tag.end)
    const isBytes = (tag.value & 7) === lengthDelimited
    position = isBytes ? end + value : end
    parts.push({ number: tag.value >> 3, value: isBytes ? bytes.subarray(end, position) : value })
  }
  return parts
}

const entry = (bytes: Buffer, encoding: BufferEncoding): JsonMap => {
  const parts = partsOf(bytes)
  const of = (number: number): Buffer =>
    Buffer.from((parts.find((part) => part.number === number)?.value ?? '') as Buffer)
  return { [of(1).toString()]: of(2).toString(encoding) }
}

const added = (previous: Json | undefined, { type }: Field, value: number | Buffer): Json => {
  if (typeof value === 'number') return value
  if (type === 'map') return { ...(previous as JsonMap), ...entry(value, 'utf8') }
  if (type === 'bytesMap') return { ...(previous as JsonMap), ...entry(value, 'base64') }
  if (type === 'bytes') return value.toString('latin1')
  return typeof type === 'object' ? decode(value, type) : value.toString()
}

const decode = (bytes: Buffer, message: Message): JsonMap => {
  const out: JsonMap = {}
  for (const { number, value } of partsOf(bytes)) {
    const field = message[number]
    // An unset field is an empty text.
    const isSet = field?.type !== 'text' || (value as Buffer).length > 0
    if (field && isSet) out[field.name] = added(out[field.name], field, value)
  }
  return out
}

/** The object; the text holds one byte in each character. */
export const parseProtobuf = (text: string): JsonMap => {
  const bytes = Buffer.from(text, 'latin1')
  if (!bytes.subarray(0, magic.length).equals(magic))
    throw new Error('provided data does not appear to be a protobuf message')
  const { type, raw } = decode(bytes.subarray(magic.length), envelope)
  const { apiVersion, kind } = type as { apiVersion: string; kind: string }
  const message = messages[kind]
  if (message === undefined) throw new Error(`this server reads no protobuf of ${kind}, send JSON`)
  return { apiVersion, kind, ...decode(Buffer.from(String(raw ?? ''), 'latin1'), message) }
}
