import type { Memo } from '../base/memo.ts'

/** One entry of a Status' `details.causes`. */
export type Cause = { reason?: string; field?: string; message?: string }

/** A Status from the API server, with its call (kubernetes.io/docs/reference/kubernetes-api/common-definitions/status). */
export class ApiError extends Error {
  override readonly name = 'ApiError'
  readonly call: string
  readonly status: number
  readonly reason: string
  readonly causes: readonly Cause[]
  /** The answer comes from the API server, not from a proxy. */
  readonly isStatus: boolean

  constructor(call: string, status: number, body: string, memo: Memo = (text, of) => of(text)) {
    const parsed = memo(body, parseStatus)
    super(`${call}: ${status} ${parsed.message ?? body.trim().slice(0, 200)}`)
    this.call = call
    this.status = status
    this.reason = parsed.reason ?? ''
    this.causes = parsed.details?.causes ?? []
    this.isStatus = parsed.kind === 'Status'
  }
}

type Status = { kind?: string; message?: string; reason?: string; details?: { causes?: Cause[] } }

const parseStatus = (body: string): Status => {
  try {
    const value: unknown = JSON.parse(body)
    return typeof value === 'object' && value !== null ? value : {}
  } catch {
    return {} // a proxy answers with text or HTML
  }
}

/** Compares the name, because another bundle has its own class. */
const isApiError = (error: unknown): error is ApiError => error instanceof Error && error.name === 'ApiError'

export const isNotFound = (error: unknown): boolean => isApiError(error) && error.status === 404

export const isForbidden = (error: unknown): error is ApiError => isApiError(error) && error.status === 403

/** Tells if the rest of a list has expired: the API server no longer has its revision. */
export const isExpired = (error: unknown): error is ApiError => error instanceof ApiError && error.status === 410

/** Tells if admission denied the call. A webhook may use any status, including one that usually means something else. */
export const isDenied = (error: unknown): boolean =>
  error instanceof ApiError && /denied (the )?request/.test(error.message)

/**
 * Tells if the object has changed since it was read, so that a new read helps. This is 409 for a stale resourceVersion, a failed uid precondition or an
 * existing object. It is 422 for an apply with another uid or a failed JSON patch test, and 404 for a patch or an update of a deleted object.
 */
export const isVersionConflict = (error: unknown): boolean =>
  error instanceof ApiError &&
  !isDenied(error) &&
  ((error.status === 409 && fieldConflicts(error).length === 0) ||
    (error.status === 422 && isOfAnother(error)) ||
    (error.status === 404 && /^(PATCH|UPDATE)/.test(error.call)))

const isOfAnother = ({ call, causes }: ApiError): boolean =>
  causes.length === 0 ? call.startsWith('PATCH') : causes.some(({ field }) => field === 'metadata.uid')

/** Tells if the API server refuses this one call. A 401 would refuse all calls, so it does not count. */
export const isRefusal = (error: unknown): error is ApiError =>
  error instanceof ApiError && !isVersionConflict(error) && (error.status !== 401 || isDenied(error))

/** Describes a refusal with its remedy. */
export const describeRefusal = (error: ApiError): string =>
  `${error.message}. ${suggestRemedy(error)}; it is tried again`

/** Suggests a remedy for a refusal to a person. */
export const suggestRemedy = (error: ApiError): string => {
  if (isDenied(error)) return 'An admission policy or webhook denies it: change that, or what is asked for'
  if (isNotPermitted(error)) return 'Grant it with a Role and a RoleBinding'
  if (error.status === 401) return 'The token of the service account was not accepted'
  if (error.causes.some(({ reason }) => reason === 'NamespaceTerminating')) return 'Its namespace is being deleted'
  if (error.status === 403) return forbiddenRemedy(error)
  if (error.status === 404) return 'Create what is missing, or correct its name in the config'
  if (isFailure(error)) return 'The API server, or a webhook that it calls, fails'
  if (isVersionConflict(error)) return 'Others keep writing it'
  return 'Correct it in the config'
}

/** Suggests a remedy for a 403 without RBAC: a quota, admission, or a proxy. */
const forbiddenRemedy = ({ message, isStatus }: ApiError): string => {
  if (/quota|limit/i.test(message)) return 'Raise the quota or the limit'
  return isStatus
    ? 'Change what forbids it, or what is asked for'
    : 'A proxy before the API server refuses it: let the call pass there'
}

/** Tells if RBAC refuses the call. Quotas, admission and terminating namespaces answer 403 too. */
export const isNotPermitted = (error: unknown): boolean =>
  isForbidden(error) && /cannot \w+ resource/.test(error.message)

/** Reads. Resolves to undefined if that is forbidden. */
export const ifPermitted = async <T>(reading: Promise<T>): Promise<T | undefined> => await unless(isForbidden, reading)

/** Reads. Resolves to undefined if the object does not exist, or its kind is not served. */
export const ifServed = async <T>(reading: Promise<T>): Promise<T | undefined> => await unless(isNotFound, reading)

const unless = async <T>(is: (error: unknown) => boolean, reading: Promise<T>): Promise<T | undefined> => {
  try {
    return await reading
  } catch (error) {
    if (is(error)) return undefined
    throw error
  }
}

/** Tells if the schema refuses an apply. Unknown fields or wrong types get 500 on every attempt. */
export const isOfSchema = ({ status, message }: ApiError): boolean =>
  status === 500 &&
  /typed patch object|not declared in schema|failed to (create manager|convert new object)/.test(message)

/** Tells if the API server failed, or a webhook that it called. */
export const isFailure = (error: unknown): error is ApiError =>
  error instanceof ApiError && error.status >= 500 && !isOfSchema(error) && !isDenied(error)

/** A field that another field manager holds with another value. */
export type FieldConflict = { field: string; manager: string }

/** Lists the conflicts of a server-side apply. The list is empty for any other error. */
export const fieldConflicts = (error: unknown): FieldConflict[] =>
  error instanceof ApiError && error.status === 409
    ? error.causes
        .filter(({ reason }) => reason === 'FieldManagerConflict')
        .map(({ field = '', message = '' }) => ({ field, manager: parseManager(message) }))
    : []

/** Parses the manager in `conflict with "kubectl-label" using apps/v1`. Go quotes it. */
const parseManager = (message: string): string =>
  /^conflict with "((?:[^"\\]|\\.)*)"/.exec(message)?.[1]?.replace(/\\(.)/g, '$1') ?? message
