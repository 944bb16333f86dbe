import { isScalable, type Kind } from '../kinds/kind.ts'
import { kindByPlural } from '../kinds/kinds.ts'
import { Refusal } from '../kinds/status.ts'

/** A request as it came, with lower-case header names; `path` includes the query. */
export type Request = {
  readonly method: string
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string
}

export type Answer = { readonly status: number; readonly headers: Record<string, string>; readonly body: string }

/** The resource that a path of the Kubernetes API names. */
export type Target = {
  readonly kind: Kind
  readonly namespace: string | undefined
  readonly name: string | undefined
  readonly subresource: string | undefined
}

/** The answer to a path nobody serves: text, not a Status. */
export class NoSuchPath extends Error {
  override readonly name = 'NoSuchPath'
}

const decoded = (part: string): string => {
  try {
    return decodeURIComponent(part)
  } catch {
    throw new Refusal(400, 'BadRequest', `invalid URL escape "${part}"`)
  }
}

type Address = { apiVersion: string; namespace: string | undefined; rest: string[] }

const inNamespace = ([first, , third]: readonly string[]): boolean =>
  first === 'namespaces' && third !== undefined && !['status', 'finalize'].includes(third)

const addressOf = (path: string): Address => {
  const parts = path.split('/').filter((part) => part !== '')
  const core = parts[0] === 'api'
  if (!core && parts[0] !== 'apis') throw new NoSuchPath()
  const apiVersion = core ? String(parts[1]) : `${parts[1]}/${parts[2]}`
  const rest = parts.slice(core ? 2 : 3).map(decoded)
  return inNamespace(rest)
    ? { apiVersion, namespace: rest[1], rest: rest.slice(2) }
    : { apiVersion, namespace: undefined, rest }
}

const hasSubresource = (kind: Kind, subresource: string | undefined): boolean => {
  if (subresource === 'scale') return isScalable(kind)
  return subresource === undefined || (subresource === 'status' && kind.status)
}

/** Reads `/api/v1/…` and `/apis/{group}/{version}/…`, with or without `namespaces/{namespace}`. */
export const targetOf = (path: string): Target => {
  const { apiVersion, namespace, rest } = addressOf(path)
  const [plural = '', name, subresource, more] = rest
  const kind = kindByPlural(apiVersion, plural)
  if (kind === undefined || more !== undefined) throw new NoSuchPath()
  const isMisplaced = kind.namespaced ? namespace === undefined && name !== undefined : namespace !== undefined
  if (isMisplaced || !hasSubresource(kind, subresource)) throw new NoSuchPath()
  return { kind, namespace, name, subresource }
}
