import { expect, test } from 'vitest'
import { forService, granted, lintOf, policy } from './place.ts'

const FORBIDDEN = {
  ...{ status: 403, headers: {} },
  body: JSON.stringify({ kind: 'Status', status: 'Failure', reason: 'Forbidden', message: 'no', code: 403 }),
}

/** What lint finds of policies for a Gateway and a Service, where some paths may not be read. */
const lintWithout = async (forbidden: RegExp) => {
  const place = await granted()
  place.api.seed([
    policy('at-gateway', {
      targetRefs: [{ group: 'gateway.networking.k8s.io', kind: 'Gateway', name: 'shop-beacon-waypoint' }],
      rules: [{ from: [{ source: { namespaces: ['shop'] } }] }],
    }),
    policy('at-service', { ...forService('db'), rules: [{ from: [{ source: { namespaces: ['shop'] } }] }] }),
  ])
  const { api } = place
  const handle: typeof api.handle = (request) => (forbidden.test(request.path) ? FORBIDDEN : api.handle(request))
  return await lintOf({ ...place, api: { ...api, handle } })
}

test('without the right to list Gateways nothing is said of waypoints, but that it could not be read', async () => {
  const found = await lintWithout(/^\/apis\/gateway\.networking\.k8s\.io\/v1\/gateways/)
  expect(found).toEqual([
    {
      ...{ rule: 'partly-read', about: 'Namespace shop' },
      message: 'Gateways of all namespaces may not be listed: findings that depend on them are missing',
    },
  ])
})

test('without the right to read the root namespace what could not be read is said', async () => {
  const found = await lintWithout(/\/namespaces\/istio-system\//)
  expect(found.filter(({ rule }) => rule === 'partly-read').map(({ message }) => message)).toEqual([
    'ConfigMap istio-system/istio may not be read: findings that depend on it are missing',
    'AuthorizationPolicies of istio-system may not be listed: findings that depend on them are missing',
  ])
})

test('without the right to list PeerAuthentications what could not be read is said', async () => {
  const found = await lintWithout(/\/namespaces\/shop\/peerauthentications/)
  expect(found.filter(({ rule }) => rule === 'partly-read').map(({ message }) => message)).toEqual([
    'PeerAuthentications of shop may not be listed: findings that depend on them are missing',
  ])
})
