import { type Attributes, checkAttributeName, isValid, type Message } from './attributes.ts'
import { describeValue, InvalidEvent } from './invalid-event.ts'
import { decodeData, decodeUtf8 } from './payload.ts'

const QUOTED = /^"((?:[^"\\]|\\.)*)"$/s

/** Reads binary mode (CloudEvents HTTP binding 1.0.2 §3.1): `ce-` headers are attributes, Content-Type is datacontenttype, others are ignored. */
export const readBinary = (headers: ReadonlyMap<string, string>, body: Uint8Array): Message => {
  const attributes: Attributes = new Map()
  for (const [header, value] of headers) {
    if (header === 'content-type') attributes.set('datacontenttype', value)
    if (header === 'ce-datacontenttype')
      throw new InvalidEvent(header, 'the Content-Type header instead', describeValue(value))
    if (!header.startsWith('ce-')) continue
    const name = header.slice('ce-'.length)
    checkAttributeName(name)
    const decoded = decodeHeaderValue(name, value)
    // Knative's data planes do not encode, so a URI that decoding would make invalid is taken as it is.
    const isUri = name === 'source' || name === 'dataschema'
    attributes.set(name, isUri && !isValid(name, decoded) ? value : decoded)
  }
  return { attributes, data: () => decodeData(body, attributes.get('datacontenttype')) }
}

/**
 * Decodes a header value by CloudEvents HTTP binding 1.0.2 §3.1.3.2. It removes double quotes around the whole value, and then decodes percent-encoding
 * once. A `%` without two hex digits stays, because some senders do not encode. They also send raw UTF-8, which Node presents as one code unit per byte.
 * Raw and decoded bytes together must be UTF-8.
 */
const decodeHeaderValue = (name: string, value: string): string => {
  const unquoted = QUOTED.exec(value)?.[1]?.replace(/\\(.)/gs, '$1') ?? value
  const bytes = unquoted.replace(/%([0-9a-f]{2})/gi, (_, hex) => String.fromCharCode(Number.parseInt(hex, 16)))
  if (/[^\0-\xff]/.test(bytes)) throw new InvalidEvent(name, 'a header value of single bytes', describeValue(value))
  return decodeUtf8(name, Buffer.from(bytes, 'latin1'))
}

/** Encodes a header value by CloudEvents HTTP binding 1.0.2 §3.1.3.2: space, `"`, `%`, and all characters except U+0021 to U+007E are percent-encoded. */
export const encodeHeaderValue = (value: string): string => value.replace(/[^!-~]|["%]/gu, encodeURIComponent)
