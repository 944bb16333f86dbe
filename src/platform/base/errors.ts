/** The event is invalid or not allowed, and stays so: answered with `status`, never retried. */
export class Refused extends Error {
  override readonly name = 'Refused'
  readonly status: RefusedStatus

  constructor(status: RefusedStatus, message: string, options?: ErrorOptions) {
    super(message, options)
    this.status = status
  }
}

/** The namespace is being deleted with all that is in it: there is nothing to do. */
export class NamespaceTerminating extends Error {
  override readonly name = 'NamespaceLeaving'
}

export type RefusedStatus = 400 | 401 | 403 | 404 | 413 | 415

/** A dependency is away, slow or busy: answered with 503, or 429 if this process is; a retry may pass. */
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

/** Tells by name, since code that is bundled apart has a class of its own. */
export const isConfigurationError = (error: unknown): error is ConfigurationError =>
  error instanceof Error && error.name === 'ConfigurationError'

/** A setting, a credential or stored data needs repair by a person; `message` says which. Answered with 500. */
export class ConfigurationError extends Error {
  override readonly name = 'ConfigurationError'
}
