import { expect, test } from 'vitest'
import { isAudited, waypointsOf } from '../../../src/ask/traffic/audited.ts'
import { readTrafficCluster } from '../../../src/ask/traffic/cluster.ts'
import { features } from '../../../src/features.ts'
import { createKubernetes } from '../../../src/platform/kubernetes/client.ts'
import type { KubernetesObject } from '../../../src/platform/kubernetes/objects.ts'
import { granted } from '../lint/place.ts'

const object = (kind: string, metadata: Partial<KubernetesObject['metadata']>): KubernetesObject => ({
  ...{ apiVersion: 'v1', kind, metadata: { namespace: 'shop', name: 'x', ...metadata } },
})

test('a namespace is audited if a policy is a dry run', () => {
  const policy = (value: string) => object('AuthorizationPolicy', { annotations: { 'istio.io/dry-run': value } })
  expect([isAudited([policy('false'), policy('true')]), isAudited([policy('false')]), isAudited([])]).toEqual([
    true,
    false,
    false,
  ])
})

test('the waypoints of a namespace are those that it and its Services name, each once', () => {
  const named = (name: string, other = {}) => ({ labels: { 'istio.io/use-waypoint': name, ...other } })
  const far = named('far', { 'istio.io/use-waypoint-namespace': 'infra' })
  const services = [named('way'), named('way'), far, named('none'), {}].map((metadata) => object('Service', metadata))
  expect(waypointsOf('shop', object('Namespace', named('home')), services)).toEqual([
    { namespace: 'shop', name: 'home' },
    { namespace: 'shop', name: 'way' },
    { namespace: 'infra', name: 'far' },
  ])
})

test.each([
  [true, ['shop/shop-beacon-waypoint']],
  [false, []],
])('whoever may see the namespace of a waypoint (%s) is told what it counted', async (isSeen, waypoints) => {
  const { api, clock } = await granted()
  const kubernetes = createKubernetes({
    transport: async (request) => api.handle(request),
    ...{ clock, deadline: clock.now() + 10_000 },
  })
  const { memories } = features
  const found = await readTrafficCluster('shop', { kubernetes, memories, views: [], sees: async () => isSeen })
  expect(found.waypoints).toEqual(waypoints)
})
