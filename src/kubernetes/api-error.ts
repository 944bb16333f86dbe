/** One entry of a Status' `details.causes`. */
export type Cause = { reason?: string; field?: string; message?: string }

/** What the API server refused: its Status (kubernetes.io/docs/reference/kubernetes-api/common-definitions/status), with the call. */
export class ApiError extends Error {
  override readonly name = 'ApiError'
  readonly call: string
  readonly status: number
  readonly reason: string
  readonly causes: readonly Cause[]

  constructor(call: string, status: number, body: string) {
    const parsed = statusOf(body)
    super(`${call}: ${status} ${parsed.message ?? body.trim().slice(0, 200)}`)
    this.call = call
    this.status = status
    this.reason = parsed.reason ?? ''
    this.causes = parsed.details?.causes ?? []
  }
}

type Status = { message?: string; reason?: string; details?: { causes?: Cause[] } }

const statusOf = (body: string): Status => {
  try {
    const value: unknown = JSON.parse(body)
    return typeof value === 'object' && value !== null ? value : {}
  } catch {
    return {} // a proxy in between answers with text or HTML
  }
}

export const isNotFound = (error: unknown): boolean => error instanceof ApiError && error.status === 404

export const isForbidden = (error: unknown): boolean => error instanceof ApiError && error.status === 403

/**
 * Somebody wrote, replaced or deleted the object since it was read: reading it again helps. The API server says so in several ways:
 * 409 for a stale resourceVersion, a failed uid precondition or an existing object; 422 for an apply with another uid, or for
 * a JSON patch whose test failed; 404 for a patch or an update of what is gone.
 */
export const isStale = (error: unknown): boolean =>
  error instanceof ApiError &&
  ((error.status === 409 && fieldConflicts(error).length === 0) ||
    (error.status === 422 &&
      (error.causes.length === 0 || error.causes.some(({ field }) => field === 'metadata.uid'))) ||
    (error.status === 404 && /^(PATCH|UPDATE)/.test(error.call)))

/** The object does not fit its schema: an apply of such a one is answered with 500, and always will be. */
export const isMisfit = (error: unknown): boolean =>
  error instanceof ApiError &&
  error.status === 500 &&
  /failed to (create typed patch object|convert new object)/.test(error.message)

/** A field that another field manager holds with another value. */
export type FieldConflict = { field: string; manager: string }

/** The conflicts of a refused server-side apply; empty for every other error. */
export const fieldConflicts = (error: unknown): FieldConflict[] =>
  error instanceof ApiError && error.status === 409
    ? error.causes
        .filter(({ reason }) => reason === 'FieldManagerConflict')
        .map(({ field = '', message = '' }) => ({ field, manager: managerIn(message) }))
    : []

/** `conflict with "kubectl-label" using apps/v1`: the name is quoted as Go does it. */
const managerIn = (message: string): string =>
  /^conflict with "((?:[^"\\]|\\.)*)"/.exec(message)?.[1]?.replace(/\\(.)/g, '$1') ?? message
