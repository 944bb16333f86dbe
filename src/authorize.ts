import { Refused } from './errors.ts'
import type { Kubernetes } from './kubernetes/client.ts'

type About = { namespace: string; application?: string | undefined }

type User = { username: string; uid?: string; groups?: string[] }

/** Says who sends. Throws Refused, 401, when that cannot be told from `authorization`, a header. */
export type Authenticate = (kubernetes: Kubernetes, authorization: string | undefined) => Promise<Sender>

/** Somebody who sends events. */
export type Sender = {
  /** Throws Refused, 403, unless they may send events about the application, or about the whole namespace. */
  authorize(about: About): Promise<void>
}

/**
 * Lets the API server decide: a TokenReview says who sends, for which `audience` the token must be, and a SubjectAccessReview whether
 * RBAC lets that user `update` the `applications.meshstep.dev` of that name. There is no such resource; a Role may name it all the same.
 */
export const createAuthenticate =
  ({ audience }: { audience: string }): Authenticate =>
  async (kubernetes, authorization) => {
    const user = await reviewToken(kubernetes, authorization, audience)
    return {
      authorize: async (about) => {
        if (await isAllowed(kubernetes, user, about)) return
        const { namespace, application = '*' } = about
        const what = `update applications.meshstep.dev ${namespace}/${application}`
        throw new Refused(403, `${user.username} may not ${what}: grant it with a Role and a RoleBinding`)
      },
    }
  }

const reviewToken = async (
  kubernetes: Kubernetes,
  authorization: string | undefined,
  audience: string,
): Promise<User> => {
  const token = /^Bearer +(\S+)$/i.exec(authorization ?? '')?.[1]
  if (token === undefined) throw new Refused(401, 'Authorization: expected a bearer token')
  const { status } = await kubernetes.create({
    apiVersion: 'authentication.k8s.io/v1',
    kind: 'TokenReview',
    metadata: { name: '' },
    spec: { token, audiences: [audience] },
  })
  const { authenticated, user, error } = (status ?? {}) as { authenticated?: boolean; user?: User; error?: string }
  if (authenticated === true && user) return user
  throw new Refused(
    401,
    `Authorization: the token is not valid for the audience ${audience}${error ? `: ${error}` : ''}`,
  )
}

const isAllowed = async (kubernetes: Kubernetes, user: User, { namespace, application }: About): Promise<boolean> => {
  const resource = { group: 'meshstep.dev', resource: 'applications', verb: 'update', namespace }
  const { status } = await kubernetes.create({
    apiVersion: 'authorization.k8s.io/v1',
    kind: 'SubjectAccessReview',
    metadata: { name: '' },
    spec: {
      user: user.username,
      uid: user.uid,
      groups: user.groups,
      resourceAttributes: { ...resource, ...(application !== undefined && { name: application }) },
    },
  })
  return (status as { allowed?: boolean } | undefined)?.allowed === true
}
