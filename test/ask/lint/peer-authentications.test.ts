import { expect, test } from 'vitest'
import { granted, lintOf } from './place.ts'

/** Where a PeerAuthentication is listed that the API server took before its schema said what it says. */
const lintWith = async (metadata: Record<string, unknown>, spec: Record<string, unknown>) => {
  const place = await granted()
  const { api } = place
  const items = [{ metadata: { name: 'strict', namespace: 'shop', ...metadata }, spec }]
  const answer = {
    status: 200,
    headers: {},
    body: JSON.stringify({ kind: 'PeerAuthenticationList', metadata: {}, items }),
  }
  const handle: typeof api.handle = (request) =>
    /\/namespaces\/shop\/peerauthentications/.test(request.path) ? answer : api.handle(request)
  return await lintOf({ ...place, api: { ...api, handle } })
}

test('a PeerAuthentication that Istio would refuse is told where it is there all the same', async () => {
  expect(await lintWith({}, { mtls: { mode: 'STRIKT' } })).toEqual([
    {
      ...{ rule: 'peer-authentication-refused', about: 'PeerAuthentication shop/strict' },
      message: 'spec.mtls.mode: expected UNSET, DISABLE, PERMISSIVE or STRICT, got "STRIKT"',
    },
  ])
  expect(await lintWith({}, { mtls: { mode: 'STRICT' } })).toEqual([])
})

test('a PeerAuthentication allows what is meant so', async () => {
  const allowing = (id: string) => ({ annotations: { 'meshstep.dev/allow': id } })
  const ports = { portLevelMtls: { 80: { mode: 'STRICT' } } }
  expect(await lintWith(allowing('peer-authentication-refused'), ports)).toEqual([])
  expect((await lintWith(allowing('peer-refused'), ports)).map(({ rule }) => rule).toSorted()).toEqual([
    'allow-unknown',
    'peer-authentication-refused',
  ])
})
