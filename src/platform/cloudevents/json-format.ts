import { isRecord } from '../base/own-value.ts'
import { type Attributes, checkAttributeName, isCore, type Message } from './attributes.ts'
import { describeValue, InvalidEvent } from './invalid-event.ts'
import { isJson, mediaType } from './media-type.ts'
import { decodeData, parseJsonBytes } from './payload.ts'

type Members = Readonly<Record<string, unknown>>

/** Reads CloudEvents JSON format 1.0.2 §2 and §3: one JSON object, with `null` for absent attributes. */
export const readStructured = (body: Uint8Array): Message => {
  const members = parseJsonBytes('body', body)
  // an event that was encoded twice is a string with all its data, which must not be quoted
  const got = typeof members === 'string' ? 'a string' : describeValue(members)
  if (!isRecord(members)) throw new InvalidEvent('body', 'a JSON object', got)
  const attributes: Attributes = new Map()
  for (const [name, value] of Object.entries(members)) {
    if (name === 'data' || name === 'data_base64') continue
    checkAttributeName(name)
    if (value !== null) attributes.set(name, canonical(name, value))
  }
  if (Object.hasOwn(members, 'data') && !attributes.has('datacontenttype')) {
    attributes.set('datacontenttype', 'application/json')
  }
  return { attributes, data: () => readData(members, attributes.get('datacontenttype')) }
}

/** Returns CloudEvents' string form (1.0.2 §3.2) of a String, a Boolean or a 32-bit Integer. */
const canonical = (name: string, value: unknown): string => {
  if (typeof value === 'string') return value
  if (isCore(name)) throw new InvalidEvent(name, 'a string', describeValue(value))
  if (typeof value === 'boolean' || (typeof value === 'number' && value === (value | 0))) return String(value)
  throw new InvalidEvent(name, 'a string, a boolean or a 32-bit integer', describeValue(value))
}

/** Reads data by CloudEvents JSON format 1.0.2 §3.1.2. `data` is taken as it is, and `data_base64` like a body in binary mode. */
const readData = (members: Members, contentType: string | undefined): unknown => {
  const hasData = Object.hasOwn(members, 'data')
  const encoded = Object.hasOwn(members, 'data_base64') ? (members.data_base64 ?? undefined) : undefined
  if (hasData && encoded !== undefined) throw new InvalidEvent('data', 'either data or data_base64', 'both')
  if (encoded !== undefined) return decodeData(decodeBase64(encoded), contentType)
  if (!hasData) return undefined
  const media = mediaType(contentType ?? '')
  if (typeof members.data === 'string' || (media && isJson(media))) return members.data
  throw new InvalidEvent('data', `a string, being ${describeValue(contentType)}`, describeValue(members.data))
}

const decodeBase64 = (encoded: unknown): Uint8Array => {
  const bytes = typeof encoded === 'string' ? Buffer.from(encoded, 'base64') : undefined
  // Buffer ignores invalid base64 silently, so the text is encoded again and compared
  if (bytes?.toString('base64') !== encoded)
    throw new InvalidEvent('data_base64', 'padded base64', describeValue(encoded))
  return new Uint8Array(bytes ?? [])
}
