import { beforeAll, describe, expect, test } from 'vitest'
import { systemClock as clock } from '../../src/platform/base/clock.ts'
import { createKubernetes } from '../../src/platform/kubernetes/client.ts'
import { createTransport } from '../../src/platform/kubernetes/transport.ts'
import { bookinfo } from '../helpers/mesh.ts'
import { managed } from '../mesh/istio/bookinfo.ts'
import { ensureBundle, serve, serveExample, startCluster, until } from './helpers.ts'

const asked = (namespace: string, rest = '') =>
  `/explain?from=${namespace}/productpage&to=${namespace}/details&port=9080${rest}`

describe('the bundle', () => {
  beforeAll(ensureBundle)

  test('the bundle explains a request', async () => {
    const cluster = await startCluster([...bookinfo, ...managed])
    const server = await serve({ environment: cluster.environment })
    const response = await fetch(`${server.url}${asked('shop', '&method=POST&path=/details/0')}`)
    expect([response.status, await response.json()]).toMatchObject([
      200,
      { allowed: false, sentence: expect.stringContaining('method POST is not GET') },
    ])
    const refused = await fetch(`${server.url}/explain`)
    expect([refused.status, await refused.json()]).toMatchObject([400, { reason: 'invalid' }])
    expect(await server.logged('not answered')).toMatchObject({ path: '/explain', status: 400 })
  })

  test('the bundle explains nothing to somebody without a token, where events need one', async () => {
    const cluster = await startCluster([...bookinfo])
    const server = await serve({ environment: { ...cluster.environment, EVENT_AUDIENCE: 'meshstep' } })
    expect((await fetch(`${server.url}${asked('shop')}`)).status).toBe(401)
    expect(cluster.calls).toEqual([])
  })
})

test('npm start runs waypoints, whose pods are no applications, and explains what passes them', async () => {
  const server = await serveExample()
  const { url } = await server.logged('embedded Kubernetes API')
  const transport = createTransport({ server: String(url), credentials: async () => ({}) })
  const kubernetes = createKubernetes({ transport, clock, deadline: Number.POSITIVE_INFINITY })
  const explain = async () => (await fetch(`${server.url}${asked('bookinfo')}`)).json()
  expect(await explain()).toMatchObject({ allowed: true, at: 'destination' })

  await kubernetes.create({
    apiVersion: 'gateway.networking.k8s.io/v1',
    kind: 'Gateway',
    metadata: { name: 'way', namespace: 'bookinfo' },
    spec: { gatewayClassName: 'istio-waypoint', listeners: [{ name: 'mesh', port: 15008, protocol: 'HBONE' }] },
  })
  const closed = { targetRefs: [{ kind: 'Gateway', group: 'gateway.networking.k8s.io', name: 'way' }] }
  await kubernetes.create({
    apiVersion: 'security.istio.io/v1',
    kind: 'AuthorizationPolicy',
    metadata: { name: 'closed', namespace: 'bookinfo' },
    spec: closed,
  })
  const labels = { 'istio.io/dataplane-mode': 'ambient', 'istio.io/use-waypoint': 'way' }
  const metadata = { name: 'bookinfo', labels }
  await kubernetes.apply({ apiVersion: 'v1', kind: 'Namespace', metadata }, 'somebody')
  expect(await explain()).toMatchObject({ allowed: false, at: 'waypoint', policy: 'bookinfo/closed' })

  await until('the start of its pod is taken', () => server.lines.some(({ application }) => application === 'way'))
  const memories = await kubernetes.list('ConfigMap', 'bookinfo')
  expect(memories.map((memory) => memory.metadata.name)).toEqual([])
  transport.close()
  expect(await server.end('SIGTERM')).toEqual({ code: 0, signal: null })
  expect(server.lines.filter(({ level }) => level > 30)).toEqual([])
})
