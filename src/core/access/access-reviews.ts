import { hash } from 'node:crypto'
import { createBudget, within } from '../../platform/base/budget.ts'
import type { Clock } from '../../platform/base/clock.ts'
import { Refused, Unavailable } from '../../platform/base/errors.ts'
import { createExpiringCache } from '../../platform/base/expiring-cache.ts'
import type { Kubernetes } from '../../platform/kubernetes/client.ts'
import { type Kind, nameOf as printName, type Reference, resourceOf } from '../../platform/kubernetes/objects.ts'
import type { Effect, Use } from '../feature/feature.ts'

/** The application, or all of a namespace, that is asked about. */
export type About = {
  readonly namespace: string
  readonly application?: string | undefined
  /** Effects beyond the application: each is a subresource, and a permission of its own. */
  readonly effect?: Effect | undefined
  /** Asked in place of the application. */
  readonly use?: Use | undefined
}

/** A user as RBAC knows it. `extra` may narrow the user's permissions. */
export type User = {
  readonly username: string
  readonly uid?: string
  readonly groups?: readonly string[]
  readonly extra?: Readonly<Record<string, readonly string[]>>
}

/**
 * Asks RBAC on behalf of users. Each rejects with Unavailable: 503 where the API server cannot decide, 429 while too many questions are under way,
 * of all or of the user.
 */
export type AccessReviews = {
  /** Rejects with Refused, 403, unless the user may speak for the application or its namespace, ask for the effect, or grant the use. */
  authorize(kubernetes: Kubernetes, user: User, about: About): Promise<void>
  /** The user may get the object, or all of its kind. */
  mayGet(kubernetes: Kubernetes, user: User, reference: Reference): Promise<boolean>
}

/** The limit of questions that are under way. */
const MOST_UNDER_WAY = 64

const BUSY = 'too many questions to RBAC are under way here: ask again in a moment'

/**
 * Lets the API server decide: a SubjectAccessReview tells whether RBAC lets a user `update` the `applications.meshstep.dev` of that name, or a
 * subresource of it. No such resource exists; a Role may name it all the same. Grants are cached for ten seconds. Refusals are not, so that a
 * grant counts at once; but that of all of a namespace is, where the application is asked about next.
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
      throw new Refused(
        403,
        `${printName(use)} may update applications.meshstep.dev: no workload may run as it, whoever asks`,
      )
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
      // who may speak for the whole namespace, as a Trigger, is asked about once and not for each application
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

/** The answer to a question, or why an authorizer of the API server failed to give one. */
type Verdict = { readonly allowed: boolean; readonly failure?: string | undefined }

const NO: Verdict = { allowed: false }

const isAllowed = ({ allowed }: Verdict): boolean => allowed

const isDecided = ({ allowed, failure }: Verdict): boolean => allowed || failure === undefined

/** Tells if any of the verdicts grants it. Throws Unavailable where none does and one is not decided. */
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
): Promise<Verdict> => {
  const { status } = await kubernetes.create({
    apiVersion: 'authorization.k8s.io/v1',
    kind: 'SubjectAccessReview',
    metadata: { name: '' },
    spec: { user: username, uid, groups, extra, resourceAttributes },
  })
  const { allowed, evaluationError } = (status ?? {}) as { allowed?: boolean; evaluationError?: string }
  return { allowed: allowed === true, failure: evaluationError }
}
