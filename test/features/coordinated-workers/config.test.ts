import { describe, expect, test } from 'vitest'
import { CoordinatorConfig, WorkerConfig } from '../../../src/features/coordinated-workers/config.ts'
import {
  clusterPorts,
  endpointNames,
  isTls,
  selectWorkerPorts,
} from '../../../src/features/coordinated-workers/settings.ts'
import { features } from '../../../src/features.ts'
import { issuesOf } from '../service-mesh/issues.ts'
import { configWith } from './samples.ts'

describe('roles that do not fit together', () => {
  const PREFIX = 'Invalid ClusterRolesConfig: '
  test.each([
    [
      'a meta role that is no role',
      { roles: ['write', 'read'], metaRoles: { all: ['read'] } },
      "The meta keys ['all'] are not a subset of ['read', 'write'].",
    ],
    [
      'a meta role for roles that are none',
      { roles: ['all', 'read'], metaRoles: { all: ['write', 'read', 'backend'], read: ['write'] } },
      "The meta values ['backend', 'read', 'write'] are not a subset of ['all', 'read'].",
    ],
    [
      'a deployment of roles that are none',
      { roles: ['read'], minimalDeployment: ['I AM NOT A SUBSET OF ROLES'] },
      "The minimal deployment ['I AM NOT A SUBSET OF ROLES'] is not a subset of ['read'].",
    ],
    [
      'all of these',
      { roles: [], metaRoles: { all: ['read'] }, minimalDeployment: ['write'] },
      "The meta keys ['all'] are not a subset of [].,\nThe meta values ['read'] are not a subset of [].,\nThe minimal deployment ['write'] is not a subset of [].",
    ],
  ])('%s', (_, config, message) => {
    expect(issuesOf(CoordinatorConfig, config)).toEqual([{ path: [], message: `${PREFIX}${message}` }])
  })
})

