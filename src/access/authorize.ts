import { createHash } from 'node:crypto'
import { createCache } from '../base/cache.ts'
import type { Clock } from '../base/clock.ts'
import { Refused } from '../base/errors.ts'
import type { Author } from '../cloudevents/knative/document.ts'
import type { Effect, Use } from '../feature/feature.ts'
import type { Kubernetes } from '../kubernetes/client.ts'
import { type Kind, nameOf as printName, type Reference, resourceOf } from '../kubernetes/objects.ts'

/** The application, or all of a namespace, that is asked about. */
export type About = {
  readonly namespace: string
  readonly application?: string | undefined
  /** Effects beyond the application: each is a subresource, and a permission of its own. */
  readonly effect?: Effect | undefined
  /** Asked in place of the application. */
  readonly use?: Use | undefined
}

/** `extra` may narrow the user's permissions. */
type User = {
  readonly username: string
  readonly uid?: string
  readonly groups?: readonly string[]
  readonly extra?: Readonly<Record<string, readonly string[]>>
}

/** Identifies a sender by `authorization`, a header. Rejects with Refused, 401, when that is not possible. */
export type Authenticate = (kubernetes: Kubernetes, authorization: string | undefined) => Promise<Sender>

/** A principal that sends events. */
export type Sender = {
  /** As an author of documents. */
  readonly author: Author
  /** Rejects with Refused, 403, unless the sender may send events about the application or its namespace, ask for the effect, or grant the use. */
  authorize(about: About): Promise<void>
  /** The sender may get the object, or all of its kind. */
  mayGet(reference: Reference): Promise<boolean>
}

/**
 * Lets the API server decide. A TokenReview names the sender, and requires `audience` of the token; a SubjectAccessReview tells whether
 * RBAC lets that user `update` the `applications.meshstep.dev` of that name, or a subresource of it. No such resource exists; a Role may
 * name it all the same.
 *
 * Results are cached for ten seconds: a burst of events costs two calls, and a deleted account or binding counts within that time. A
 * refusal is not cached: a grant counts at once.
 */
export const createAuthenticate = ({ audience, clock }: { audience: string; clock: Clock }): Authenticate => {
  const users = createCache<User>(clock)
  const decisions = createCache<boolean>(clock)

  return async (kubernetes, authorization) => {
    const token = parseToken(authorization)
    const key = createHash('sha256').update(token).digest('base64')
    const user = await users(key, () => reviewToken(kubernetes, token, audience))
    const may = (about: About, isKept = isAllowed) =>
      decisions(`${key} ${nameOf(about)}`, () => reviewAccess(kubernetes, user, updateAttributes(about)), isKept)
    const mayUse = (use: Use) =>
      decisions(`${key} use ${printName(use)}`, () => reviewAccess(kubernetes, user, useAttributes(use)), isAllowed)
    const mayUpdate = ({ namespace = '', name = '' }: Use) =>
      decisions(
        `account ${namespace}/${name}`,
        () => reviewAccess(kubernetes, accountUser(namespace, name), updateAttributes({ namespace })),
        isAllowed,
      )
    const authorizeUse = async (use: Use): Promise<void> => {
      const [mayBeUsed, isSender] = await Promise.all([
        use.isOwn === true || mayUse(use),
        use.kind === 'ServiceAccount' && mayUpdate(use),
      ])
      const { verb, resource } = useAttributes(use)
      if (isSender)
        throw new Refused(
          403,
          `${printName(use)} may update applications.meshstep.dev: no workload may run as it, whoever asks`,
        )
      if (!mayBeUsed)
        throw new Refused(
          403,
          `${user.username} may not ${verb} ${resource} ${use.namespace}/${use.name}, which the config uses: grant it with a Role and a RoleBinding`,
        )
    }
    return {
      author: { username: user.username, groups: user.groups ?? [] },
      mayGet: ({ kind, namespace, name }) => {
        const attributes = { ...resourceOf(kind), verb: 'get', namespace, name }
        const about = printName({ kind, namespace, name })
        return decisions(`${key} get ${about}`, () => reviewAccess(kubernetes, user, attributes))
      },
      authorize: async (about) => {
        const { namespace, application, effect, use } = about
        if (use) return await authorizeUse(use)
        // a sender for the whole namespace, as a Trigger, is asked about once and not for each application
        const asked = application === undefined ? [may(about)] : [may(about), may({ namespace, effect }, () => true)]
        if (!(await Promise.all(asked)).some(isAllowed)) throw refusal(user, about)
      },
    }
  }
}

