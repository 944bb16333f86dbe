import { jsonProblem } from '../base/structured-text.ts'
import { describeValue, InvalidEvent } from './invalid-event.ts'
import { isJson, isText, type MediaType, mediaType } from './media-type.ts'

const JSON_CHARSETS = ['utf-8', 'utf8']
const TEXT_CHARSETS = [...JSON_CHARSETS, 'us-ascii']
const UTF8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/** Decodes JSON media types to a value, text to a string, and others to bytes. An empty body is no data. */
export const decodeData = (bytes: Uint8Array, contentType: string | undefined): unknown => {
  if (bytes.length === 0) return undefined
  const media = mediaType(contentType ?? '')
  if (!media || !(isJson(media) || isText(media))) return bytes
  checkCharset('datacontenttype', media)
  return isJson(media) ? parseJsonBytes('data', bytes) : decodeUtf8('data', bytes)
}

/** Reverses `decodeData`. Data without a declared type is JSON, unless it is bytes. */
export const encodeData = (data: unknown, contentType: string | undefined): string => {
  if (data === undefined) return ''
  const media = mediaType(contentType ?? 'application/json')
  if (media && (isJson(media) || isText(media))) checkCharset('datacontenttype', media)
  if (data instanceof Uint8Array) return decodeUtf8('data', data)
  const json: string | undefined = media && isJson(media) ? JSON.stringify(data) : undefined
  if (json !== undefined) return json
  if (typeof data === 'string' && data.isWellFormed()) return data
  throw new InvalidEvent('data', 'bytes or well-formed text', describeValue(data))
}

/** Checks the charset. JSON is UTF-8 (RFC 8259 §8.1). Another charset is refused, because decoding would garble the text. */
export const checkCharset = (attribute: string, media: MediaType): void => {
  const { charset = 'utf-8' } = media
  if ((isText(media) ? TEXT_CHARSETS : JSON_CHARSETS).includes(charset)) return
  throw new InvalidEvent(attribute, 'charset utf-8', describeValue(charset), 415)
}

/** Parses JSON, with or without a byte order mark (RFC 8259 §8.1). */
export const parseJsonBytes = (what: string, bytes: Uint8Array): unknown => {
  const text = decodeUtf8(what, bytes).replace(/^\ufeff/, '')
  try {
    return JSON.parse(text)
  } catch (error) {
    throw new InvalidEvent(what, 'JSON', `invalid JSON: ${jsonProblem(error as Error)}`)
  }
}

/** Decodes UTF-8. A byte order mark is kept as part of the text. */
export const decodeUtf8 = (what: string, bytes: Uint8Array): string => {
  try {
    return UTF8.decode(bytes)
  } catch {
    throw new InvalidEvent(what, 'UTF-8', `${bytes.length} bytes that are not valid UTF-8`)
  }
}
