import { expect, test } from 'vitest'
import { startIstio } from '../../../src/embedded/demo/istio.ts'
import type { KubernetesObject } from '../../../src/platform/kubernetes/objects.ts'
import { createClient } from '../client.ts'

const GATEWAY: KubernetesObject = {
  apiVersion: 'gateway.networking.k8s.io/v1',
  kind: 'Gateway',
  metadata: { name: 'way', namespace: 'shop' },
  spec: { gatewayClassName: 'istio-waypoint', listeners: [{ name: 'mesh', port: 15008, protocol: 'HBONE' }] },
}

const service = (labels: Record<string, string> = {}): KubernetesObject => ({
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { name: 'db', namespace: 'shop', labels },
  spec: { selector: { app: 'db' }, ports: [{ port: 80 }] },
})

const policy = (spec: Record<string, unknown>, namespace = 'shop'): KubernetesObject => ({
  apiVersion: 'security.istio.io/v1',
  kind: 'AuthorizationPolicy',
  metadata: { name: 'policy', namespace },
  spec,
})

const ofService = { targetRefs: [{ group: '', kind: 'Service', name: 'db' }], rules: [{}] }
const ofClass = { targetRefs: [{ group: 'gateway.networking.k8s.io', kind: 'GatewayClass', name: 'istio-waypoint' }] }
const LED = { 'istio.io/use-waypoint': 'way' }

const conditionsIn = (objects: readonly KubernetesObject[], kind = 'AuthorizationPolicy') => {
  const client = createClient()
  startIstio(client)
  client.api.seed(objects)
  return conditionsOf(client, kind)
}

const conditionsOf = ({ api }: ReturnType<typeof createClient>, kind: string) => {
  const found = api.objects().find((object) => object.kind === kind && ['policy', 'db'].includes(object.metadata.name))
  const { conditions = [] } = (found?.status ?? {}) as { conditions?: Record<string, unknown>[] }
  return conditions.map(({ type, status, reason, message, observedGeneration }) => [
    [type, status, reason, observedGeneration].join(' '),
    message,
  ])
}

test.each<[string, readonly KubernetesObject[], string, string]>([
  ['pods', [policy({ rules: [{}] })], 'ZtunnelAccepted True Accepted 1', 'attached to ztunnel'],
  [
    'pods, of an action that no ztunnel has',
    [policy({ action: 'AUDIT', rules: [{}] })],
    'ZtunnelAccepted False UnsupportedValue 1',
    'ztunnel does not support the AUDIT action',
  ],
  [
    'a Service behind a waypoint',
    [GATEWAY, service(LED), policy(ofService)],
    'WaypointAccepted True Accepted 1',
    'bound to shop/way',
  ],
  [
    'a Service without a waypoint',
    [service(), policy(ofService)],
    'WaypointAccepted False AncestorNotBound 1',
    'Service shop/db is not bound to a waypoint',
  ],
  [
    'a Service that is not there',
    [policy(ofService)],
    'WaypointAccepted False TargetNotFound 1',
    'Service shop/db was not found',
  ],
  [
    'all waypoints, outside the root namespace',
    [policy(ofClass)],
    'WaypointAccepted False Invalid 1',
    'AuthorizationPolicy must be in the root namespace `istio-system` when referencing a GatewayClass',
  ],
])('a policy for %s gets the condition that istiod writes', (_, objects, condition, message) => {
  expect(conditionsIn(objects)).toEqual([[condition, message]])
})

test('a policy for all waypoints is taken in the root namespace', () => {
  const client = createClient()
  startIstio(client)
  client.api.seed([{ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'istio-system' } }])
  client.api.seed([policy(ofClass, 'istio-system')])
  expect(conditionsOf(client, 'AuthorizationPolicy')).toEqual([
    ['WaypointAccepted True Accepted 1', 'bound to istio-waypoint'],
  ])
})

test('a Service says which waypoint it is led to, and nothing once it is led to none', () => {
  const client = createClient()
  startIstio(client)
  client.api.seed([service(LED)])
  expect(conditionsOf(client, 'Service')).toEqual([
    ['istio.io/WaypointBound False WaypointIsNotReady ', 'waypoint "shop/way" is not ready'],
  ])
  client.api.seed([GATEWAY])
  expect(conditionsOf(client, 'Service')).toEqual([
    ['istio.io/WaypointBound True WaypointAccepted ', 'Successfully attached to waypoint shop/way'],
  ])
  client.patch('/api/v1/namespaces/shop/services/db', 'merge', {
    metadata: { labels: { 'istio.io/use-waypoint': null } },
  })
  expect(conditionsOf(client, 'Service')).toEqual([])
})
