import { describe, expect, test } from 'vitest'
import type { EmbeddedApi } from '../../../src/embedded/api/api.ts'
import { startIstio } from '../../../src/embedded/demo/istio.ts'
import type { KubernetesObject } from '../../../src/platform/kubernetes/objects.ts'
import { createWorld } from '../../helpers/world.ts'
import { createClient } from '../client.ts'

const NAME = 'shop-beacon-waypoint'
const GATEWAYS = '/apis/gateway.networking.k8s.io/v1/namespaces/shop/gateways'
const GATEWAY = `${GATEWAYS}/${NAME}`

const listeners = [{ name: 'mesh', port: 15008, protocol: 'HBONE' }]

const gateway = (changes: Partial<KubernetesObject> = {}): KubernetesObject => ({
  apiVersion: 'gateway.networking.k8s.io/v1',
  kind: 'Gateway',
  metadata: { name: NAME, namespace: 'shop', labels: { 'istio.io/waypoint-for': 'service' } },
  spec: { gatewayClassName: 'istio-waypoint', listeners },
  ...changes,
})

const autoscaler = (minReplicas?: number): KubernetesObject => ({
  apiVersion: 'autoscaling/v2',
  kind: 'HorizontalPodAutoscaler',
  metadata: { name: NAME, namespace: 'shop' },
  spec: {
    scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: NAME },
    ...(minReplicas !== undefined && { minReplicas }),
    maxReplicas: 5,
  },
})

/** An embedded API that Istio watches, with `objects` that came in this order. */
const createCluster = (objects: readonly KubernetesObject[] = []) => {
  const client = createClient()
  const istio = startIstio(client)
  client.api.seed(objects)
  return { ...client, istio }
}

const find = (api: EmbeddedApi, kind: string) =>
  api.objects().find((object) => object.kind === kind && object.metadata.name === NAME)

const kindsOf = (api: EmbeddedApi): string[] =>
  api
    .objects()
    .map(({ kind }) => kind)
    .filter((kind) => kind !== 'Namespace')

const programmed = (api: EmbeddedApi) => {
  const { conditions = [] } = (find(api, 'Gateway')?.status ?? {}) as { conditions?: { type: string }[] }
  return conditions.find(({ type }) => type === 'Programmed')
}

describe('what is no waypoint', () => {
  test.each<[string, KubernetesObject]>([
    ['a Gateway of another class', gateway({ spec: { gatewayClassName: 'istio', listeners } })],
    ['an autoscaler alone', autoscaler(3)],
  ])('stays alone: %s', (_, object) => {
    const { api } = createCluster([object])
    expect(kindsOf(api)).toEqual([object.kind])
    expect(JSON.stringify(find(api, object.kind)?.status ?? {})).not.toContain('True')
  })

  test('nor is one that is on its way out', () => {
    const leaving = gateway({ metadata: { name: NAME, namespace: 'shop', finalizers: ['example.org/wait'] } })
    const client = createClient()
    client.api.seed([leaving])
    client.delete(GATEWAY)
    startIstio(client)
    expect(kindsOf(client.api)).toEqual(['Gateway'])
  })

  test('a Gateway whose objects the API server refuses is not programmed, and says why', () => {
    const foreign = {
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata: { name: NAME, namespace: 'shop' },
      spec: {
        selector: { matchLabels: { a: 'b' } },
        template: { metadata: { labels: { a: 'b' } }, spec: { containers: [{ name: 'c', image: 'x:1' }] } },
      },
    }
    const { api } = createCluster([foreign, gateway()])
    expect(programmed(api)).toMatchObject({ status: 'False', message: expect.stringContaining('immutable') })
    expect(find(api, 'Gateway')?.status).toMatchObject({ addresses: [] })
  })
})

