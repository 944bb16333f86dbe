import { STATUS_CODES } from 'node:http'
import { isConfigurationError, isRefused, isUnavailable } from '../../platform/base/errors.ts'
import { InvalidEvent } from '../../platform/cloudevents/cloud-event.ts'
import { ApiError, suggestRemedy } from '../../platform/kubernetes/api-error.ts'

/** The answer for an error, in the form of RFC 9457. `body` is JSON of at most 768 bytes. */
export type Failure = { status: number; headers: Record<string, string>; body: string }

export const respond = ({ status, headers, body }: Failure): Response => new Response(body, { status, headers })

/** The limit of a body. A Knative dispatcher with a dead-letter sink crashes on a longer error body. */
const MAXIMUM_BYTES = 768

/**
 * Converts an error to an answer. 4xx: the event is wrong, and Knative does not send it again. 429 and 503: it should be sent again. 500: somebody has to
 * repair something first.
 */
export const failureOf = (error: unknown): Failure => {
  const message = error instanceof Error ? error.message : String(error)
  if (error instanceof InvalidEvent || isRefused(error))
    return failure(error.status, REASONS[error.status] ?? 'refused', message)
  if (isUnavailable(error))
    return failure(error.status, error.status === 429 ? 'busy' : 'unavailable', message, {
      'retry-after': String(error.retryAfterSeconds),
    })
  if (isConfigurationError(error)) return failure(500, 'broken', message)
  if (error instanceof ApiError) return failure(500, error.reason || 'api-error', `${message}. ${suggestRemedy(error)}`)
  return failure(500, 'defect', `This is a defect of meshstep, please report it: ${message}`)
}

const REASONS: Record<number, string> = {
  400: 'invalid',
  401: 'unauthenticated',
  403: 'unauthorized',
  404: 'not-found',
  413: 'too-large',
  415: 'unsupported-media-type',
}

const failure = (status: number, reason: string, message: string, headers: Record<string, string> = {}): Failure => {
  const body = (text: string) =>
    JSON.stringify({ type: 'about:blank', title: STATUS_CODES[status], status, reason, message: text })
  let text = message.slice(0, MAXIMUM_BYTES)
  for (let excess = 1; excess > 0; ) {
    excess = Buffer.byteLength(body(text)) - MAXIMUM_BYTES
    // cut whole characters: half a surrogate pair is not UTF-8
    if (excess > 0) text = `${[...text].slice(0, -Math.ceil(excess / 6) - 2).join('')}…`
  }
  return { status, headers: { 'content-type': 'application/problem+json', ...headers }, body: body(text) }
}
