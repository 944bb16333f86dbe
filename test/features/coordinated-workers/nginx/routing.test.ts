import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  directEndpoints,
  nginxConfiguration,
  proxiedEndpoints,
  type Routing,
} from '../../../../src/features/coordinated-workers/nginx/routing.ts'
import { scrapeJobs } from '../../../../src/features/coordinated-workers/nginx/scrape-jobs.ts'
import { charmLibrary } from '../../../helpers/recorded.ts'
import { routing } from './arbitraries.ts'
import { linesOf } from './nginx-file.ts'
import { found, routingOf } from './routing.ts'

const ORIGIN = 'http://127.0.0.1:3300'

describe('what a URL says is where telemetry goes', () => {
  test.each([
    ['http://h', 'http://h/'],
    ['HTTPS://H.example.:443/A', 'https://h.example/A'],
    ['http://h:443/', 'http://h:443/'],
    ['https://h:80/a?b', 'https://h:80/a?b', '$more_arguments'],
    ['http://h/a/../b/%2e%2e/c', 'http://h/c'],
    ['http://[FD00::1]:80/', 'http://[fd00::1]/'],
    ['http://0x7f.1/', 'http://127.0.0.1/'],
    ['http://ü.example/ü', 'http://xn--tda.example/%C3%BC'],
    ['http://h/$a?$b', `http://h/\${dollar}a?\${dollar}b`, '$more_arguments'],
    ['http://h/#a', 'http://h/'],
  ])('%s', (url, address, query = '$is_args$args') => {
    expect(found('proxy_pass', { logging: [{ unit: 'loki/0', url }] })).toEqual([`proxy_pass ${address}${query}`])
  })

  test.each([
    ['grpc://h', 'grpc://h'],
    ['grpcs://h', 'grpcs://h'],
    ['http://h:4317/', 'grpc://h:4317'],
    ['https://h:4317', 'grpcs://h:4317'],
    ['h:4317', 'grpc://h:4317'],
    ['secure:4317', 'grpcs://secure:4317'],
    ['SECURE:4317', 'grpcs://secure:4317'],
    ['[fd00::1]:4317', 'grpc://[fd00::1]:4317'],
  ])(
    'what a URL says is where telemetry goes over gRPC, beside a receiver of https on the host `secure`: %s',
    (url, address) => {
      const charmTracing = { jaeger_grpc: url, zipkin: 'http://h/', otlp_http: 'https://secure:4318' }
      expect(found('set', { charmTracing })).toEqual([`set $backend ${address}`])
    },
  )

  test('workers with TLS are asked with it', () => {
    const workers = [{ unit: 'w/0', address: 'W.example' }]
    expect(found('proxy_pass', { workers, tls: true })).toEqual([
      'proxy_pass https://w.example:8080/metrics$is_args$args',
    ])
  })
})

describe('where workers send', () => {
  const given = {
    logging: [
      { unit: 'loki/1', url: 'http://l/1' },
      { unit: 'loki/0', url: 'http://l/0' },
    ],
    remoteWrite: [{ url: 'http://p/b' }, { url: 'http://p/a' }, { url: 'http://p/b' }],
    charmTracing: { otlp_http: 'http://t:4318', otlp_grpc: 't:4317' },
    workloadTracing: { zipkin: 'http://t:9411', jaeger_grpc: 't:14250' },
  }

  test('workers send directly where telemetry is not routed', () => {
    expect(directEndpoints(given)).toEqual({
      loki_endpoints: { 'loki/0': 'http://l/0', 'loki/1': 'http://l/1' },
      remote_write_endpoints: [{ url: 'http://p/a' }, { url: 'http://p/b' }],
      charm_tracing_receivers: given.charmTracing,
      workload_tracing_receivers: given.workloadTracing,
    })
  })

  test.each([
    ['http', false, 3300],
    ['https', true, 3443],
  ])('workers send through the coordinator with %s, gRPC to ports of its own', (scheme, tls, port) => {
    const hostname = 'mimir.cos.svc.cluster.local'
    const endpoints = proxiedEndpoints(routingOf({ ...given, hostname, tls }))
    const origin = `${scheme}://${hostname}:${port}`
    expect(endpoints).toEqual({
      loki_endpoints: { 'loki/0': `${origin}/proxy/loki/loki-0/push`, 'loki/1': `${origin}/proxy/loki/loki-1/push` },
      remote_write_endpoints: [
        { url: expect.stringMatching(`^${origin}/proxy/remote-write/p\\.[0-9a-f]{12}/write$`) },
        { url: expect.stringMatching(`^${origin}/proxy/remote-write/p\\.[0-9a-f]{12}/write$`) },
      ],
      charm_tracing_receivers: { otlp_http: `${origin}/proxy/charm-tracing/otlp_http/`, otlp_grpc: `${hostname}:3302` },
      workload_tracing_receivers: {
        zipkin: `${origin}/proxy/workload-tracing/zipkin/`,
        jaeger_grpc: `${hostname}:3301`,
      },
    })
  })

  test('workers send to a coordinator that has an address of IPv6', () => {
    expect(proxiedEndpoints(routingOf({ logging: given.logging, hostname: 'fd00::1' })).loki_endpoints['loki/0']).toBe(
      'http://[fd00::1]:3300/proxy/loki/loki-0/push',
    )
  })

  test('workers send to names of properties that every object has', () => {
    const tracing = JSON.parse('{ "__proto__": "http://t", "constructor": "http://t" }')
    expect(Object.keys(directEndpoints({ ...given, charmTracing: tracing }).charm_tracing_receivers)).toEqual([
      '__proto__',
      'constructor',
    ])
    expect(proxiedEndpoints(routingOf({ charmTracing: tracing })).charm_tracing_receivers).toEqual({
      constructor: `${ORIGIN}/proxy/charm-tracing/constructor/`,
    })
  })
})

