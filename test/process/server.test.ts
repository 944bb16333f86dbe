import { once } from 'node:events'
import * as http from 'node:http'
import { createServer } from 'node:net'
import { beforeAll, describe, expect, test } from 'vitest'
import { writeEvent } from '../../src/platform/cloudevents/cloud-event.ts'
import { APPLICATION, event, MESH_LABELS, meshRelation } from '../helpers/world.ts'
import { ensureBundle, post, run, serve, start, startCluster, until } from './helpers.ts'

beforeAll(ensureBundle)

const hasCurl = await run('curl', ['--version']).then(
  () => true,
  () => false,
)

const serveOnCluster = async (names: readonly string[] = []) => {
  const cluster = await startCluster()
  return { cluster, server: await serve({ names, environment: cluster.environment }) }
}

describe('a process that cannot start ends with 1 and says why', () => {
  test('there is no such function', async () => {
    const { environment } = await startCluster()
    const { ended, errors } = start({ names: ['relation-changed', 'relation-joined'], environment })
    expect(await ended).toEqual({ code: 1, signal: null })
    expect(errors()).toMatch(/^relation-joined: no such function\. There are relation-changed, .*resync$/m)
  })

  test('there is no cluster', async () => {
    const { ended, errors } = start()
    expect(await ended).toEqual({ code: 1, signal: null })
    expect(errors()).toMatch(/^No Kubernetes API: .*KUBERNETES_SERVICE_HOST .*KUBECONFIG is not set/)
  })

  test('the kubeconfig does not exist', async () => {
    const { ended, errors } = start({ environment: { KUBECONFIG: '/does/not/exist' } })
    expect(await ended).toEqual({ code: 1, signal: null })
    expect(errors()).toBe('KUBECONFIG names /does/not/exist, which does not exist\n')
  })

  test.each(['eighty', '65536', '-1', '80.5'])('PORT is %s', async (PORT) => {
    const { ended, errors } = start({ environment: { PORT } })
    expect(await ended).toEqual({ code: 1, signal: null })
    expect(errors()).toMatch(/^PORT: /)
  })

  test.each(['broker', 'ftp://broker'])('K_SINK is %s', async (K_SINK) => {
    const { environment } = await startCluster()
    const { ended, errors } = start({ environment: { ...environment, K_SINK } })
    expect(await ended).toEqual({ code: 1, signal: null })
    expect(errors()).toBe('K_SINK: expected a URL with http or https\n')
  })

  test('the port is taken', async () => {
    const { cluster, server } = await serveOnCluster()
    const second = start({ environment: { ...cluster.environment, PORT: String(server.port) } })
    expect(await second.ended).toEqual({ code: 1, signal: null })
    expect(second.errors()).toContain(`PORT: port ${server.port} cannot be opened (EADDRINUSE)`)
  })
})

