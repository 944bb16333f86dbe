import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { startIstio } from '../../../src/embedded/demo/istio.ts'
import { Store } from '../../../src/embedded/store/store.ts'
import type { KubernetesObject } from '../../../src/platform/kubernetes/objects.ts'
import { type Client, createClient } from '../client.ts'

/** How many objects the store has handed out since the test began. */
let read = 0

/** Counts what a method of the store hands out: one object, or several. */
const count = (method: 'get' | 'list' | 'all' | 'ownedBy'): void => {
  const original = Store.prototype[method] as (...args: unknown[]) => unknown
  vi.spyOn(Store.prototype, method).mockImplementation(function (this: Store, ...args: unknown[]) {
    const found = original.apply(this, args)
    read += Array.isArray(found) ? found.length : 1
    return found as never
  })
}

beforeEach(() => {
  for (const method of ['get', 'list', 'all', 'ownedBy'] as const) count(method)
})

afterEach(() => void vi.restoreAllMocks())

const LED = { 'istio.io/use-waypoint': 'way' }

const gateway = (namespace: string): KubernetesObject => ({
  apiVersion: 'gateway.networking.k8s.io/v1',
  kind: 'Gateway',
  metadata: { name: 'way', namespace },
  spec: { gatewayClassName: 'istio-waypoint', listeners: [{ name: 'mesh', port: 15008, protocol: 'HBONE' }] },
})

const application = (namespace: string, name: string): KubernetesObject[] => [
  {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name, namespace },
    spec: {
      selector: { matchLabels: { app: name } },
      template: { metadata: { labels: { app: name } }, spec: { containers: [{ name: 'c', image: 'x:1' }] } },
    },
  },
  {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name, namespace, labels: LED },
    spec: { selector: { app: name }, ports: [{ port: 80 }] },
  },
  {
    apiVersion: 'security.istio.io/v1',
    kind: 'AuthorizationPolicy',
    metadata: { name, namespace },
    spec: { targetRefs: [{ group: '', kind: 'Service', name }], rules: [{}] },
  },
]

/** How many objects a write reads beside so many other applications, which are in the namespace of what is written, or in another. */
const readsOf = (write: (client: Client) => number, { others, namespace }: { others: number; namespace: string }) => {
  const client = createClient()
  startIstio(client)
  client.api.seed([
    ...[gateway('shop'), ...application('shop', 'web')],
    ...[
      gateway('other'),
      ...Array.from({ length: others }, (_, index) => application(namespace, `web-${index}`)).flat(),
    ],
  ])
  read = 0
  expect(write(client)).toBe(200)
  return read
}

const CORE = '/api/v1/namespaces'
const annotated = { metadata: { annotations: { a: 'b' } } }

const WRITES: Readonly<Record<string, (client: Client) => number>> = {
  'a write of a Service': ({ patch }) => patch(`${CORE}/shop/services/web`, 'merge', annotated).status,
  'a write of a policy': ({ patch }) =>
    patch('/apis/security.istio.io/v1/namespaces/shop/authorizationpolicies/web', 'merge', annotated).status,
  'a write of a Deployment, whose pods are replaced,': ({ patch }) =>
    patch('/apis/apps/v1/namespaces/shop/deployments/web', 'merge', { spec: { template: annotated } }).status,
  'the end of a Service': (client) => client.delete(`${CORE}/shop/services/web`).status,
  'the end of a Deployment': (client) => client.delete('/apis/apps/v1/namespaces/shop/deployments/web').status,
}

test.each(Object.entries(WRITES))('%s reads no more beside many applications than beside few', (_, write) => {
  const [few, many] = [2, 20].map((others) => readsOf(write, { others, namespace: 'shop' }))
  expect(many).toBe(few)
})

const WIDER: Readonly<Record<string, (client: Client) => number>> = {
  'a write of a Namespace': ({ patch }) => patch(`${CORE}/shop`, 'merge', annotated).status,
  'a write of a Gateway': ({ patch }) =>
    patch('/apis/gateway.networking.k8s.io/v1/namespaces/shop/gateways/way', 'merge', annotated).status,
  'the end of a Gateway': (client) =>
    client.delete('/apis/gateway.networking.k8s.io/v1/namespaces/shop/gateways/way').status,
  'the end of a Namespace': (client) => client.delete(`${CORE}/shop`).status,
}

test.each(Object.entries(WIDER))('%s reads nothing of other namespaces', (_, write) => {
  const [few, many] = [2, 20].map((others) => readsOf(write, { others, namespace: 'other' }))
  expect(many).toBe(few)
})
