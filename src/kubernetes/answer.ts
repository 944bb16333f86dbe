import { isConfigurationError, Unavailable } from '../base/errors.ts'
import type { Memo } from '../base/memo.ts'
import { ApiError, isDenied, isOfSchema } from './api-error.ts'
import type { TransportAnswer } from './client.ts'
import type { KubernetesObject } from './objects.ts'

/** The object of `kind` that was answered, or why there is none; `about` names the call in it. */
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

/** A proxy in between may answer 200 with a page of its own: that must never read as an object without content. */
class NotAnObject extends Error {
  override readonly name = 'NotAnObject'

  constructor(kind: string | null) {
    super(`the API server answered something that is not a ${kind ?? 'Status'}`)
  }
}

/**
 * Whether a 404 is the API server's own: a Status whose reason is NotFound, or its plain page where a LIST names a group that it does not
 * serve. The page of a proxy says nothing about what is there.
 */
const isAbsence = (about: string, body: string, memo: Memo): boolean =>
  parsed(body, 'Status', memo)?.reason === 'NotFound' ||
  (about.startsWith('LIST') && body.trim() === '404 page not found')

const parseJson = (text: string): KubernetesObject | null => JSON.parse(text)

const parsed = (body: string, kind: string | null, memo: Memo): KubernetesObject | undefined => {
  try {
    const value = memo(body, parseJson)
    if (typeof value?.kind !== 'string' || (kind !== null && value.kind !== kind)) return undefined
    const isComplete = value.kind.endsWith('List')
      ? isList(value.items)
      : typeof value.metadata === 'object' && value.metadata !== null
    return isComplete ? value : undefined
  } catch {
    return undefined
  }
}

/** Some servers say null for no items. */
const isList = (items: unknown): boolean => Array.isArray(items) || items === null

/** Whether the same call may go well a moment later. */
export const isTransient = (answer: TransportAnswer | Error, result: Error): boolean => {
  if (answer instanceof Error) return !isConfigurationError(answer)
  if (result instanceof NotAnObject) return true
  if (!(result instanceof ApiError) || isDenied(result) || isOfSchema(result)) return false
  return result.status === 429 || result.status >= 500
}

/** Whether the API server itself says that it failed, rather than that it is away or busy: often it fails at this object alone. */
export const isInternal = (result: Error): boolean =>
  result instanceof ApiError && result.isStatus && ![429, 503, 504].includes(result.status)

/** How long the API server asks to be left alone, 0 when it does not say. */
export const retryAfterMilliseconds = (answer: TransportAnswer | Error): number => {
  const seconds = answer instanceof Error ? 0 : Number(answer.headers['retry-after'] ?? 0)
  return Number.isFinite(seconds) ? seconds * 1_000 : 0
}

/** What is said of a call that was retried until the deadline. */
export const unavailableError = (about: string, answer: TransportAnswer | Error, result: Error): Unavailable => {
  if (answer instanceof Error)
    return new Unavailable(`${about}: the API server did not answer (${answer.message})`, { cause: answer })
  const message = result instanceof ApiError ? result.message : `${about}: ${result.message}`
  const retryAfterSeconds = Math.max(2, Math.ceil(retryAfterMilliseconds(answer) / 1_000))
  return new Unavailable(message, { retryAfterSeconds })
}