describe('an event that comes in by HTTP', () => {
  test('an event that comes in by HTTP is refused when it is no event, and the log says so', async () => {
    const { server, cluster } = await serveOnCluster()
    const response = await fetch(server.url, { method: 'POST', body: '{}' })
    expect([response.status, await response.json()]).toMatchObject([400, { reason: 'invalid' }])
    expect(await server.logged('event not taken')).toMatchObject({ path: '/', status: 400 })
    expect(cluster.calls).toEqual([])
  })

  test('an event that comes in by HTTP is refused by a process that serves other functions', async () => {
    const { server, cluster } = await serveOnCluster(['pod-restarted', 'resync'])
    expect((await server.logged('listening')).functions).toEqual(['pod-restarted', 'resync'])
    const response = await post(server.url, event('relation-changed', meshRelation()))
    expect([response.status, await response.json()]).toMatchObject([
      400,
      { message: expect.stringContaining('expected dev.meshstep.pod-restarted.v1, dev.meshstep.resync.v1') },
    ])
    expect(cluster.labels(APPLICATION).template).not.toHaveProperty(['istio.io/dataplane-mode'])
    const other = await post(server.url, event('pod-restarted', { pod: { name: 'web-0', uid: 'u' } }))
    expect(other.status).toBe(200)
  })

  test('an event that comes in by HTTP is refused by a function that takes another type', async () => {
    const { server } = await serveOnCluster()
    const response = await post(`${server.url}/relation-broken`, event('relation-changed', meshRelation()))
    expect(response.status).toBe(400)
    const nowhere = await post(`${server.url}/relation-joined`, event('relation-changed', meshRelation()))
    expect([nowhere.status, await nowhere.json()]).toMatchObject([
      400,
      { message: expect.stringContaining('/relation-joined: no such function') },
    ])
  })

  test('an event that comes in by HTTP labels the workload and the Service, is answered with an event, and leaves a line in the log', async () => {
    const { server, cluster } = await serveOnCluster()
    const sent = event('relation-changed', meshRelation())
    const response = await post(`${server.url}/relation-changed`, sent)
    expect(response.status).toBe(200)
    expect(response.headers.get('ce-type')).toBe('dev.meshstep.reconciled.v1')
    expect(await response.json()).toMatchObject({ application: 'web', status: 'changed' })
    expect(cluster.labels(APPLICATION)).toMatchObject({ template: MESH_LABELS, service: MESH_LABELS })
    const line = await server.logged('step done')
    expect(line).toMatchObject({
      level: 30,
      event: { id: sent.id, source: '/test', type: 'dev.meshstep.relation-changed.v1' },
      function: 'relation-changed',
      namespace: 'shop',
      application: 'web',
      status: 'changed',
    })
    expect(server.errors()).toBe('')
  })

  test('an event that comes in by HTTP may be sent in chunks, without its length', async () => {
    const { server } = await serveOnCluster()
    const { headers, body } = writeEvent(event('relation-changed', meshRelation()))
    const response = await fetch(server.url, {
      method: 'POST',
      headers,
      body: new Blob([body]).stream(),
      duplex: 'half',
    })
    expect([response.status, await response.json()]).toMatchObject([200, { status: 'changed' }])
  })

  test.skipIf(!hasCurl)('an event that comes in by HTTP may be sent with curl', async () => {
    const { server, cluster } = await serveOnCluster()
    const headers = [
      'ce-specversion: 1.0',
      'ce-id: 1',
      'ce-source: /curl',
      'ce-type: dev.meshstep.relation-changed.v1',
      'ce-subject: shop/web',
      'content-type: application/json',
    ]
    const data = JSON.stringify(meshRelation({ 'istio.io/use-waypoint': 'on' }))
    const { stdout } = await run('curl', [
      '--silent',
      '--include',
      ...headers.flatMap((header) => ['--header', header]),
      '--data',
      data,
      server.url,
    ])
    expect(stdout).toMatch(/^HTTP\/1\.1 200 OK\r\n/)
    expect(stdout).toContain('"status":"changed"')
    expect(cluster.labels(APPLICATION).template).toMatchObject({ 'istio.io/use-waypoint': 'on' })
  })
})

