import { isConfigurationError, Unavailable } from '../base/errors.ts'
import type { Memo } from '../base/memo.ts'
import { ApiError, isDenied, isOfSchema } from './api-error.ts'
import type { TransportAnswer } from './client.ts'
import { parseList } from './list.ts'
import type { KubernetesObject } from './objects.ts'

/** Parses an answer into an object of `kind`, or an error. `about` names the call. */
export const parseAnswer = (
  about: string,
  kind: string | null,
  answer: TransportAnswer | Error,
  memo: Memo,
): KubernetesObject | Error => {
  if (answer instanceof Error) return answer
  if (answer.status === 404 && !isAbsence(about, answer.body, memo)) return new NotAnObject('Status')
  if (answer.status >= 300) return new ApiError(about, answer.status, answer.body, memo)
  return parsed(answer.body, kind, memo) ?? new NotAnObject(kind)
}

/** A 200 without an object. A proxy's own page must not count as an empty object. */
class NotAnObject extends Error {
  override readonly name = 'NotAnObject'

  constructor(kind: string | null) {
    super(`the API server answered something that is not a ${kind ?? 'Status'}`)
  }
}

/**
 * Tells if a 404 comes from the API server itself. That is a Status with reason NotFound, or its plain page for a LIST of an unserved group. A proxy's
 * page does not count.
 */
const isAbsence = (about: string, body: string, memo: Memo): boolean =>
  parsed(body, 'Status', memo)?.reason === 'NotFound' ||
  (about.startsWith('LIST') && body.trim() === '404 page not found')

/** An answer was longer than requested. `objects` counts those in its beginning. */
export class TooLong extends Error {
  override readonly name = 'TooLong'
  readonly objects: number

  constructor(beginning: string) {
    super('the answer is longer than was asked for')
    // quotes in strings are escaped; the list has a resourceVersion too, and the last object may be cut
    this.objects = beginning.split('"resourceVersion":"').length - 3
  }
}

/** Returns the answer, or TooLong if it is longer than requested. */
export const withinBound = (
  answer: TransportAnswer,
  most: number = Number.POSITIVE_INFINITY,
): TransportAnswer | TooLong => (answer.body.length > most ? new TooLong(answer.body.slice(0, most)) : answer)

const parseJson = (text: string): KubernetesObject | null => JSON.parse(text)

const parsed = (body: string, kind: string | null, memo: Memo): KubernetesObject | undefined => {
  try {
    const value = kind?.endsWith('List') ? parseList(body, memo) : memo(body, parseJson)
    if (typeof value?.kind !== 'string' || (kind !== null && value.kind !== kind)) return undefined
    const isComplete = value.kind.endsWith('List')
      ? isList(value.items)
      : typeof value.metadata === 'object' && value.metadata !== null
    return isComplete ? value : undefined
  } catch {
    return undefined
  }
}

/** Accepts null for an empty list, as some servers send it. */
const isList = (items: unknown): boolean => Array.isArray(items) || items === null

/** Tells if a retry may succeed. */
export const isTransient = (answer: TransportAnswer | Error, result: Error): boolean => {
  if (answer instanceof Error) return !isConfigurationError(answer) && !(answer instanceof TooLong)
  if (result instanceof NotAnObject) return true
  if (!(result instanceof ApiError) || isDenied(result) || isOfSchema(result)) return false
  return result.status === 429 || result.status >= 500
}

/** Tells if the API server reports a failure of its own, and is neither away nor busy. Often only this object is concerned. */
export const isInternal = (result: Error): boolean =>
  result instanceof ApiError && result.isStatus && ![429, 503, 504].includes(result.status)

/** Reads the API server's Retry-After in milliseconds, or 0 without one. */
export const retryAfterMilliseconds = (answer: TransportAnswer | Error): number => {
  const seconds = answer instanceof Error ? 0 : Number(answer.headers['retry-after'] ?? 0)
  return Number.isFinite(seconds) ? seconds * 1_000 : 0
}

/** A call that had no time, or only the rest that the calls before it left. */
export class OutOfTime extends Error {
  override readonly name = 'OutOfTime'
}

/** Builds the error of a call that was retried until the deadline. */
export const unavailableError = (about: string, answer: TransportAnswer | Error, result: Error): Unavailable => {
  if (answer instanceof OutOfTime) return new Unavailable(`${about}: ${answer.message}`, { cause: answer })
  if (answer instanceof Error)
    return new Unavailable(`${about}: the API server did not answer (${answer.message})`, { cause: answer })
  const message = result instanceof ApiError ? result.message : `${about}: ${result.message}`
  const retryAfterSeconds = Math.max(2, Math.ceil(retryAfterMilliseconds(answer) / 1_000))
  return new Unavailable(message, { retryAfterSeconds })
}