describe('where nginx listens', () => {
  const grpc = { charmTracing: { otlp_grpc: 'h:1' }, workloadTracing: { otlp_grpc: 'h:1' } }

  test.each<[string, Partial<Routing>, string[]]>([
    ['HTTP', {}, ['3300']],
    ['HTTP and gRPC', grpc, ['3300', '3301 http2', '3302 http2']],
    ['TLS', { ...grpc, tls: true }, ['3443 ssl', '3301 ssl http2', '3302 ssl http2']],
    [
      'TLS at the next port',
      { ...grpc, ports: { httpPort: 3300, httpsPort: 3301 } },
      ['3300', '3302 http2', '3303 http2'],
    ],
    ['a given port', { ...grpc, ports: { httpPort: 1, httpsPort: 2, grpcPort: 7 } }, ['1', '7 http2', '8 http2']],
    ['IPv6', { ipv6: true }, ['3300', '[::]:3300']],
    ['DNS over IPv6', { resolver: 'fd00::10' }, ['3300', '[::]:3300']],
    ['DNS over IPv6, and no other', { resolver: 'fd00::10', ipv6: false }, ['3300']],
  ])('%s', (_, overrides, addresses) => {
    expect(found('listen', overrides)).toEqual(addresses.map((address) => `listen ${address}`))
  })

  test.each<[string, boolean | undefined, string]>([
    ['10.0.0.1', undefined, '10.0.0.1 ipv6=off'],
    ['10.0.0.1:5353', true, '10.0.0.1:5353'],
    ['fd00::10', undefined, '[fd00::10]'],
    ['[fd00::10]:5353', undefined, '[fd00::10]:5353'],
    ['fd00::10', false, '[fd00::10] ipv6=off'],
  ])('names are looked up at %s, with IPv6 %s', (resolver, ipv6, parameters) => {
    const overrides = ipv6 === undefined ? { resolver } : { resolver, ipv6 }
    expect(found('resolver', overrides)).toEqual([`resolver ${parameters}`])
  })

  test('every server knows what it is for and nothing else', () => {
    expect(found('location', grpc).filter((line) => line === 'location /').length).toBe(3)
  })

  test('without workers and backends there are health and status', () => {
    expect(nginxConfiguration(routingOf()).problems).toEqual([])
    expect(found('location', {})).toEqual(['location = /', 'location = /status', 'location ^~ /proxy/', 'location /'])
  })
})

test('what holds for all backends and clients', () => {
  const lines = linesOf(nginxConfiguration(routingOf({ tls: true })).text)
  const modules = ['proxy', 'grpc'].flatMap((module) => [
    `${module}_connect_timeout 5s`,
    `${module}_read_timeout 300s`,
    `${module}_ssl_protocols TLSv1.2 TLSv1.3`,
  ])
  const clients = [
    'default_type text/plain',
    'ssl_protocols TLSv1.2 TLSv1.3',
    'ssl_ciphers HIGH:!aNULL:!MD5',
    'resolver_timeout 5s',
  ]
  expect(lines).toEqual(expect.arrayContaining([...modules, ...clients]))
})

test('whatever the order of all lists and records, the file, the problems and the endpoints are the same', () => {
  const shuffled = <T>(items: readonly T[]) => fc.shuffledSubarray([...items], { minLength: items.length })
  const shuffledRecord = (record: Readonly<Record<string, string>>) =>
    shuffled(Object.entries(record)).map(Object.fromEntries)
  const pairs = routing.chain((given) =>
    fc
      .record({
        workers: shuffled(given.workers),
        logging: shuffled(given.logging),
        remoteWrite: shuffled(given.remoteWrite),
        charmTracing: shuffledRecord(given.charmTracing),
        workloadTracing: shuffledRecord(given.workloadTracing),
      })
      .map((lists) => [given, { ...given, ...lists }] as const),
  )
  fc.assert(
    fc.property(pairs, ([given, reordered]) => {
      expect(nginxConfiguration(reordered)).toEqual(nginxConfiguration(given))
      for (const endpoints of [proxiedEndpoints, directEndpoints])
        expect(JSON.stringify(endpoints(reordered))).toBe(JSON.stringify(endpoints(given)))
    }),
  )
})

