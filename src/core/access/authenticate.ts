import { createHash } from 'node:crypto'
import { createBoundedMap } from '../../platform/base/bounded-map.ts'
import { createBudget, within } from '../../platform/base/budget.ts'
import type { Clock } from '../../platform/base/clock.ts'
import { Refused } from '../../platform/base/errors.ts'
import { createExpiringCache } from '../../platform/base/expiring-cache.ts'
import type { Author } from '../../platform/cloudevents/knative/document.ts'
import type { Kubernetes } from '../../platform/kubernetes/client.ts'
import type { Reference } from '../../platform/kubernetes/objects.ts'
import { type About, type AccessReviews, createAccessReviews, type User } from './access-reviews.ts'

/** Identifies a sender by the header `authorization`. Rejects with Refused, 401, if that is not possible. */
export type Authenticate = (kubernetes: Kubernetes, authorization: string | undefined) => Promise<Sender>

/** A principal that sends events. */
export type Sender = {
  /** The sender as an author of documents. */
  readonly author: Author
  /** Rejects with Refused, 403, unless the sender may send events for the application or its namespace, request the effect, or grant the use. */
  authorize(about: About): Promise<void>
  /** Tells if the sender may get the object, or all of its kind. */
  mayGet(reference: Reference): Promise<boolean>
}

/** The limit of tokens being verified. Tokens that have not been valid before count as one owner, which leaves a quarter to all others. */
const MOST_UNDER_WAY = 16

const MOST_KNOWN = 1_000

const BUSY = 'too many tokens are being verified here: ask again in a moment'

/**
 * Creates authentication by the API server. A TokenReview names the sender, and requires `audience` of the token. Results are cached for
 * ten seconds: a burst of events costs one call, and a deleted account is refused within that time. Rejects with Unavailable, 429, while
 * too many tokens are being verified. Tokens that were valid before are not blocked by a flood of others.
 */
export const createAuthenticate = ({
  audience,
  clock,
  reviews = createAccessReviews(clock),
}: {
  audience: string
  clock: Clock
  reviews?: AccessReviews
}): Authenticate => {
  const users = createExpiringCache<User>(clock)
  const known = createBoundedMap<string>(MOST_KNOWN)
  const budget = createBudget(MOST_UNDER_WAY, BUSY)

  return async (kubernetes, authorization) => {
    const token = parseToken(authorization)
    const key = createHash('sha256').update(token).digest('base64')
    const review = async (): Promise<User> => {
      const owner = known.get(key) ?? UNKNOWN
      const user = await within(budget, owner, () => reviewToken(kubernetes, token, audience))
      known.set(key, user.username, 1)
      return user
    }
    const user = await users(key, review)
    return {
      author: { username: user.username, groups: user.groups ?? [] },
      authorize: (about) => reviews.authorize(kubernetes, user, about),
      mayGet: (reference) => reviews.mayGet(kubernetes, user, reference),
    }
  }
}

/** The owner of unverified tokens. No user has such a name. */
const UNKNOWN = ' unknown'

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
  const { authenticated, user, audiences = [], error }: TokenStatus = answer.status ?? {}
  // an authenticator without audiences returns none; its token is only valid for the API server itself
  if (authenticated === true && user && audiences.includes(audience)) return user
  throw new Refused(
    401,
    `Authorization: the token is not valid for the audience ${audience}${error ? `: ${error}` : ''}`,
  )
}
