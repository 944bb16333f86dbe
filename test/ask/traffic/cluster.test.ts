import { expect, test } from 'vitest'
import { waypointsOf } from '../../../src/ask/authorization/waypoint.ts'
import { readTrafficCluster } from '../../../src/ask/traffic/cluster.ts'
import { features } from '../../../src/features.ts'
import { createKubernetes } from '../../../src/platform/kubernetes/client.ts'
import type { KubernetesObject } from '../../../src/platform/kubernetes/objects.ts'
import { workload } from '../../helpers/world.ts'
import { grantedWithIstio as granted } from '../lint/place.ts'
import type { Place } from '../preview/planned.ts'

const object = (kind: string, metadata: Partial<KubernetesObject['metadata']>): KubernetesObject => ({
  ...{ apiVersion: 'v1', kind, metadata: { namespace: 'shop', name: 'x', ...metadata } },
})

test('nothing is decided about dry runs if no policy is one', async () => {
  const [enforced, audited] = [await granted(), await granted(undefined, { enforcement: 'audit' })]
  expect((await clusterOf(enforced, true)).ifEnforced).toBeUndefined()
  expect((await clusterOf(audited, true)).ifEnforced).toBeDefined()
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

/** The state of `shop` in a place, for somebody who sees all or nothing else. */
const clusterOf = async ({ api, clock }: Place, isSeen: boolean) => {
  const kubernetes = createKubernetes({
    transport: async (request) => api.handle(request),
    ...{ clock, deadline: clock.now() + 10_000 },
  })
  const { memories } = features
  return await readTrafficCluster('shop', { kubernetes, memories, views: [], sees: async () => isSeen })
}

test.each([
  [true, ['shop/shop-beacon-waypoint']],
  [false, []],
])('whoever may see the namespace of a waypoint (%s) is told what it counted', async (isSeen, waypoints) => {
  expect((await clusterOf(await granted(), isSeen)).waypoints).toEqual(waypoints)
})

test.each([
  [true, 'none', 'no dry run'],
  [false, 'unknown', 'unknown'],
])(
  'whoever may see another namespace (%s) is told what its client may, which says that it runs',
  async (isSeen, access, ifEnforced) => {
    const mon = { ...workload('Deployment', 'mon'), metadata: { name: 'mon', namespace: 'other' } }
    const [enforced, audited] = [await granted(), await granted(undefined, { enforcement: 'audit' })]
    for (const { api } of [enforced, audited]) api.seed([mon], { manager: 'juju' })
    expect(await (await clusterOf(enforced, isSeen)).access('other/mon', 'shop/db')).toBe(access)
    expect(await (await clusterOf(audited, isSeen)).ifEnforced?.('other/mon', 'shop/db')).toBe(ifEnforced)
    // who asks about a namespace may see all of it
    expect(await (await clusterOf(enforced, isSeen)).access('shop/web', 'shop/db')).toBe('allowed')
  },
)

test('a Gateway of another namespace passes traffic on only if the namespace names it', async () => {
  const place = await granted()
  const far = object('Gateway', { namespace: 'evil', name: 'client' })
  const listeners = [{ name: 'mesh', port: 15008, protocol: 'HBONE' }]
  const spec = { gatewayClassName: 'istio-waypoint', listeners }
  place.api.seed([{ ...far, apiVersion: 'gateway.networking.k8s.io/v1', spec }], { manager: 'evil' })
  const { gateways } = await clusterOf(place, true)
  expect(gateways.map(({ metadata: { namespace, name } }) => `${namespace}/${name}`)).toEqual([
    'shop/shop-beacon-waypoint',
  ])
})