/** Rejects with Refused, 403, unless the author of a document may ask for what it says. */
export type AuthorizeAuthor = (author: Author, about: About) => Promise<void>

/** A step waits no longer for a decision: its event comes again. */
const TIMEOUT_MILLISECONDS = 5_000

/** Lets the API server decide about authors as about senders, by their names and groups; caches what it grants for ten seconds. */
export const createAuthorizeAuthor = ({
  connect,
  clock,
}: {
  connect(deadline: number): Kubernetes
  clock: Clock
}): AuthorizeAuthor => {
  const decisions = createCache<boolean>(clock)
  return async (author, about) => {
    const ask = () => reviewAccess(connect(clock.now() + TIMEOUT_MILLISECONDS), author, updateAttributes(about))
    const key = JSON.stringify([author.username, author.groups, nameOf(about)])
    if (!(await decisions(key, ask, isAllowed))) throw refusal(author, about)
  }
}

/** Tells if a sender may look at an application. Everybody may where senders are not authenticated. */
export const maySee = async (
  sender: Sender | undefined,
  about: { readonly namespace: string; readonly application?: string | undefined },
): Promise<boolean> => {
  try {
    await sender?.authorize(about)
    return true
  } catch (error) {
    if (error instanceof Refused) return false
    throw error
  }
}

const refusal = ({ username }: User, about: About): Refused =>
  new Refused(403, `${username} may not update ${nameOf(about)}: grant it with a Role and a RoleBinding`)

const isAllowed = (allowed: boolean): boolean => allowed

const nameOf = ({ namespace, application = '*', effect }: About): string =>
  `applications.meshstep.dev${effect === undefined ? '' : `/${effect}`} ${namespace}/${application}`

const parseToken = (authorization: string | undefined): string => {
  const token = /^Bearer +(\S+)$/i.exec(authorization ?? '')?.[1]
  if (token === undefined) throw new Refused(401, 'Authorization: expected a bearer token')
  return token
}

type TokenStatus = { authenticated?: boolean; user?: User; audiences?: readonly string[]; error?: string }

const reviewToken = async (kubernetes: Kubernetes, token: string, audience: string): Promise<User> => {
  const answer = await kubernetes.create({
    apiVersion: 'authentication.k8s.io/v1',
    kind: 'TokenReview',
    metadata: { name: '' },
    spec: { token, audiences: [audience] },
  })
  const { authenticated, user, audiences = [], error } = (answer.status ?? {}) as TokenStatus
  // an authenticator without audiences returns none: its token is good for the API server alone
  if (authenticated === true && user && audiences.includes(audience)) return user
  throw new Refused(
    401,
    `Authorization: the token is not valid for the audience ${audience}${error ? `: ${error}` : ''}`,
  )
}

/** The attributes of a SubjectAccessReview. */
type Attributes = Readonly<Record<string, string | undefined>>

const updateAttributes = ({ namespace, application, effect }: About): Attributes => ({
  group: 'meshstep.dev',
  resource: 'applications',
  subresource: effect,
  verb: 'update',
  namespace,
  name: application,
})

/** The verbs that grant the use of objects of others: to run as it, to read it in a pod, or to label it. */
const VERBS: Partial<Record<Kind, string>> = { ServiceAccount: 'impersonate', Secret: 'get' }

const useAttributes = ({ kind, namespace, name }: Use): Attributes => ({
  ...resourceOf(kind),
  verb: VERBS[kind] ?? 'patch',
  namespace,
  name,
})

/** The user that a pod is that runs as the account (kubernetes.io/docs/reference/access-authn-authz/service-accounts-admin). */
const accountUser = (namespace: string, name: string): User => ({
  username: `system:serviceaccount:${namespace}:${name}`,
  groups: ['system:serviceaccounts', `system:serviceaccounts:${namespace}`, 'system:authenticated'],
})

const reviewAccess = async (
  kubernetes: Kubernetes,
  { username, uid, groups, extra }: User,
  resourceAttributes: Attributes,
): Promise<boolean> => {
  const { status } = await kubernetes.create({
    apiVersion: 'authorization.k8s.io/v1',
    kind: 'SubjectAccessReview',
    metadata: { name: '' },
    spec: { user: username, uid, groups, extra, resourceAttributes },
  })
  return (status as { allowed?: boolean } | undefined)?.allowed === true
}