/** `= /proxy/loki/loki-0/push`: the locations of telemetry in a file, in order. */
const proxied = (text: string): string[] =>
  linesOf(text)
    .filter((line) => /^location (= |\^~ )?\/proxy\/./.test(line))
    .map((line) => line.replace(/^location (\^~ )?/, ''))
    .toSorted()

/** Paths of remote write without a hash are served, and told to nobody. */
const isFormer = (path: string): boolean => /^\/proxy\/remote-write\/[^.]+\/write$/.test(path)

test('each URL that workers get is of a location, and each location but those of metrics is of such a URL', () => {
  fc.assert(
    fc.property(routing, (given) => {
      const endpoints = proxiedEndpoints(given)
      const receivers = [endpoints.charm_tracing_receivers, endpoints.workload_tracing_receivers].flatMap(Object.values)
      const urls = [
        ...Object.values(endpoints.loki_endpoints),
        ...endpoints.remote_write_endpoints.map(({ url }) => url),
        ...receivers.filter((receiver) => receiver.includes('/')),
      ]
      const { text } = nginxConfiguration(given)
      const paths = proxied(text).map((location) => location.replace('= ', ''))
      expect(paths.filter((path) => !path.startsWith('/proxy/worker/') && !isFormer(path)).toSorted()).toEqual(
        urls.map((url) => new URL(url).pathname).toSorted(),
      )
      const ports = receivers.filter((receiver) => !receiver.includes('/')).map((receiver) => receiver.split(':')[1])
      expect(linesOf(text).flatMap((line) => /^listen (\d+).* http2$/.exec(line)?.[1] ?? [])).toEqual(
        [...new Set(ports)].toSorted(),
      )
    }),
  )
})

test('500 workers: all that is published fits', () => {
  const topology = Array.from({ length: 500 }, (_, number) => ({
    application: 'an-application-with-a-long-name',
    unit: `an-application-with-a-long-name/${number}`,
    charm_name: 'mimir-worker-k8s',
    address: `an-application-with-a-long-name-${number}.an-application-with-a-long-name-endpoints.observability.svc.cluster.local`,
  }))
  const given = routingOf({ workers: topology, tls: true, hostname: 'mimir.observability.svc.cluster.local' })
  const { text, problems } = nginxConfiguration(given)
  const modelUuid = 'b1a7e9a4-6c3c-4a0e-8d5f-0f4c6f2d9a11'
  const coordinator = { model: 'observability', modelUuid, application: 'mimir', charm: 'mimir-coordinator-k8s' }
  const request = {
    routing: given,
    topology,
    coordinator,
    coordinatorUnits: [{ unit: 'mimir/0', hostname: 'mimir-0' }],
  }
  const { jobs } = scrapeJobs({ ...request, proxied: true, nginxExporterPort: 9113 })
  expect(problems).toEqual([])
  expect(proxied(text).length).toBe(500)
  expect(jobs.length).toBe(501)
  const sizes = [text, JSON.stringify(jobs), JSON.stringify(proxiedEndpoints(given))].map((part) =>
    Buffer.byteLength(part),
  )
  const kibibytes = sizes.map((size) => Math.ceil(size / 1024))
  process.stdout.write(`telemetry of 500 workers: nginx.conf ${kibibytes[0]} KiB, scrape jobs ${kibibytes[1]} KiB\n`)
  expect(sizes.reduce((sum, size) => sum + size)).toBeLessThan(900 * 1024)
})

test('paths and URLs are those of the charm library', () => {
  const { telemetry } = charmLibrary()
  const given = routingOf({
    hostname: 'tempo.cos.svc.cluster.local',
    ports: { httpPort: telemetry.proxyPort, httpsPort: 443 },
    workers: telemetry.topology,
    workerMetricsPort: telemetry.workerMetricsPort,
    logging: Object.entries(telemetry.loki).map(([unit, url]) => ({ unit, url })),
    remoteWrite: telemetry.remoteWrite,
    charmTracing: telemetry.charmTracing,
    workloadTracing: telemetry.workloadTracing,
  })
  expect(proxiedEndpoints(given)).toEqual({
    loki_endpoints: telemetry.proxied.loki,
    remote_write_endpoints: telemetry.proxied.remoteWrite.map(({ url }) => ({
      url: expect.stringMatching(`^${url.replace(/\/write$/, '\\.[0-9a-f]{12}/write')}$`),
    })),
    charm_tracing_receivers: telemetry.proxied.charmTracing,
    workload_tracing_receivers: telemetry.proxied.workloadTracing,
  })
  // each backend of remote write has a path that depends on its URL alone besides
  const paths = proxied(nginxConfiguration(given).text).filter((path) => !/\.[0-9a-f]{12}\/write$/.test(path))
  expect(paths).toEqual(telemetry.paths)
})
