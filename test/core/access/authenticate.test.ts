import { describe, expect, test } from 'vitest'
import { createAuthenticate } from '../../../src/core/access/authenticate.ts'
import { createEmbeddedApi } from '../../../src/embedded/api/api.ts'
import {
  createKubernetes,
  type TransportAnswer,
  type TransportRequest,
} from '../../../src/platform/kubernetes/client.ts'
import { fakeClock } from '../../helpers/clock.ts'

const SENDER = 'system:serviceaccount:shop:relation-changed-oidc-eventing.knative.dev-trigger'

type Review = { kind: string; spec: Record<string, unknown> }

/** An API server with one sender; `allowed` are the names, `*` for the namespace, that it may update. */
const createWorld = ({
  allowed = ['web'],
  answer = (_, given) => given,
}: {
  allowed?: readonly string[]
  answer?: (review: Review, given: TransportAnswer) => TransportAnswer
} = {}) => {
  const rights = { tokens: { good: SENDER } as Record<string, string>, allowed: [...allowed] }
  const api = createEmbeddedApi({
    tokens: rights.tokens,
    audiences: ['meshstep'],
    allows: (username, { verb, group, resource, namespace, name = '*' }) =>
      [username, verb, group, resource, namespace].join() === `${SENDER},update,meshstep.dev,applications,shop` &&
      rights.allowed.includes(name),
  })
  const reviews: Review[] = []
  const clock = fakeClock()
  const transport = async (request: TransportRequest) => {
    const review = JSON.parse(request.body ?? '') as Review
    reviews.push(review)
    return answer(review, api.handle(request))
  }
  const authenticate = createAuthenticate({ audience: 'meshstep', clock })
  const connect = () => createKubernetes({ transport, clock, deadline: clock.now() + 1_000 })
  const authorize = async (authorization: string | undefined, application?: string): Promise<void> => {
    await (await authenticate(connect(), authorization)).authorize({ namespace: 'shop', application })
  }
  return { rights, reviews, clock, authenticate, connect, authorize }
}

describe('an event is refused', () => {
  test.each([
    ['without a token', undefined, 'web', 401, /expected a bearer token/],
    ['with other credentials', 'Basic eDp5', 'web', 401, /expected a bearer token/],
    ['with a token that is not known', 'Bearer bad', 'web', 401, /not valid for the audience meshstep/],
    [
      'for an application its sender may not update',
      'Bearer good',
      'other',
      403,
      /may not update applications\.meshstep\.dev shop\/other: grant it/,
    ],
    ['for a whole namespace, by a sender of one application', 'Bearer good', undefined, 403, /shop\/\*/],
  ])('%s', async (_, authorization, application, status, message) => {
    await expect(createWorld().authorize(authorization, application)).rejects.toMatchObject({
      status,
      message: expect.stringMatching(message),
    })
  })

  test.each([
    ['none', undefined],
    ['another one', ['https://kubernetes.default.svc']],
  ])(
    'an event is refused when the API server says that the token is for an audience, and that is %s',
    async (_, audiences) => {
      const { authorize } = createWorld({
        answer: ({ kind }, given) => {
          const review = JSON.parse(given.body)
          if (kind === 'TokenReview') review.status.audiences = audiences
          return { ...given, body: JSON.stringify(review) }
        },
      })
      await expect(authorize('Bearer good', 'web')).rejects.toMatchObject({ status: 401 })
    },
  )
})

describe('where an authorizer of the API server failed', () => {
  const createUndecided = (allowed: readonly string[], isFailing: (name: unknown) => boolean) => {
    const failure = { ends: false }
    const world = createWorld({
      allowed,
      answer: ({ kind, spec }, given) => {
        const { name } = (spec.resourceAttributes ?? {}) as { name?: string }
        if (failure.ends || kind !== 'SubjectAccessReview' || !isFailing(name)) return given
        const status = { allowed: false, denied: true, evaluationError: 'webhook: timeout' }
        return { ...given, body: JSON.stringify({ ...JSON.parse(given.body), status }) }
      },
    })
    return { ...world, failure }
  }
  const undecided = {
    status: 503,
    message:
      'the API server cannot decide whether system:serviceaccount:shop:relation-changed-oidc-eventing.knative.dev-trigger may update applications.meshstep.dev shop/web (webhook: timeout): it is asked again with the next try',
  }

  test('an event is not refused for good: it is worth sending again, and is decided then', async () => {
    const { authorize, failure } = createUndecided(['web'], () => true)
    await expect(authorize('Bearer good', 'web')).rejects.toMatchObject(undecided)
    failure.ends = true
    await expect(authorize('Bearer good', 'web')).resolves.toBeUndefined()
  })

  test('what is decided counts: a grant of the application, where that of the namespace is not decided', async () => {
    const { authorize } = createUndecided(['web'], (name) => name === undefined)
    await expect(authorize('Bearer good', 'web')).resolves.toBeUndefined()
    await expect(authorize('Bearer good', 'other')).rejects.toMatchObject({ status: 503 })
  })

  test('the use of an object of others, and a look at one, are not refused for good either', async () => {
    const { authenticate, connect } = createUndecided(['web'], () => true)
    const sender = await authenticate(connect(), 'Bearer good')
    const reference = { kind: 'Secret', namespace: 'shop', name: 'key' } as const
    const about = { namespace: 'shop', application: 'web', use: reference }
    await expect(sender.authorize(about)).rejects.toMatchObject({ status: 503 })
    await expect(sender.mayGet(reference)).rejects.toMatchObject({ status: 503 })
  })

  test('no workload is taken that would run as an account of which it is not known whether it may update all', async () => {
    const { authenticate, connect } = createUndecided(['web'], () => true)
    const sender = await authenticate(connect(), 'Bearer good')
    const use = { kind: 'ServiceAccount', namespace: 'shop', name: 'web', isOwn: true } as const
    await expect(sender.authorize({ namespace: 'shop', application: 'web', use })).rejects.toMatchObject({
      status: 503,
      message: expect.stringContaining('system:serviceaccount:shop:web may update applications.meshstep.dev shop/*'),
    })
  })
})

