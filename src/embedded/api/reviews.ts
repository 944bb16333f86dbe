import { type Json, type JsonMap, listOf, mapOf } from '../../platform/base/json.ts'
import { apiVersionOf, builtin, type Kind } from '../kinds/kind.ts'
import { badRequest } from '../kinds/status.ts'

/**
 * The attributes of a SubjectAccessReview. See
 * https://kubernetes.io/docs/reference/kubernetes-api/authorization-resources/subject-access-review-v1/
 */
export type ResourceAttributes = {
  readonly namespace?: string
  readonly verb?: string
  readonly group?: string
  readonly version?: string
  readonly resource?: string
  readonly subresource?: string
  readonly name?: string
}

export type Reviewers = {
  /** The username of each token. */
  readonly tokens: Readonly<Record<string, string>>
  /** The audiences of the tokens. */
  readonly audiences: readonly string[]
  readonly allows: (username: string, attributes: ResourceAttributes) => boolean
}

const groupsOf = (username: string): Json[] => {
  const [system, kind, namespace] = username.split(':')
  const account = system === 'system' && kind === 'serviceaccount'
  return [...(account ? ['system:serviceaccounts', `system:serviceaccounts:${namespace}`] : []), 'system:authenticated']
}

const tokenStatus = (spec: JsonMap, { tokens, audiences }: Reviewers): JsonMap => {
  const token = String(spec.token ?? '')
  const username = Object.hasOwn(tokens, token) ? tokens[token] : undefined
  const asked = listOf(spec.audiences)
  const shared = asked.length === 0 ? [...audiences] : audiences.filter((audience) => asked.includes(audience))
  if (username === undefined || shared.length === 0) return { user: {}, error: 'invalid bearer token' }
  return { authenticated: true, user: { username, groups: groupsOf(username) }, audiences: shared }
}

const tokenReview = (body: JsonMap, reviewers: Reviewers): JsonMap => {
  const spec = mapOf(body.spec)
  if (!spec.token) throw badRequest('token is required for TokenReview in authentication')
  return { ...body, metadata: mapOf(body.metadata), status: tokenStatus(spec, reviewers) }
}

const accessReview = (body: JsonMap, { allows }: Reviewers): JsonMap => {
  const spec = mapOf(body.spec)
  const attributes = spec.resourceAttributes
  const allowed = attributes !== undefined && allows(String(spec.user ?? ''), mapOf(attributes) as ResourceAttributes)
  return { ...body, metadata: mapOf(body.metadata), status: { allowed } }
}

type Review = { readonly kind: Kind; readonly answer: (body: JsonMap, reviewers: Reviewers) => JsonMap }

const review = (group: string, kind: string, answer: Review['answer']): Review => ({
  kind: builtin(group, 'v1', { kind, plural: `${kind.toLowerCase()}s`, namespaced: false }),
  answer,
})

/** Kinds that are evaluated, not stored. */
export const reviews: readonly Review[] = [
  review('authentication.k8s.io', 'TokenReview', tokenReview),
  review('authorization.k8s.io', 'SubjectAccessReview', accessReview),
]

export const reviewOf = (path: string): Review | undefined =>
  reviews.find(({ kind }) => path === `/apis/${apiVersionOf(kind)}/${kind.plural}`)
