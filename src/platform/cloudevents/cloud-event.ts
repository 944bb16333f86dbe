import { CloudEvent, HTTP } from 'cloudevents'
import { type Attributes, checkAttributeName, checkAttributes, isCore } from './attributes.ts'
import { encodeHeaderValue, readBinary } from './http-binding.ts'
import { describeValue, InvalidEvent } from './invalid-event.ts'
import { readStructured } from './json-format.ts'
import { mediaType } from './media-type.ts'
import { checkCharset, encodeData } from './payload.ts'

export { InvalidEvent } from './invalid-event.ts'

/** A CloudEvent 1.0 as plain data. */
export type Event = {
  readonly id: string
  readonly source: string
  readonly type: string
  readonly subject?: string
  /** RFC 3339 as it was sent, with nanoseconds and offset. */
  readonly time?: string
  /** As sent, parameters included. */
  readonly datacontenttype?: string
  readonly dataschema?: string
  /** All other attributes in their canonical string form. The object has no prototype, so any name is safe to look up. */
  readonly extensions: Readonly<Record<string, string>>
  /** A JSON value for JSON media types, a string for text, and bytes otherwise. Absent data is undefined, and null is JSON's null. */
  readonly data?: unknown
}

/** A request. Header names are in lower case. Header values have one code unit for each byte, as in Node. */
export type EventRequest = { readonly headers: Readonly<Record<string, string>>; readonly body: Uint8Array }

const OPTIONAL = ['subject', 'time', 'datacontenttype', 'dataschema'] as const
const CORE = ['id', 'source', 'type', ...OPTIONAL] as const

// The SDK rounds the time to milliseconds, and throws for extensions with the other names (a 0.3 attribute, a prototype lookup).
const BESIDE_SDK = ['time', 'schemaurl', 'constructor']

/** Reads an event in binary or structured mode (CloudEvents HTTP binding 1.0.2 §3). Throws InvalidEvent. */
export const readEvent = (request: EventRequest): Event => {
  const headers = new Map(Object.entries(request.headers).map(([name, value]) => [name.toLowerCase(), value]))
  const { attributes, data } = isStructured(headers.get('content-type') ?? '')
    ? readStructured(request.body)
    : readBinary(headers, request.body)
  checkAttributes(attributes)
  return eventOf(attributes, data())
}

/**
 * Writes headers and body in binary mode (CloudEvents HTTP binding 1.0.2 §3.1). Header values are printable ASCII. The body is text, so bytes must be
 * UTF-8. Throws TypeError for an event that `readEvent` would refuse.
 */
export const writeEvent = (event: Event): { headers: Record<string, string>; body: string } => {
  const { attributes, body } = writable(event)
  const forSdk = [...attributes].filter(([name]) => !BESIDE_SDK.includes(name))
  // Not strict, because an extension named `validate` would replace the SDK's validator method. The event is already validated here. The body is already
  // serialized, because the SDK would send a JSON string without quotes.
  const message = HTTP.binary(new CloudEvent({ ...Object.fromEntries(forSdk), data: body }, false))
  // The SDK adds a missing time (now) and media type (JSON).
  const written = { ...message.headers, 'ce-time': undefined, 'content-type': attributes.get('datacontenttype') }
  const beside = BESIDE_SDK.map((name) => [`ce-${name}`, attributes.get(name)] as const)
  const headers: Record<string, string> = {}
  for (const [name, value] of [...Object.entries(written), ...beside]) {
    if (value !== undefined) headers[name] = name === 'content-type' ? `${value}` : encodeHeaderValue(`${value}`)
  }
  return { headers, body: `${message.body}` }
}

/** Builds the event in CloudEvents' JSON format, as in structured mode. */
export const structuredEvent = ({ extensions, data, ...attributes }: Event): Record<string, unknown> => ({
  specversion: '1.0',
  ...attributes,
  ...extensions,
  ...(data instanceof Uint8Array
    ? { data_base64: Buffer.from(data).toString('base64') }
    : data !== undefined && { data }),
})

/** Tells if a request is in structured mode. By CloudEvents HTTP binding 1.0.2 §3, only Content-Type decides this. */
const isStructured = (contentType: string): boolean => {
  if (!contentType.toLowerCase().startsWith('application/cloudevents')) return false
  const media = mediaType(contentType)
  if (media?.type !== 'application/cloudevents+json') {
    throw new InvalidEvent(
      'content-type',
      'one event, in binary mode or application/cloudevents+json',
      describeValue(contentType),
      415,
    )
  }
  checkCharset('content-type', media)
  return true
}

const eventOf = (attributes: Attributes, data: unknown): Event => {
  const { id = '', source = '', type = '', ...others } = Object.fromEntries(attributes)
  const optional = OPTIONAL.filter((name) => attributes.has(name)).map((name) => [name, others[name]])
  const extensions: Record<string, string> = Object.create(null)
  for (const [name, value] of attributes) if (!isCore(name)) extensions[name] = value
  return { id, source, type, ...Object.fromEntries(optional), extensions, ...(data !== undefined && { data }) }
}

const writable = (event: Event): { attributes: Attributes; body: string } => {
  try {
    const attributes = attributesOf(event)
    checkAttributes(attributes)
    const body = encodeData(event.data, event.datacontenttype)
    const isBytes = event.data instanceof Uint8Array
    if (event.data !== undefined && !isBytes && !event.datacontenttype)
      attributes.set('datacontenttype', 'application/json')
    return { attributes, body }
  } catch (error) {
    throw new TypeError(`Cannot write this event: ${error instanceof Error ? error.message : error}`, { cause: error })
  }
}

const attributesOf = (event: Event): Attributes => {
  const attributes: Attributes = new Map([['specversion', '1.0']])
  for (const name of CORE) {
    const value = event[name]
    if (value !== undefined) attributes.set(name, value)
  }
  for (const [name, value] of Object.entries(event.extensions)) {
    checkAttributeName(name)
    if (isCore(name)) throw new InvalidEvent(name, 'no extension of this name', describeValue(value))
    attributes.set(name, value)
  }
  return attributes
}