describe('over HTTP', () => {
  const LIMIT_BYTES = 2 * 1024 * 1024

  /** Sends as many bytes as it is told in parts, with or without their number in a header, and reads what comes back. */
  const send = async (url: string, bytes: number, headers: Record<string, string | number> = {}) => {
    const request = http.request(url, { method: 'POST', headers: { 'content-type': 'application/json', ...headers } })
    const answered = once(request, 'response') as Promise<[http.IncomingMessage]>
    request.on('error', () => undefined) // the rest of a body that is too large may not be taken
    for (let sent = 0; sent < bytes; sent += 64 * 1024)
      request.write(Buffer.alloc(Math.min(64 * 1024, bytes - sent), ' '))
    request.end()
    const [response] = await answered
    response.resume()
    return response.statusCode
  }

  test.each([
    ['content-length', (bytes: number) => ({ 'content-length': bytes })],
    ['transfer-encoding', () => ({ 'transfer-encoding': 'chunked' })],
  ] as const)('a body that is too large is refused, sent with %s', async (_, headers) => {
    const { server } = await serveOnCluster()
    expect(await send(server.url, LIMIT_BYTES + 1, headers(LIMIT_BYTES + 1))).toBe(413)
    // one that just fits is no event, and refused for that
    expect(await send(server.url, LIMIT_BYTES, headers(LIMIT_BYTES))).toBe(400)
  })

  test('the handshake of a webhook is answered', async () => {
    const { server } = await serveOnCluster()
    const headers = { 'webhook-request-origin': 'events.example' }
    for (const path of ['/', '/relation-changed']) {
      const response = await fetch(`${server.url}${path}`, { method: 'OPTIONS', headers })
      expect(response.status).toBe(200)
      expect(response.headers.get('webhook-allowed-origin')).toBe('events.example')
      expect(response.headers.get('allow')).toContain('POST')
    }
  })

  test('the kubelet sees that it is healthy, without a call to the API server', async () => {
    const { server, cluster } = await serveOnCluster()
    for (const path of ['/health/liveness', '/health/readiness'])
      expect((await fetch(`${server.url}${path}`)).status).toBe(200)
    expect(cluster.calls).toEqual([])
    expect((await fetch(`${server.url}/health`)).status).toBe(404)
  })

  test('a connection is kept for longer than the 90 s of Knative’s queue-proxy', async () => {
    const { server } = await serveOnCluster()
    const response = await fetch(`${server.url}/health/liveness`)
    const seconds = Number(/timeout=(\d+)/.exec(response.headers.get('keep-alive') ?? '')?.[1])
    expect(seconds).toBeGreaterThan(90)
  })

  test('the port is free again when the process has ended', async () => {
    const { server } = await serveOnCluster()
    expect(await server.end('SIGTERM')).toEqual({ code: 0, signal: null })
    // somebody else's connection may have that port for a moment
    await until('the port is free', async () => {
      const other = createServer().listen(server.port)
      const isFree = await once(other, 'listening').then(
        () => true,
        () => false,
      )
      other.close()
      return isFree
    })
  })
})

describe('the dead-letter sink', () => {
  test('the dead-letter sink logs what it takes as an error, and answers 204, also where there is no cluster', async () => {
    const server = await serve({ names: ['dead-letter'] })
    const extensions = { knativeerrorcode: '500', knativeerrordata: Buffer.from('no labels').toString('base64') }
    const sent = event('relation-changed', meshRelation(), { extensions })
    const response = await post(server.url, sent)
    expect([response.status, await response.text()]).toEqual([204, ''])
    expect(await server.logged('dead letter')).toMatchObject({
      level: 50,
      event: { id: sent.id, type: 'dev.meshstep.relation-changed.v1', data: { application: 'web' } },
      reason: 'no labels',
    })
    expect((await fetch(`${server.url}/health/readiness`)).status).toBe(200)
    expect(await server.end('SIGTERM')).toEqual({ code: 0, signal: null })
  })

  test('the dead-letter sink makes a Kubernetes Event where there is a cluster', async () => {
    const cluster = await startCluster()
    cluster.intercept = ({ method, path }) =>
      method === 'POST' && path.startsWith('/apis/events.k8s.io/v1/namespaces/shop/events')
        ? { status: 201, headers: {}, body: '{"kind":"Event","metadata":{"name":"x"}}' }
        : undefined
    const server = await serve({ names: ['dead-letter'], environment: cluster.environment })
    expect((await post(server.url, event('relation-changed', meshRelation()))).status).toBe(204)
    expect(cluster.calls).toHaveLength(1)
    expect(server.lines.filter(({ msg }) => msg === 'dead letter without an Event')).toEqual([])
  })

  test('the dead-letter sink refuses what is no event', async () => {
    const server = await serve({ names: ['dead-letter'] })
    expect((await fetch(server.url, { method: 'POST', body: 'x' })).status).toBe(400)
  })
})
