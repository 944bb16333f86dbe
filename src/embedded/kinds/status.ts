import type { JsonMap } from '../../platform/base/json.ts'

/** The names of a kind for an error. */
type Named = { readonly group: string; readonly kind: string; readonly plural: string }

/** An invalid field, as under `details.causes` of an Invalid answer. */
export type FieldError = { readonly field: string; readonly reason: string; readonly message: string }

/** An error answer: an HTTP status code and a Status object. */
export class Refusal extends Error {
  override readonly name = 'Refusal'
  readonly code: number
  readonly status: JsonMap
  constructor(code: number, reason: string, message: string, details?: JsonMap) {
    super(message)
    this.code = code
    const extra = details === undefined ? {} : { details }
    const named = reason === '' ? {} : { reason }
    this.status = {
      kind: 'Status',
      apiVersion: 'v1',
      metadata: {},
      status: 'Failure',
      message,
      ...named,
      ...extra,
      code,
    }
  }
}

/** `configmaps`, `statefulsets.apps`. */
const resourceName = ({ plural, group }: Pick<Named, 'plural' | 'group'>): string =>
  group === '' ? plural : `${plural}.${group}`

const grouped = (group: string): JsonMap => (group === '' ? {} : { group })

const detailsOf = ({ group, plural }: Pick<Named, 'plural' | 'group'>, name: string): JsonMap => ({
  name,
  ...grouped(group),
  kind: plural,
})

export const badRequest = (message: string): Refusal => new Refusal(400, 'BadRequest', message)

export const notFound = (kind: Named, name: string): Refusal =>
  new Refusal(404, 'NotFound', `${resourceName(kind)} "${name}" not found`, detailsOf(kind, name))

export const notAllowed = (): Refusal =>
  new Refusal(405, 'MethodNotAllowed', 'the server does not allow this method on the requested resource', {})

export const alreadyExists = (kind: Named, name: string): Refusal =>
  new Refusal(409, 'AlreadyExists', `${resourceName(kind)} "${name}" already exists`, detailsOf(kind, name))

export const conflict = (kind: Named, name: string, why: string): Refusal =>
  new Refusal(
    409,
    'Conflict',
    `Operation cannot be fulfilled on ${resourceName(kind)} "${name}": ${why}`,
    detailsOf(kind, name),
  )

export const modified = (kind: Named, name: string): Refusal =>
  conflict(kind, name, 'the object has been modified; please apply your changes to the latest version and try again')

/** Every error is listed as a cause, and in the message. */
export const invalid = (kind: Pick<Named, 'group' | 'kind'>, name: string, errors: readonly FieldError[]): Refusal => {
  const messages = errors.map(({ field, message }) => `${field}: ${message}`)
  const summary = messages.length === 1 ? messages[0] : `[${messages.join(', ')}]`
  const qualified = kind.group === '' ? kind.kind : `${kind.kind}.${kind.group}`
  return new Refusal(422, 'Invalid', `${qualified} "${name}" is invalid: ${summary}`, {
    name,
    ...grouped(kind.group),
    kind: kind.kind,
    causes: [...errors],
  })
}

/** The answer of a delete. */
export const deleted = (kind: Named, name: string, uid: string): JsonMap => ({
  kind: 'Status',
  apiVersion: 'v1',
  metadata: {},
  status: 'Success',
  details: { ...detailsOf(kind, name), uid },
})
