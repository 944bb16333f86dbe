import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { workerMetricsPath } from '../../../../src/features/coordinated-workers/nginx/paths.ts'
import { proxiedEndpoints } from '../../../../src/features/coordinated-workers/nginx/routing.ts'
import { hasOpenssl } from '../../../process/https-server.ts'
import { type Certificate, makeCertificate } from './certificate.ts'
import { arrived, call, send } from './clients.ts'
import { type Cluster, startCluster } from './cluster.ts'
import { nginxProgram } from './nginx-program.ts'

const EXPORT = '/opentelemetry.proto.collector.trace.v1.TraceService/Export'

const TRANSPORTS = [
  { transport: 'without TLS', isTls: false },
  { transport: 'with TLS (skipped without openssl)', isTls: true },
].filter(({ isTls }) => hasOpenssl || !isTls)

describe.skipIf(nginxProgram === undefined)('through a real nginx (skipped without one)', () => {
  describe.each(TRANSPORTS)('$transport', ({ isTls }) => {
    let certificate: Certificate | undefined
    let cluster: Cluster
    beforeAll(async () => {
      certificate = isTls ? await makeCertificate() : undefined
      cluster = await startCluster(certificate)
    })
    afterAll(() => cluster.stop())

    const origin = () => {
      const { httpPort, httpsPort } = cluster.nginx.routing.ports
      return isTls ? `https://127.0.0.1:${httpsPort}` : `http://127.0.0.1:${httpPort}`
    }
    const endpoints = () => proxiedEndpoints(cluster.nginx.routing)
    /** A POST of somebody's, with a body. */
    const push = (url: string | undefined) =>
      arrived(`${url}`, {
        method: 'POST',
        headers: { 'X-Scope-OrgID': 'somebody' },
        body: 'a body',
        ca: certificate?.cert,
      })
    const get = (path: string) => send(`${origin()}${path}`, { ca: certificate?.cert })
    /** What every request that `push` sends has at its backend. */
    const pushed = (host: string, port: number) => ({
      method: 'POST',
      host: `${host}:${port}`,
      tenant: 'somebody',
      body: 'a body',
      httpVersion: '1.1',
      ...(isTls && { serverName: host === '127.0.0.1' ? false : host }),
    })

    test.each([
      ['mimir-worker/0', 'worker-0.test'],
      ['mimir-worker/1', '127.0.0.1'],
    ])('metrics of %s are read from it, with the query', async (unit, host) => {
      const seen = await arrived(`${origin()}${workerMetricsPath(unit)}?match[]=a%20b`, { ca: certificate?.cert })
      expect(seen).toEqual({
        ...pushed(host, cluster.ports.worker),
        at: 'worker',
        method: 'GET',
        url: '/metrics?match[]=a%20b',
        tenant: 'anonymous',
        body: '',
      })
    })

    test('logs come through a real nginx', async () => {
      const { loki, ingress } = cluster.ports
      expect(await push(endpoints().loki_endpoints['loki/0'])).toEqual({
        ...pushed('loki.test', loki),
        at: 'loki',
        url: '/loki/api/v1/push',
      })
      expect(await push(`${endpoints().loki_endpoints['prometheus/0']}?a=b`)).toEqual({
        ...pushed('127.0.0.1', ingress),
        at: 'ingress',
        url: '/cos-loki-1/loki/api/v1/push?a=b',
      })
    })

    test('remote write, to two backends behind one ingress and one that has the name of a unit of Loki', async () => {
      const { ingress } = cluster.ports
      const urls = endpoints().remote_write_endpoints.map(({ url }) => `${url}?a=b`)
      const seen = await Promise.all(urls.map(push))
      expect(seen.toSorted((one, other) => (`${one.url}` < `${other.url}` ? -1 : 1))).toEqual([
        { ...pushed('prometheus-0.test', ingress), at: 'ingress', url: '/api/v1/write?a=b' },
        { ...pushed('ingress.test', ingress), at: 'ingress', url: '/cos-prometheus-0/api/v1/write?a=b' },
        { ...pushed('ingress.test', ingress), at: 'ingress', url: '/cos-prometheus-1/api/v1/write?kind=%7Bnew%7D&a=b' },
      ])
    })

    test.each([
      ['v1/traces', '/v1/traces'],
      ['/v1/traces?a=%2Fb', '/v1/traces?a=%2Fb'],
      ['', '/'],
      ['?a=/../b', '/?a=/../b'],
      ['a%20b%2Fc/%25/ü//..x'.replace('ü', '%C3%BC'), '/a%20b%2Fc/%25/%C3%BC//..x'],
    ])('traces to a path, %j', async (below, path) => {
      const { tempo, ingress } = cluster.ports
      const { charm_tracing_receivers: charm, workload_tracing_receivers: workload } = endpoints()
      expect(await push(`${charm.otlp_http}${below}`)).toEqual({
        ...pushed('tempo.test', tempo),
        at: 'tempo',
        url: path,
      })
      expect(await push(`${workload.zipkin}${below}`)).toEqual({
        ...pushed('tempo.test', tempo),
        at: 'tempo',
        url: path,
      })
      expect(await push(`${workload.otlp_http}${below}`)).toEqual({
        ...pushed('ingress.test', ingress),
        at: 'ingress',
        url: `/cos-tempo${path}`,
      })
    })

    test.each([
      '../otlp_http/v1/traces',
      'v1/../../otlp_http/v1/traces',
      '%2e%2E/otlp_http/v1/traces',
      'v1%2f..%2ftraces',
      'v1/./traces',
      'v1/%2e',
      '../../charm%2dtracing/otlp_http/../../workload-tracing/otlp_http/',
    ])('a path that could lead out of that of the backend is not found: %s', async (below) => {
      expect((await get(`/proxy/workload-tracing/otlp_http/${below}`)).status).toBe(404)
    })

    test.each([
      ['charm_tracing_receivers', 'otlp_grpc', EXPORT, 'charms', 'tempo.test'],
      ['workload_tracing_receivers', 'otlp_grpc', EXPORT, 'workloads', 'traces.test'],
      [
        'workload_tracing_receivers',
        'otlp_grpc',
        '/opentelemetry.proto.collector.metrics.v1.MetricsService/Export',
        'workloads',
        'traces.test',
      ],
      [
        'workload_tracing_receivers',
        'otlp_grpc',
        '/opentelemetry.proto.collector.logs.v1.LogsService/Export',
        'workloads',
        'traces.test',
      ],
      [
        'workload_tracing_receivers',
        'jaeger_grpc',
        '/jaeger.api_v2.CollectorService/PostSpans',
        'charms',
        'tempo.test',
      ],
    ] as const)('%s over %s, %s', async (receivers, protocol, method, backend, host) => {
      const address = endpoints()[receivers][protocol] ?? ''
      const answer = await call(address, method, {
        headers: { 'x-scope-orgid': 'somebody' },
        body: 'a body',
        ca: certificate?.cert,
      })
      expect(answer).toMatchObject({ status: 200, grpcStatus: '0' })
      expect(JSON.parse(answer.text)).toEqual({
        ...pushed(host, cluster.ports[backend]),
        at: backend,
        url: method,
        httpVersion: '2.0',
      })
      const other = await call(address, method, { ca: certificate?.cert })
      expect(JSON.parse(other.text)).toMatchObject({ tenant: 'anonymous', body: '' })
    })

    test('another method of gRPC is not found', async () => {
      const address = endpoints().workload_tracing_receivers.otlp_grpc ?? ''
      expect(await call(address, '/other.Service/Export', { ca: certificate?.cert })).toMatchObject({ status: 404 })
    })

    test('a body of 8 MiB', async () => {
      const body = 'x'.repeat(8 * 1024 * 1024)
      const url = endpoints().loki_endpoints['loki/0'] ?? ''
      expect((await arrived(url, { method: 'POST', body, ca: certificate?.cert })).body.length).toBe(body.length)
      const headers = { 'Transfer-Encoding': 'chunked' }
      expect((await arrived(url, { method: 'POST', headers, body, ca: certificate?.cert })).body.length).toBe(
        body.length,
      )
      const address = endpoints().workload_tracing_receivers.otlp_grpc ?? ''
      const answer = await call(address, EXPORT, { body, ca: certificate?.cert })
      expect(JSON.parse(answer.text).body.length).toBe(body.length)
    })

    test('health, status for the exporter, and nothing else', async () => {
      expect(await get('/')).toEqual({ status: 200, text: 'OK' })
      expect(await get('/status')).toMatchObject({
        status: 200,
        text: expect.stringMatching(/^Active connections: \d/),
      })
      for (const path of ['/index.html', '/metrics']) expect((await get(path)).status).toBe(404)
    })

    test.each([
      '/proxy/worker/mimir-worker-2/metrics',
      '/proxy/loki/loki-0/push/',
      '/proxy/remote-write/unknown/write',
      '/proxy/workload-tracing/jaeger/v1',
    ])('a path that is not mounted, or not any more, is asked again later: %s', async (path) => {
      expect((await get(path)).status).toBe(503)
    })

    test('a method of gRPC that is not mounted is asked again later', async () => {
      const address = endpoints().charm_tracing_receivers.otlp_grpc ?? ''
      const answer = await call(address, '/jaeger.api_v2.CollectorService/PostSpans', { ca: certificate?.cert })
      expect(answer).toMatchObject({ status: 503 })
    })

    test('a path of the coordinator that is spelled in another way is not found', async () => {
      const statuses = await Promise.all(
        [
          '/proxy/workload-tracing%2fotlp_http/v1',
          '/proxy//workload-tracing/otlp_http/v1',
          '/%70roxy/workload-tracing/otlp_http/v1',
        ].map(async (path) => (await get(path)).status),
      )
      expect(statuses).toEqual([404, 404, 404])
    })

    test('only what fails is logged', async () => {
      await get('/')
      await get('/not/there')
      // nginx logs a request once it has answered it
      await expect.poll(() => cluster.nginx.log()).toMatch(/"GET \/not\/there HTTP\/1.1" 404/)
      expect(await cluster.nginx.log()).not.toMatch(/" 200 /)
    })
  })
})
