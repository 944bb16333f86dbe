import { expect, test } from 'vitest'
import { createClient } from '../client.ts'

const client = createClient({
  tokens: { secret: 'system:serviceaccount:shop:web' },
  audiences: ['meshstep'],
  allows: (username, { verb, resource }) => username.endsWith(':web') && verb === 'update' && resource === 'configmaps',
})

const tokenReview = (spec: Record<string, unknown>) =>
  client.post('/apis/authentication.k8s.io/v1/tokenreviews', {
    apiVersion: 'authentication.k8s.io/v1',
    kind: 'TokenReview',
    spec,
  })
const user = {
  username: 'system:serviceaccount:shop:web',
  groups: ['system:serviceaccounts', 'system:serviceaccounts:shop', 'system:authenticated'],
}

test.each([
  [{ token: 'secret' }, { authenticated: true, user, audiences: ['meshstep'] }],
  [
    { token: 'secret', audiences: ['other', 'meshstep'] },
    { authenticated: true, user, audiences: ['meshstep'] },
  ],
  [
    { token: 'secret', audiences: ['other'] },
    { user: {}, error: 'invalid bearer token' },
  ],
  [{ token: 'toString' }, { user: {}, error: 'invalid bearer token' }],
])('a review of %j says %j', (spec, status) => {
  const answer = tokenReview(spec)
  expect([answer.status, answer.object.status]).toEqual([201, status])
})

test('a review without a token is refused', () => {
  expect(tokenReview({}).status).toBe(400)
})

test.each([
  [{ user: 'u:web', resourceAttributes: { verb: 'update', resource: 'configmaps' } }, true],
  [{ user: 'u:web', resourceAttributes: { verb: 'delete', resource: 'configmaps' } }, false],
  [{ user: 'u:other', resourceAttributes: { verb: 'update', resource: 'configmaps' } }, false],
  [{ user: 'u:web', nonResourceAttributes: { verb: 'update', path: '/' } }, false],
])('access %j is allowed: %j', (spec, allowed) => {
  const path = '/apis/authorization.k8s.io/v1/subjectaccessreviews'
  const { status, object } = client.post(path, {
    apiVersion: 'authorization.k8s.io/v1',
    kind: 'SubjectAccessReview',
    spec,
  })
  expect([status, object.status]).toEqual([201, { allowed }])
})

test('without options no token is good', () => {
  const body = { kind: 'TokenReview', spec: { token: 'secret' } }
  expect(
    createClient().post('/apis/authentication.k8s.io/v1/tokenreviews', body).object.status.authenticated,
  ).toBeUndefined()
})