test('an event is taken from a sender whom RBAC lets update the application', async () => {
  await expect(createWorld().authorize('bearer good', 'web')).resolves.toBeUndefined()
})

test('the review of access has all that the review of the token says of the user', async () => {
  const user = {
    username: SENDER,
    uid: '7',
    groups: ['system:authenticated'],
    extra: { 'authentication.kubernetes.io/pod-name': ['web-0'] },
  }
  const { authorize, reviews } = createWorld({
    answer: ({ kind }, given) => {
      if (kind !== 'TokenReview') return given
      const status = { authenticated: true, user, audiences: ['meshstep'] }
      return { ...given, body: JSON.stringify({ ...JSON.parse(given.body), status }) }
    },
  })
  await authorize('Bearer good', 'web')
  const { username, ...others } = user
  for (const { spec } of reviews.filter(({ kind }) => kind === 'SubjectAccessReview'))
    expect(spec).toMatchObject({ user: username, ...others })
})

describe('decisions are kept for ten seconds', () => {
  test('a burst from a sender for the whole namespace costs one review of the token and one of the namespace', async () => {
    const { authorize, reviews } = createWorld({ allowed: ['*', 'a'] })
    await authorize('Bearer good', 'a')
    reviews.length = 0
    await Promise.all(Array.from({ length: 50 }, () => authorize('Bearer good', 'a')))
    expect(reviews).toEqual([])
  })

  test('events that come together ask once', async () => {
    const { authorize, reviews } = createWorld()
    await Promise.all(Array.from({ length: 50 }, () => authorize('Bearer good', 'web')))
    expect(reviews.map(({ kind }) => kind).toSorted()).toEqual([
      'SubjectAccessReview',
      'SubjectAccessReview',
      'TokenReview',
    ])
  })

  test('an account that is deleted sends no longer than that', async () => {
    const { authorize, rights, clock } = createWorld()
    await authorize('Bearer good', 'web')
    delete rights.tokens.good
    clock.advance(10_001)
    await expect(authorize('Bearer good', 'web')).rejects.toMatchObject({ status: 401 })
  })

  test('a binding that is deleted counts no longer than that', async () => {
    const { authorize, rights, clock } = createWorld()
    await authorize('Bearer good', 'web')
    rights.allowed.length = 0
    clock.advance(10_001)
    await expect(authorize('Bearer good', 'web')).rejects.toMatchObject({ status: 403 })
  })

  test.each([['web'], [undefined]])('a grant counts at once, also after a refusal, for %s', async (application) => {
    const { authorize, rights } = createWorld({ allowed: [] })
    await expect(authorize('Bearer good', application)).rejects.toMatchObject({ status: 403 })
    rights.allowed.push(application ?? '*')
    await expect(authorize('Bearer good', application)).resolves.toBeUndefined()
  })

  test('a grant for the whole namespace counts at once, also after a refusal for an application of it', async () => {
    const { authorize, rights } = createWorld({ allowed: [] })
    await expect(authorize('Bearer good', 'web')).rejects.toMatchObject({ status: 403 })
    rights.allowed.push('*')
    await expect(authorize('Bearer good', undefined)).resolves.toBeUndefined()
  })

  test('a grant to look at an object counts at once, also after a refusal', async () => {
    let isGranted = false
    const { authenticate, connect } = createWorld({
      answer: ({ kind }, given) => {
        if (kind !== 'SubjectAccessReview') return given
        return { ...given, body: JSON.stringify({ ...JSON.parse(given.body), status: { allowed: isGranted } }) }
      },
    })
    const sender = await authenticate(connect(), 'Bearer good')
    const policies = { kind: 'AuthorizationPolicy', namespace: 'shop' } as const
    expect(await sender.mayGet(policies)).toBe(false)
    isGranted = true
    expect(await sender.mayGet(policies)).toBe(true)
  })

  test('a failure of the API server is not kept', async () => {
    let fails = true
    const { authorize } = createWorld({
      answer: (_, given) => (fails ? { status: 403, headers: {}, body: '{}' } : given),
    })
    await expect(authorize('Bearer good', 'web')).rejects.toThrow()
    fails = false
    await expect(authorize('Bearer good', 'web')).resolves.toBeUndefined()
  })
})
