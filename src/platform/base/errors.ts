/** The event is invalid or not allowed, and a retry would not help. It is answered with `status`. */
export class Refused extends Error {
  override readonly name = 'Refused'
  readonly status: RefusedStatus

  constructor(status: RefusedStatus, message: string, options?: ErrorOptions) {
    super(message, options)
    this.status = status
  }
}

/** The namespace is being deleted with all its objects, so there is nothing to do. */
export class NamespaceTerminating extends Error {
  override readonly name = 'NamespaceLeaving'
}

export type RefusedStatus = 400 | 401 | 403 | 404 | 413 | 415

/** A dependency is away, slow or busy. The answer is 503, or 429 if this process is busy. A retry may succeed. */
export class Unavailable extends Error {
  override readonly name = 'Unavailable'
  readonly status: 429 | 503
  readonly retryAfterSeconds: number

  constructor(message: string, options?: ErrorOptions & { status?: 429 | 503; retryAfterSeconds?: number }) {
    super(message, options)
    this.status = options?.status ?? 503
    this.retryAfterSeconds = options?.retryAfterSeconds ?? 2
  }
}

/** Compares the name, because another bundle has its own class. */
export const isConfigurationError = (error: unknown): error is ConfigurationError =>
  error instanceof Error && error.name === 'ConfigurationError'

/** As `isConfigurationError`. */
export const isRefused = (error: unknown): error is Refused => error instanceof Error && error.name === 'Refused'

/** As `isConfigurationError`. */
export const isUnavailable = (error: unknown): error is Unavailable =>
  error instanceof Error && error.name === 'Unavailable'

/** A person must repair a setting, a credential or stored data. `message` names it. The answer is 500. */
export class ConfigurationError extends Error {
  override readonly name = 'ConfigurationError'
}
