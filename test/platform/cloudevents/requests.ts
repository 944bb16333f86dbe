import { type EventRequest, InvalidEvent, readEvent } from '../../../src/platform/cloudevents/cloud-event.ts'

/** The least that makes an event, and what every row of a table varies. */
export const REQUIRED = { specversion: '1.0', id: '1', source: '/shop/db', type: 'example.changed' }

export const bytes = (body: string | Uint8Array): Uint8Array =>
  typeof body === 'string' ? new TextEncoder().encode(body) : body

/** A binary-mode request; a header given as undefined is left out. */
export const binary = (
  headers: Record<string, string | undefined> = {},
  body: string | Uint8Array = '',
): EventRequest => {
  const required = Object.entries(REQUIRED).map(([name, value]) => [`ce-${name}`, value])
  const all: Record<string, string | undefined> = { ...Object.fromEntries(required), ...headers }
  const present = Object.entries(all).filter((header): header is [string, string] => header[1] !== undefined)
  return { headers: Object.fromEntries(present), body: bytes(body) }
}

/** A structured-mode request around raw JSON text. */
export const json = (text: string | Uint8Array, contentType = 'application/cloudevents+json'): EventRequest => ({
  headers: { 'content-type': contentType },
  body: bytes(text),
})

/** A structured-mode request; a member given as undefined is left out. */
export const structured = (members: object = {}, contentType?: string): EventRequest =>
  json(JSON.stringify({ ...REQUIRED, ...members }), contentType)

/** "status message" of the refusal, or "accepted". */
export const refusal = (request: EventRequest): string => {
  try {
    readEvent(request)
    return 'accepted'
  } catch (error) {
    if (error instanceof InvalidEvent) return `${error.status} ${error.message}`
    throw error
  }
}