describe('a waypoint', () => {
  test('gets what Istio makes for it, in the same write', () => {
    const { api, ...client } = createCluster([autoscaler()])
    expect(client.post(GATEWAYS, gateway()).status).toBe(201)
    const uid = find(api, 'Gateway')?.metadata.uid
    for (const kind of ['ServiceAccount', 'Deployment', 'Service']) {
      const { metadata } = find(api, kind) ?? {}
      expect(metadata).toMatchObject({
        namespace: 'shop',
        labels: { 'istio.io/waypoint-for': 'service', 'gateway.networking.k8s.io/gateway-name': NAME },
        ownerReferences: [{ kind: 'Gateway', name: NAME, uid }],
      })
      expect(metadata?.managedFields?.map(({ manager }) => manager)).toContain('istio')
    }
    expect(find(api, 'Deployment')).toMatchObject({
      spec: { replicas: 1, template: { spec: { serviceAccountName: NAME } } },
      status: { replicas: 1, readyReplicas: 1 },
    })
    expect(programmed(api)).toMatchObject({ status: 'True' })
    expect(find(api, 'Gateway')?.status).toMatchObject({
      addresses: [{ type: 'Hostname', value: `${NAME}.shop.svc.cluster.local` }],
    })
  })

  test('gets the same when it was there before Istio', () => {
    const client = createClient()
    client.api.seed([gateway()])
    startIstio(client)
    expect(programmed(client.api)).toMatchObject({ status: 'True' })
    expect(find(client.api, 'Deployment')).toMatchObject({ status: { readyReplicas: 1 } })
  })

  test.each<[string, KubernetesObject[], number]>([
    ['an autoscaler that is there before', [autoscaler(3), gateway()], 3],
    ['an autoscaler that comes after', [gateway(), autoscaler(3)], 3],
    ['an autoscaler that says nothing', [gateway(), autoscaler()], 1],
  ])('has as many replicas as it should: %s', (_, objects, replicas) => {
    const { api } = createCluster(objects)
    expect(find(api, 'Deployment')).toMatchObject({ spec: { replicas }, status: { replicas, readyReplicas: replicas } })
  })

  test('is scaled by its autoscaler', () => {
    const { api, ...client } = createCluster([gateway(), autoscaler(1)])
    const path = `/apis/autoscaling/v2/namespaces/shop/horizontalpodautoscalers/${NAME}`
    expect(client.patch(path, 'merge', { spec: { minReplicas: 4 } }).status).toBe(200)
    expect(find(api, 'Deployment')).toMatchObject({ status: { readyReplicas: 4 } })
    expect(kindsOf(api).filter((kind) => kind === 'Pod')).toHaveLength(4)
  })

  test('says by spec.infrastructure which labels its pods have', () => {
    const { api } = createCluster([
      gateway({
        spec: { gatewayClassName: 'istio-waypoint', listeners, infrastructure: { labels: { team: 'blue' } } },
      }),
    ])
    const pod = api.objects().find(({ kind }) => kind === 'Pod')
    expect(pod?.metadata.labels).toMatchObject({ team: 'blue', 'istio.io/dataplane-mode': 'none' })
    expect(pod?.metadata.labels).not.toHaveProperty(['istio.io/waypoint-for'])
  })

  test('takes all of it along', () => {
    const { api, ...client } = createCluster([gateway()])
    expect(kindsOf(api).length).toBeGreaterThan(4)
    expect(client.delete(GATEWAY).status).toBe(200)
    expect(kindsOf(api)).toEqual([])
  })

  test('gets back what somebody deletes or changes', () => {
    const { api, ...client } = createCluster([gateway()])
    const path = `/apis/apps/v1/namespaces/shop/deployments/${NAME}`
    client.delete(path)
    expect(find(api, 'Deployment')).toMatchObject({ status: { readyReplicas: 1 } })
    client.patch(path, 'merge', { spec: { replicas: 0 } })
    expect(find(api, 'Deployment')).toMatchObject({ spec: { replicas: 1 } })
  })

  test('leaves no trace when it is gone before Istio looks', () => {
    const client = createClient()
    // who listens before Istio deletes it within the write that creates it
    client.api.subscribe(({ type, object }) => {
      if (type === 'ADDED' && object.kind === 'Gateway') client.delete(GATEWAY)
    })
    startIstio(client)
    client.api.seed([gateway()])
    expect(kindsOf(client.api)).toEqual([])
  })
})

test('nothing is written where nothing differs', () => {
  const { api } = createCluster([gateway(), autoscaler(2)])
  const before = api.objects()
  startIstio({ api })
  expect(api.objects()).toEqual(before)
})

test('one that was stopped does nothing', () => {
  const { api, istio } = createCluster()
  istio.stop()
  api.seed([gateway()])
  expect(kindsOf(api)).toEqual(['Gateway'])
})

test('the start of a waypoint’s pod is no application: nothing is remembered of it, and nothing is written', async () => {
  const world = createWorld([])
  startIstio(world)
  world.api.seed([gateway()])
  const pod = world.api.objects().find(({ kind }) => kind === 'Pod')
  const before = world.api.objects()
  const response = await world.post({
    id: '1',
    source: '/source',
    type: 'dev.knative.apiserver.resource.add',
    datacontenttype: 'application/json',
    extensions: {},
    data: pod,
  })
  expect([response.status, await response.json()]).toMatchObject([200, { application: NAME, status: 'unchanged' }])
  expect(world.api.objects()).toEqual(before)
})
