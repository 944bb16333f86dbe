import { describe, expect, test } from 'vitest'
import { createAuthenticate } from '../src/authorize.ts'
import { createEmbeddedApi } from '../src/embedded/api.ts'
import { createKubernetes } from '../src/kubernetes/client.ts'
import { fakeClock } from './helpers/clock.ts'

const SENDER = 'system:serviceaccount:shop:relation-changed-oidc-eventing.knative.dev-trigger'

const authorize = async (authorization: string | undefined, application?: string): Promise<void> => {
  const api = createEmbeddedApi({
    tokens: { good: SENDER },
    audiences: ['meshstep'],
    allows: (username, { verb, group, resource, namespace, name }) =>
      username === SENDER &&
      verb === 'update' &&
      group === 'meshstep.dev' &&
      resource === 'applications' &&
      namespace === 'shop' &&
      name === 'web',
  })
  const clock = fakeClock()
  const kubernetes = createKubernetes({
    transport: async (request) => api.handle(request),
    clock,
    deadline: clock.now() + 1_000,
  })
  const sender = await createAuthenticate({ audience: 'meshstep' })(kubernetes, authorization)
  await sender.authorize({ namespace: 'shop', application })
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
    await expect(authorize(authorization, application)).rejects.toMatchObject({
      status,
      message: expect.stringMatching(message),
    })
  })
})

test('an event is taken from a sender whom RBAC lets update the application', async () => {
  await expect(authorize('bearer good', 'web')).resolves.toBeUndefined()
})
