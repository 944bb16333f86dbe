import { readFileSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { parse as parseYaml } from 'yaml'
import type { Location, Server } from '../../../../src/features/coordinated-workers/gateway-config.ts'
import type { GatewayInput } from '../../../../src/features/coordinated-workers/nginx/gateway.ts'
import { nginxConfiguration } from '../../../../src/features/coordinated-workers/nginx/routing.ts'
import { features } from '../../../../src/features.ts'
import { least, runs } from '../../../helpers/runs.ts'
import { hasOpenssl } from '../../../process/https-server.ts'
import { type Backend, startGrpcBackend, startHttpBackend } from './backends.ts'
import { type Certificate, makeCertificate } from './certificate.ts'
import { arrived, call, send } from './clients.ts'
import { type Dns, startDns } from './dns.ts'
import { freePorts, nginxDirectory, objection, serveFile } from './nginx.ts'
import { linesOf } from './nginx-file.ts'
import { nginxProgram } from './nginx-program.ts'
import { routingOf } from './routing.ts'

const coordinatorOf = (name: string) => {
  const { data } = parseYaml(readFileSync(new URL(`../../../../docs/examples/${name}.yaml`, import.meta.url), 'utf8'))
  const { coordinator } = features.config.parse(parseYaml(data.config))
  if (!coordinator?.nginx || !coordinator.telemetryProxy) throw new Error(`${name}: no coordinator with an API`)
  return { ...coordinator, nginx: coordinator.nginx, ports: coordinator.telemetryProxy }
}

type Unit = GatewayInput['units'][number]

const unitOf = (application: string, number: number, roles: readonly string[]): Unit => ({
  application,
  unit: `${application}/${number}`,
  address: `${application}-${number}.${application}-endpoints.cos.svc.cluster.local`,
  roles,
})

const inputOf = (overrides: Partial<GatewayInput> = {}): GatewayInput => ({
  gateway: {
    upstreams: { read: { port: 3100 } },
    servers: [{ port: 80, locations: [{ path: '/', upstream: 'read' }] }],
  },
  units: [unitOf('reader', 0, ['read'])],
  metaRoles: {},
  tls: false,
  verified: false,
  ...overrides,
})

const linesFor = (overrides: Partial<GatewayInput>, isProxied = false): string[] =>
  linesOf(nginxConfiguration(routingOf({ gateway: inputOf(overrides), isProxied })).text)

const passes = (overrides: Partial<GatewayInput>): string[] =>
  linesFor(overrides).filter((line) => /^(set \$backend|proxy_pass|return 503|[\d.]+% |\* )/.test(line))

describe('an upstream', () => {
  test('an upstream is the workers of its role, by the name that they have together', () => {
    const expected = ['set $backend reader-endpoints.cos.svc.cluster.local:3100', 'proxy_pass http://$backend']
    expect(passes({})).toEqual(expected)
    expect(passes({ units: [0, 1, 2].map((number) => unitOf('reader', number, ['read'])) })).toEqual(expected)
  })

  test('an upstream is of several applications each as often as it has units', () => {
    const units = [unitOf('reader', 0, ['read']), unitOf('other', 0, ['read']), unitOf('other', 1, ['read'])]
    expect(passes({ units })).toEqual([
      '66.66% other-endpoints.cos.svc.cluster.local:3100',
      '* reader-endpoints.cos.svc.cluster.local:3100',
      'proxy_pass http://$to_read',
    ])
  })

  test('an upstream is each worker at its address where that has no such name', () => {
    const at = (address: string) => passes({ units: [{ ...unitOf('reader', 0, ['read']), address }] })[0]
    expect(at('10.0.0.1')).toBe('set $backend 10.0.0.1:3100')
    expect(at('fd00::1')).toBe('set $backend [fd00::1]:3100')
    expect(at('reader.example.org')).toBe('set $backend reader.example.org:3100')
  })

  test('an upstream is at the own names of the workers where certificates are verified', () => {
    expect(passes({ tls: true, verified: true })).toEqual([
      'set $backend reader-0.reader-endpoints.cos.svc.cluster.local:3100',
      'proxy_pass https://$backend',
    ])
  })

  test('an upstream without workers answers 503, as one does whose workers have no address', () => {
    expect(passes({ units: [] })).toEqual(['return 503'])
    expect(passes({ units: [unitOf('writer', 0, ['write'])] })).toEqual(['return 503'])
    expect(passes({ units: [{ ...unitOf('reader', 0, ['read']), address: 'a;b' }] })).toEqual(['return 503'])
  })

  test('of a meta role is all that it stands for, and of * all workers', () => {
    const upstreams = (role: string) => ({ read: { port: 1, role } })
    const gateway = (role: string) => ({ ...inputOf().gateway, upstreams: upstreams(role) })
    const units = [unitOf('a', 0, ['read']), unitOf('b', 0, ['write']), unitOf('c', 0, ['other'])]
    const targets = (role: string) =>
      passes({ gateway: gateway(role), units, metaRoles: { both: ['read', 'write'] } }).flatMap(
        (line) => / (\w)-endpoints/.exec(line)?.[1] ?? [],
      )
    expect(targets('both')).toEqual(['a', 'b'])
    expect(targets('*')).toEqual(['a', 'b', 'c'])
  })
})

test('a location may set headers, and keeps the tenant', () => {
  const locations = [{ path: '/', upstream: 'read', websocket: true, headers: { 'X-A': 'a "$host"' } }]
  const gateway = { ...inputOf().gateway, servers: [{ port: 80, locations }] }
  expect(
    linesFor({ gateway })
      .filter((line) => line.startsWith('proxy_set_header'))
      .slice(1),
  ).toEqual([
    'proxy_set_header X-Scope-OrgID $tenant',
    'proxy_set_header Upgrade $http_upgrade',
    'proxy_set_header Connection $connection_upgrade',
    ['proxy_set_header X-A a "$', '{dollar}host"'].join(''),
  ])
})

/** The file of a cluster with a worker for each role, whose upstreams are at `portOf`; 100 are added to each port of its servers. */
const fileOf = (
  name: string,
  first: number,
  options: { tls: boolean; resolver: string; portOf: (role: string, grpc: boolean) => number },
) => {
  const { nginx, roles, metaRoles = {}, ports } = coordinatorOf(name)
  const taken = [...new Set([ports.httpPort, ports.httpsPort, ...nginx.servers.map(({ port }) => port)])]
  const moved = (port: number) => first + taken.indexOf(port)
  const isGrpc = (upstream: string) =>
    nginx.servers.some(({ grpc, locations }) => grpc && locations.some((one) => one.upstream === upstream))
  // the port of the telemetry is shared as it is without TLS and with it
  const main = options.tls ? ports.httpsPort : ports.httpPort
  const shared = (port: number) => moved(port === ports.httpPort ? main : port)
  const gateway = {
    servers: nginx.servers.map((server) => ({ ...server, port: shared(server.port) })),
    upstreams: Object.fromEntries(
      Object.entries(nginx.upstreams).map(([upstream, { role = upstream }]) => [
        upstream,
        { role, port: options.portOf(role, isGrpc(upstream)) },
      ]),
    ),
  }
  const units = roles
    .filter((role) => !Object.hasOwn(metaRoles, role))
    .map((role) => unitOf(`${name}-${role}`, 0, [role]))
  const input = inputOf({ gateway, units, metaRoles, tls: options.tls })
  const routing = routingOf({
    ports: { httpPort: moved(ports.httpPort), httpsPort: moved(ports.httpsPort), grpcPort: first + taken.length },
    tls: options.tls,
    resolver: options.resolver,
    gateway: input,
    workers: units,
  })
  return { file: nginxConfiguration(routing), at: (port: number) => shared(port) }
}

const REQUESTS: [cluster: string, port: number, path: string, role: string][] = [
  ['loki', 3100, '/loki/api/v1/push', 'write'],
  ['loki', 3100, '/otlp/v1/logs', 'write'],
  ['loki', 3100, '/loki/api/v1/query_range?query=%7Ba%3D%22b%22%7D&limit=5', 'read'],
  ['loki', 3100, '/loki/api/v1/label/app/values', 'read'],
  ['loki', 3100, '/loki/api/v1/tail', 'read'],
  ['loki', 3100, '/loki/api/v1/rules/ns/group', 'backend'],
  ['loki', 3100, '/prometheus/api/v1/alerts', 'backend'],
  ['mimir', 8080, '/api/v1/push', 'distributor'],
  ['mimir', 8080, '/distributor/ring', 'distributor'],
  ['mimir', 8080, '/prometheus/api/v1/query?query=up', 'query-frontend'],
  ['mimir', 8080, '/prometheus/api/v1/rules', 'ruler'],
  ['mimir', 8080, '/prometheus/config/v1/rules/ns', 'ruler'],
  ['mimir', 8080, '/alertmanager/api/v2/status', 'alertmanager'],
  ['mimir', 8080, '/store-gateway/ring', 'store-gateway'],
  ['mimir', 8080, '/api/v1/upload/block/01ABC/start', 'compactor'],
  ['tempo', 3200, '/api/traces/1?start=1', 'query-frontend'],
  ['tempo', 4318, '/v1/traces', 'distributor'],
  ['tempo', 9411, '/api/v2/spans', 'distributor'],
  ['tempo', 14268, '/api/traces', 'distributor'],
]

const METHODS: [port: number, method: string, role: string][] = [
  [4317, '/opentelemetry.proto.collector.trace.v1.TraceService/Export', 'distributor'],
  [14250, '/jaeger.api_v2.CollectorService/PostSpans', 'distributor'],
  [9096, '/tempopb.StreamingQuerier/Search', 'query-frontend'],
]

/** One for each role of the requests, by the role and whether it takes gRPC. */
const startBackends = async (certificate: Certificate | undefined): Promise<Map<string, Backend>> => {
  const roles = [...new Set(REQUESTS.map(([, , , role]) => role))]
  const called = [...new Set(METHODS.map(([, , role]) => role))]
  return new Map(
    await Promise.all([
      ...roles.map(async (role) => [`${role} false`, await startHttpBackend(role, { certificate })] as const),
      ...called.map(async (role) => [`${role} true`, await startGrpcBackend(role, { certificate })] as const),
    ]),
  )
}

const CLUSTERS = ['loki', 'mimir', 'tempo'] as const
const TRANSPORTS = [
  { transport: 'without TLS', isTls: false },
  { transport: 'with TLS (skipped without openssl)', isTls: true },
].filter(({ isTls }) => hasOpenssl || !isTls)

describe.skipIf(nginxProgram === undefined)('the API of a cluster, through a real nginx (skipped without one)', () => {
  describe.each(TRANSPORTS)('$transport', ({ isTls }) => {
    let certificate: Certificate | undefined
    let dns: Dns
    let backends: Map<string, Backend>
    beforeAll(async () => {
      certificate = isTls ? await makeCertificate() : undefined
      dns = await startDns((name) => (name.endsWith('-endpoints.cos.svc.cluster.local') ? '127.0.0.1' : undefined))
      backends = await startBackends(certificate)
    })
    afterAll(() => Promise.all([dns, ...backends.values()].map((one) => one.stop())))

    const ask = (origin: string, path: string) => send(`${origin}${path}`, { ca: certificate?.cert })

    test.each(CLUSTERS)('%s passes requests to the workers of the role, as they came', async (cluster) => {
      const portOf = (role: string, grpc: boolean) => backends.get(`${role} ${grpc}`)?.port ?? 1
      const { file, at } = fileOf(cluster, await freePorts(12), { tls: isTls, resolver: dns.resolver, portOf })
      expect(file.problems).toEqual([])
      const requests = REQUESTS.filter(([of]) => of === cluster)
      const nginx = await serveFile(file.text, at(requests[0]?.[1] ?? 0), certificate)
      onTestFinished(nginx.stop)
      const origin = (port: number) => `${isTls ? 'https' : 'http'}://127.0.0.1:${at(port)}`
      const sent = { method: 'POST', body: 'a body', headers: { 'X-Scope-OrgID': 'somebody' }, ca: certificate?.cert }
      for (const [, port, path, role] of requests)
        expect(await arrived(`${origin(port)}${path}`, sent)).toMatchObject({
          at: role,
          url: path,
          body: 'a body',
          tenant: 'somebody',
        })
      const [own = ''] = requests.map(([, port]) => origin(port))
      expect((await ask(own, '/status')).text).toMatch(/^Active connections/)
      const others = { loki: 404, mimir: 404, tempo: 200 }[cluster]
      expect((await ask(own, '/nothing')).status).toBe(others)
    })

    test('Tempo takes gRPC at ports of its own', async () => {
      const portOf = (role: string, grpc: boolean) => backends.get(`${role} ${grpc}`)?.port ?? 1
      const { file, at } = fileOf('tempo', await freePorts(12), { tls: isTls, resolver: dns.resolver, portOf })
      const nginx = await serveFile(file.text, at(4317), certificate)
      onTestFinished(nginx.stop)
      for (const [port, method, role] of METHODS) {
        const answer = await call(`127.0.0.1:${at(port)}`, method, { ca: certificate?.cert })
        expect(JSON.parse(answer.text)).toMatchObject({ at: role, url: method, tenant: 'anonymous' })
      }
    })

    test('a port that takes the telemetry, too, has the paths of both', async () => {
      const portOf = (role: string, grpc: boolean) => backends.get(`${role} ${grpc}`)?.port ?? 1
      const { file, at } = fileOf('mimir', await freePorts(12), { tls: isTls, resolver: dns.resolver, portOf })
      const nginx = await serveFile(file.text, at(8080), certificate)
      onTestFinished(nginx.stop)
      const origin = `${isTls ? 'https' : 'http'}://127.0.0.1:${at(8080)}`
      expect(await ask(origin, '/')).toEqual({ status: 200, text: 'OK' })
      expect((await ask(origin, '/proxy/worker/mimir-ruler-0/metrics')).status).toBe(502)
      expect((await ask(origin, '/proxy/loki/loki-0/push')).status).toBe(503)
    })
  })

  const path = fc.oneof(
    fc.stringMatching(/^\/[-\w.~@:+=,/]{0,12}$/),
    fc.constantFrom('/', '/loki/api/', '/a b', '/;}', '/$host', '/"', '/proxy/x', '/status', "/'"),
  )
  const count = fc.constantFrom('', '*', '+?', '{3}', '{65535}', '{0,1000}', '{2,}', '{65536}', '{70000}')
  const group = fc.tuple(fc.nat({ max: 260 }), fc.constantFrom('', 'a|b', '[ab]', '\\d{9}'), count, count)
  const regex = fc.oneof(
    fc.stringMatching(/^\^\/[-\w.~/*+?|()[\]{}$,\\]{0,12}$/),
    group.map(([depth, inner, first, last]) => `^/${'('.repeat(depth)}${inner})${first}${')'.repeat(depth)}${last}`),
    group.map(([depth, inner, first, last]) => `^/((${inner}${depth % 2 ? '' : first})${first})${last}`),
    fc.tuple(fc.constantFrom('a', '.', '[a-z]', '\\w'), count).map((parts) => `^/${parts.join('')}`),
    fc.constantFrom(
      '^/a(b|c)+$',
      '^/[a-z0-9-]{1,3}/.*',
      '^/\\d+\\.x',
      '^/[',
      '^/a{2,1}',
      '^/a**',
      '^/(',
      '^/[[:x:]]',
      '^/[.a.]',
      '^/(?<a>b)',
      '^/(?<=a)b',
      '^/\\u0061',
      '^/[a--b]',
      '^/\\',
    ),
  )
  const location: fc.Arbitrary<Location> = fc.record(
    {
      path: fc.oneof(path, regex),
      match: fc.constantFrom('prefix' as const, 'exact' as const, 'regex' as const),
      upstream: fc.constantFrom('read', 'write-it'),
      websocket: fc.boolean(),
      headers: fc.dictionary(fc.stringMatching(/^[A-Za-z0-9-]{1,8}$/), fc.stringMatching(/^[ -~]{0,12}$/), {
        maxKeys: 2,
      }),
    },
    { requiredKeys: ['path', 'upstream'] },
  )
  const server: fc.Arbitrary<Server> = fc.record(
    {
      port: fc.constantFrom(3100, 3300, 3200, 9095),
      grpc: fc.boolean(),
      tls: fc.boolean(),
      locations: fc.array(location, { minLength: 1, maxLength: 4 }),
    },
    { requiredKeys: ['port', 'locations'] },
  )

  test('nginx takes every file of a config that is accepted', async () => {
    const directory = await nginxDirectory(hasOpenssl ? await makeCertificate() : undefined)
    onTestFinished(() => rm(directory, { recursive: true }))
    let accepted = 0
    await fc.assert(
      fc.asyncProperty(fc.array(server, { minLength: 1, maxLength: 3 }), fc.boolean(), async (servers, isTls) => {
        const tls = isTls && hasOpenssl
        const upstreams = { read: { port: 3100 }, 'write-it': { role: '*', port: 3101 } }
        const telemetryProxy = { httpPort: 3300, httpsPort: 3300 }
        const config = features.givenConfig.safeParse({
          coordinator: { roles: ['read'], tls, telemetryProxy, nginx: { upstreams, servers } },
        })
        fc.pre(config.success)
        accepted += 1
        const gateway = inputOf({
          gateway: { upstreams, servers },
          tls,
          units: [unitOf('a', 0, ['read']), unitOf('b', 0, ['read'])],
        })
        const routing = routingOf({ tls, ports: telemetryProxy, gateway, charmTracing: { otlp_http: 'http://h/' } })
        expect(await objection(directory, nginxConfiguration(routing).text)).toBeUndefined()
      }),
      { numRuns: runs(80) },
    )
    expect(accepted).toBeGreaterThan(least(20))
  })
})