describe('what is not a config', () => {
  test.each([
    ['an unknown key', { role: 'read' }, [], /Unrecognized key/],
    ['no role', { roles: [''] }, ['roles', 0], /^expected a role/],
    ['two roles in one', { roles: ['read,write'] }, ['roles', 0], /^expected a role/],
    ['a port', { workerMetricsPort: 0 }, ['workerMetricsPort'], /^expected a port/],
    ['half a proxy', { telemetryProxy: { httpPort: 80 } }, ['telemetryProxy', 'httpsPort'], /^expected a port/],
    ['half of TLS', { tls: { caCert: 'x' } }, ['tls'], /^expected true, false, a secret, or caCert, serverCert and/],
    ['a number as config', { workerConfig: 5 }, ['workerConfig'], /^expected text or an object/],
    [
      'ports of another role',
      { workerPorts: { backend: [1] } },
      ['workerPorts', 'backend'],
      /one of the roles \['all', /,
    ],
    ['only the needed ports, none named', { leastPrivilege: true }, ['leastPrivilege'], /^expected workerPorts/],
    [
      'some endpoints of the mesh',
      { endpoints: { serviceMesh: 'mesh' } },
      ['endpoints'],
      /^If any of 'service-mesh', 'service-mesh-provide-cmr-mesh' or 'service-mesh-require-cmr-mesh' endpoints are provided, all of them must be\.$/,
    ],
  ])('%s', (_, changes, path, message) => {
    const config = { roles: ['all', 'read'], ...changes }
    expect(issuesOf(CoordinatorConfig, config)).toEqual([{ path, message: expect.stringMatching(message) }])
  })

  test.each([
    ['a count', { units: { read: { minimum: -1 } } }, ['units', 'read', 'minimum'], /^expected a number of units/],
    ['counts in no order', { units: { read: { minimum: 3, recommended: 2 } } }, ['units', 'read'], /ascending order/],
    ['counts of another role', { units: { backend: {} } }, ['units', 'backend'], /one of the roles \['all', /],
    ['a domain', { clusterDomain: 'a..b' }, ['clusterDomain'], /^expected a DNS name/],
    [
      'a port of gRPC that TLS has',
      { telemetryProxy: { httpPort: 3300, httpsPort: 3302, grpcPort: 3301 } },
      ['telemetryProxy', 'grpcPort'],
      /neither httpPort nor httpsPort, as 3303 would be$/,
    ],
    ['an id of a model', { modelUuid: 'x' }, ['modelUuid'], /UUID/],
    [
      'a rule without an expression',
      { alertRules: { workers: { metrics: [{ name: 'x', rules: [{ alert: 'x' }] }] } } },
      ['alertRules', 'workers', 'metrics', 0, 'rules', 0],
      /^expected a rule/,
    ],
  ])('%s', (_, changes, path, message) => {
    expect(issuesOf(CoordinatorConfig, { roles: ['all', 'read'], ...changes })).toEqual([
      { path, message: expect.stringMatching(message) },
    ])
  })

  describe('of an API', () => {
    const location = { path: '/api', upstream: 'read' }
    const api = (server: object, upstreams: object = { read: { port: 1 } }) => ({
      roles: ['read'],
      telemetryProxy: { httpPort: 80, httpsPort: 443 },
      nginx: { upstreams, servers: [{ port: 3100, locations: [location], ...server }] },
    })
    const SERVER = ['nginx', 'servers', 0]
    const PATH = [...SERVER, 'locations', 0, 'path']

    test.each([
      [
        'a role',
        api({}, { read: { port: 1 }, b: { port: 1 } }),
        ['nginx', 'upstreams', 'b', 'role'],
        /roles read, or \*$/,
      ],
      ['no upstream', api({}, {}), [...SERVER, 'locations', 0, 'upstream'], /name of an upstream/],
      ['TLS of its own', api({ tls: true }), [...SERVER, 'tls'], /tls of the coordinator/],
      ['gRPC at the port of the telemetry', api({ port: 80, grpc: true }), SERVER, /^expected no gRPC/],
      ['the port of gRPC tracing', api({ port: 81 }), [...SERVER, 'port'], /^expected a port that neither/],
      ['the port of the exporter', api({ port: 9113 }), [...SERVER, 'port'], /^expected a port that neither/],
      ['a path', api({ locations: [{ ...location, path: 'x' }] }), PATH, /^expected a path: a slash/],
      ['a path that ends the block', api({ locations: [{ ...location, path: '/;}' }] }), PATH, /^expected a path/],
      ['the status', api({ locations: [{ ...location, path: '/status' }] }), PATH, /^expected another path/],
      ['the telemetry', api({ port: 80, locations: [{ ...location, path: '/proxy' }] }), PATH, /^expected another/],
      [
        'a regular expression that PCRE reads in another way',
        api({ locations: [{ ...location, match: 'regex', path: '^/(?i)a' }] }),
        PATH,
        /^expected a regular expression/,
      ],
    ])('%s', (_, config, path, message) => {
      expect(issuesOf(CoordinatorConfig, config)).toEqual([{ path, message: expect.stringMatching(message) }])
    })

    const byExpression = (path: string) => api({ locations: [{ ...location, match: 'regex', path }] })

    test.each([
      ['counts higher than PCRE does', '^/a{70000}'],
      ['counts higher than PCRE does at the end of a range', '^/a{1,65536}'],
      ['has more groups within each other than PCRE has', `^/${'('.repeat(251)}a${')'.repeat(251)}`],
      ['is too large for PCRE once its group is repeated', '^/(abcdefgh){10000}'],
      ['is too large for PCRE by groups that are repeated within each other', '^/((ab){200}){200}'],
    ])('a regular expression that %s is refused, and one that is remembered stays readable', (_, path) => {
      const message = expect.stringMatching(
        /^expected a regular expression that PCRE compiles: counts of at most 65535/,
      )
      expect(issuesOf(features.givenConfig, { coordinator: byExpression(path) })).toEqual([
        { path: ['coordinator', ...PATH], message },
      ])
      expect(issuesOf(features.config, { coordinator: byExpression(path) })).toBe('accepted')
    })

    test.each(['(?<a>b)', '(?<=a)b', '\\u0061', '\\p{L}', '[a--b]', '[.a.]', '(a)\\1', '\\bx'])(
      'a regular expression that PCRE does not read as JavaScript does is refused: %s',
      (part) => {
        const message = expect.stringMatching(/^expected a regular expression of a path/)
        expect(issuesOf(CoordinatorConfig, byExpression(`^/${part}`))).toEqual([{ path: PATH, message }])
      },
    )

    test.each([
      '^/a{65535}',
      '^/[a-z]{1,65535}',
      `^/${'('.repeat(250)}a${')'.repeat(250)}`,
      '^/(abc|d){500}$',
      '^/v\\d+/([a-z0-9-]{1,63}/){0,8}x',
    ])('a regular expression that PCRE compiles is taken: %s', (path) => {
      expect(issuesOf(features.givenConfig, { coordinator: byExpression(path) })).toBe('accepted')
    })

    test('a path and a port that are there twice', () => {
      const config = api({ locations: [location, location] })
      expect(issuesOf(CoordinatorConfig, config)).toMatchObject([{ path: [...SERVER, 'locations', 1, 'path'] }])
      const { servers } = api({}).nginx
      const twice = { ...api({}), nginx: { upstreams: { read: { port: 1 } }, servers: [...servers, ...servers] } }
      expect(issuesOf(CoordinatorConfig, twice)).toMatchObject([{ path: ['nginx', 'servers', 1, 'port'] }])
    })
  })

  test('of a worker', () => {
    expect(issuesOf(WorkerConfig, { roles: ['a,b'] })).toMatchObject([{ path: ['roles', 0] }])
    expect(issuesOf(WorkerConfig, { roles: [], metaRoles: {} })).toMatchObject([{ path: [] }])
    expect(issuesOf(WorkerConfig, { roles: [] })).toBe('accepted')
  })
})

test('a config is stored as it was written, without defaults', () => {
  const config = { roles: ['read'], endpoints: {} }
  expect(CoordinatorConfig.parse(config)).toEqual(config)
})

describe('what follows from it', () => {
  test('defaults', () => {
    const config = CoordinatorConfig.parse({ roles: [] })
    expect(clusterPorts(config)).toEqual({ workerMetrics: 8080, nginxExporter: 9113, proxy: undefined, grpc: [] })
    expect(endpointNames(config)).toEqual({
      cluster: undefined,
      metrics: 'metrics-endpoint',
      logging: 'logging',
      remoteWrite: 'send-remote-write',
      charmTracing: 'charm-tracing',
      workloadTracing: 'workload-tracing',
      certificates: 'receive-ca-cert',
      serviceMesh: 'service-mesh',
      serviceMeshProvideCmrMesh: 'provide-cmr-mesh',
      serviceMeshRequireCmrMesh: 'require-cmr-mesh',
    })
  })

  test('the endpoints of a cluster have the names that are given', () => {
    const endpoints = {
      cluster: 'a',
      metrics: 'b',
      logging: 'c',
      remoteWrite: 'd',
      charmTracing: 'e',
      workloadTracing: 'f',
      certificates: 'j',
      serviceMesh: 'g',
      serviceMeshProvideCmrMesh: 'h',
      serviceMeshRequireCmrMesh: 'i',
    }
    expect(endpointNames(configWith({ endpoints }))).toEqual(endpoints)
  })

  test.each([
    [undefined, false, 3300],
    [false, false, 3300],
    [true, true, 3301],
    [{ caCert: 'ca', serverCert: 'cert', privkeySecretId: 'secret:1' }, true, 3301],
  ])('TLS %j decides where the proxy listens', (tls, expected, proxy) => {
    const config = configWith({ tls, workerMetricsPort: 3200, nginxExporterPort: 9114 })
    expect(isTls(config)).toBe(expected)
    expect(clusterPorts(config)).toEqual({ workerMetrics: 3200, nginxExporter: 9114, proxy, grpc: [3302, 3303] })
  })

  test.each([
    [undefined, ['read'], undefined],
    [[9095, 80, 80], [], [80, 9095]],
    [{ read: [9095], write: [80, 9095], all: [1] }, ['write', 'read'], [80, 9095]],
    [{ read: [9095] }, ['write', 'constructor'], []],
  ])('of the ports %j roles %j open %j', (workerPorts, roles, ports) => {
    expect(selectWorkerPorts(configWith({ workerPorts }), roles)).toEqual(ports)
  })
})
