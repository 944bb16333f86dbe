import { hash } from 'node:crypto'
import { createBudget, within } from '../../platform/base/budget.ts'
import type { Clock } from '../../platform/base/clock.ts'
import { Refused, Unavailable } from '../../platform/base/errors.ts'
import { createExpiringCache } from '../../platform/base/expiring-cache.ts'
import type { Kubernetes } from '../../platform/kubernetes/client.ts'
import { type Kind, nameOf as printName, type Reference, resourceOf } from '../../platform/kubernetes/objects.ts'
import type { Typed } from '../../platform/kubernetes/typed.ts'
import type { Effect, Use } from '../feature/feature.ts'

/** The application, or whole namespace, that a permission is for. */
export type About = {
  readonly namespace: string
  readonly application?: string | undefined
  /** An effect outside the application. Each is a subresource, with a permission of its own. */
  readonly effect?: Effect | undefined
  /** The use of an object. It is checked instead of the application. */
  readonly use?: Use | undefined
}

/** A user as known to RBAC. `extra` may narrow the user's permissions. */
export type User = {
  readonly username: string
  readonly uid?: string
  readonly groups?: readonly string[]
  readonly extra?: Readonly<Record<string, readonly string[]>>
}

/**
 * Checks the permissions of users. Each call rejects with Unavailable: 503 if the API server cannot decide, 429 if too many checks are in
 * progress, in total or for the user.
 */
export type AccessReviews = {
  /**
   * Rejects with Refused, 403, unless the user may send events for the application or its namespace, request the effect, or grant the use.
   */
  authorize(kubernetes: Kubernetes, user: User, about: About): Promise<void>
  /** Tells if the user may get the object, or all of its kind. */
  mayGet(kubernetes: Kubernetes, user: User, reference: Reference): Promise<boolean>
}

/** The limit of checks in progress. */
const MOST_UNDER_WAY = 64

const BUSY = 'too many questions to RBAC are under way here: ask again in a moment'

/**
 * Creates reviews by the API server: a SubjectAccessReview tells if RBAC lets a user `update` the `applications.meshstep.dev` of that name,
 * or a subresource of it. No such resource exists, but a Role may name it. Grants are cached for ten seconds. Refusals are not, so that a
 * new grant takes effect at once. Only the refusal of a whole namespace is cached, because the application is checked next.
 */
export const createAccessReviews = (clock: Clock): AccessReviews => {
  const verdicts = createExpiringCache<Verdict>(clock)
  const budget = createBudget(MOST_UNDER_WAY, BUSY)
  const asking =
    (kubernetes: Kubernetes, asker: User) =>
    (attributes: Attributes, { user = asker, isKept = isAllowed } = {}): Promise<Verdict> =>
      verdicts(
        hash('sha256', JSON.stringify([user, attributes])),
        () => within(budget, asker.username, () => reviewAccess(kubernetes, user, attributes)),
        isKept,
      )
  const authorizeUse = async (kubernetes: Kubernetes, user: User, use: Use): Promise<void> => {
    const ask = asking(kubernetes, user)
    const { namespace = '', name = '' } = use
    const account = { user: accountUser(namespace, name) }
    const everything = updateAttributes({ namespace })
    if (use.kind === 'ServiceAccount' && granted(account.user, everything, await ask(everything, account)))
      throw new Refused(403, `${printName(use)} may update applications.meshstep.dev: no workload may run as it`)
    const attributes = useAttributes(use)
    if (use.isOwn === true || granted(user, attributes, await ask(attributes))) return
    throw new Refused(
      403,
      `${user.username} may not ${nameOf(attributes)}, which the config uses: grant it with a Role and a RoleBinding`,
    )
  }
  return {
    authorize: async (kubernetes, user, about) => {
      const { namespace, application, effect, use } = about
      if (use) return await authorizeUse(kubernetes, user, use)
      const ask = asking(kubernetes, user)
      // a sender with permission for the whole namespace, such as a Trigger, is checked once and not for each application
      const forAll =
        application === undefined ? NO : await ask(updateAttributes({ namespace, effect }), { isKept: isDecided })
      const attributes = updateAttributes(about)
      if (forAll.allowed || granted(user, attributes, await ask(attributes), forAll)) return
      throw new Refused(403, `${user.username} may not ${nameOf(attributes)}: grant it with a Role and a RoleBinding`)
    },
    mayGet: async (kubernetes, user, { kind, namespace, name }) => {
      const attributes = { ...resourceOf(kind), verb: 'get', namespace, name }
      return granted(user, attributes, await asking(kubernetes, user)(attributes))
    },
  }
}

/** The answer to a check, or the reason why an authorizer of the API server failed. */
type Verdict = { readonly allowed: boolean; readonly failure?: string | undefined }

const NO: Verdict = { allowed: false }

const isAllowed = ({ allowed }: Verdict): boolean => allowed

const isDecided = ({ allowed, failure }: Verdict): boolean => allowed || failure === undefined

/** Tells if any of the verdicts grants the permission. Throws Unavailable if none does and one is undecided. */
const granted = (user: User, attributes: Attributes, ...verdicts: Verdict[]): boolean => {
  if (verdicts.some(isAllowed)) return true
  const undecided = verdicts.find((verdict) => !isDecided(verdict))
  if (undecided === undefined) return false
  throw new Unavailable(
    `the API server cannot decide whether ${user.username} may ${nameOf(attributes)} (${undecided.failure}): it is asked again with the next try`,
  )
}

const nameOf = ({ verb, group, resource, subresource, namespace, name = '*' }: Attributes): string => {
  const kind = [resource, group].filter(Boolean).join('.')
  return `${verb} ${[kind, subresource].filter(Boolean).join('/')} ${[namespace, name].filter(Boolean).join('/')}`
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

/** The verbs that grant the use of another owner's object: to run as it, to read it in a pod, or else to label it. */
const VERBS: Partial<Record<Kind, string>> = { ServiceAccount: 'impersonate', Secret: 'get' }

const useAttributes = ({ kind, namespace, name }: Use): Attributes => ({
  ...resourceOf(kind),
  verb: VERBS[kind] ?? 'patch',
  namespace,
  name,
})

/** Returns the user of pods that run as the account (kubernetes.io/docs/reference/access-authn-authz/service-accounts-admin). */
const accountUser = (namespace: string, name: string): User => ({
  username: `system:serviceaccount:${namespace}:${name}`,
  groups: ['system:serviceaccounts', `system:serviceaccounts:${namespace}`, 'system:authenticated'],
})

const reviewAccess = async (
  kubernetes: Kubernetes,
  { username, uid, groups, extra }: User,
  resourceAttributes: Attributes,
): Promise<Verdict> => {
  const { status }: Typed<'SubjectAccessReview'> = await kubernetes.create({
    apiVersion: 'authorization.k8s.io/v1',
    kind: 'SubjectAccessReview',
    metadata: { name: '' },
    spec: { user: username, uid, groups, extra, resourceAttributes },
  })
  return { allowed: status?.allowed === true, failure: status?.evaluationError }
}
