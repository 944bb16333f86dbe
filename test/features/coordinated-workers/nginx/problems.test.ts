import { describe, expect, test } from 'vitest'
import { proxiedEndpoints } from '../../../../src/features/coordinated-workers/nginx/routing.ts'
import { found, problemsOf, routingOf } from './routing.ts'

const ORIGIN = 'http://127.0.0.1:3300'
const LOKI = 'http://loki-0.loki-endpoints.cos.svc.cluster.local:3100/loki/api/v1/push'
const TEMPO = 'http://tempo.cos.svc.cluster.local'

describe('what cannot be routed is named, and nothing else goes without', () => {
  const long = `http://h/${'$'.repeat(500)}`

  test.each<[string, string]>([
    ['', 'expected a URL of http or https, got ""'],
    ['ftp://h/push', 'expected a URL of http or https, got "ftp://h/push"'],
    ['http:h/push', 'expected a URL of http or https, got "http:h/push"'],
    ['//h/push', 'expected a URL of http or https, got "//h/push"'],
    ['http://', 'expected a URL of http or https, got "http://"'],
    ['http://h/a b', 'expected a URL of http or https, got "http://h/a b"'],
    ['http://h/a\nb', 'expected a URL of http or https, got "http://h/a\\nb"'],
    ['http://h/a\0b', 'expected a URL of http or https, got "http://h/a\\u0000b"'],
    ['http://h:65536/', 'expected a URL of http or https, got "http://h:65536/"'],
    ['http://1.2.3.999/', 'expected a URL of http or https, got "http://1.2.3.999/"'],
    ['http://h:0/', 'expected a port from 1 to 65535 in the URL, got "http://h:0/"'],
    ['http://h;}/', 'expected a DNS name or an IP address in the URL, got "http://h;}/"'],
    ['http://$host/', 'expected a DNS name or an IP address in the URL, got "http://$host/"'],
    ['http://_/', 'expected a DNS name or an IP address in the URL, got "http://_/"'],
    ['http://user:password@h/p', 'expected a URL without user and password, got "http://…@h/p"'],
    ['ftp://user:p?ss@word@h/p', 'expected a URL of http or https, got "ftp://…@h/p"'],
    ['http:\\\\:pass@word@h/p', 'expected a URL of http or https, got "…@h/p"'],
    ['ftp://h/p?token=secret', 'expected a URL of http or https, got "ftp://h/p"'],
    [long, `expected a shorter URL, got "http://h/${'$'.repeat(51)}…"`],
  ])('logging to %j', (url, problem) => {
    const logging = [
      { unit: 'loki/0', url },
      { unit: 'loki/1', url: LOKI },
    ]
    expect(problemsOf({ logging })).toEqual([`logging "loki/0": ${problem}`])
    expect(proxiedEndpoints(routingOf({ logging })).loki_endpoints).toEqual({
      'loki/1': `${ORIGIN}/proxy/loki/loki-1/push`,
    })
    expect(problemsOf({ remoteWrite: [{ url }, { url: LOKI }] })).toEqual([`remote write: ${problem}`])
    expect(problemsOf({ charmTracing: { zipkin: url, otlp_http: LOKI } })).toEqual([
      `charm tracing "zipkin": ${problem}`,
    ])
  })

  test.each([
    '',
    'loki',
    'loki/',
    '/0',
    'loki/0/1',
    'loki/x',
    'Loki/0',
    'lo ki/0',
    'loki/0;',
    '../0',
    'loki/0\n',
    `${'x'.repeat(64)}/0`,
  ])('the unit %j', (unit) => {
    const logging = [
      { unit, url: LOKI },
      { unit: 'loki/1', url: LOKI },
    ]
    expect(problemsOf({ logging })).toEqual([
      expect.stringMatching(/^logging ".*": expected a unit, \{application\}\/\{number\}$/),
    ])
    expect(proxiedEndpoints(routingOf({ logging })).loki_endpoints).toHaveProperty(['loki/1'])
  })

  test.each(['', 'a/b', '..', '.', 'otlp http', 'otlp;', 'Zipkin', '$host', 'x'.repeat(64)])(
    'the protocol %j',
    (protocol) => {
      expect(problemsOf({ workloadTracing: { [protocol]: TEMPO } })).toEqual([
        expect.stringMatching(
          /^workload tracing ".*": expected a protocol of at most 63 lower-case letters, digits, dots, hyphens and underscores$/,
        ),
      ])
    },
  )

  test('traces to a URL with a query', () => {
    expect(problemsOf({ charmTracing: { otlp_http: 'http://h/a?b=c' } })).toEqual([
      'charm tracing "otlp_http": expected a URL without a query, got "http://h/a"',
    ])
  })

  test.each([
    ['', ''],
    ['h:4317/path', 'h:4317/path'],
    ['h:4317?a=b', 'h:4317'],
    ['ftp://h:4317', 'ftp://h:4317'],
    ['h;:4317', 'h;:4317'],
    ['user:password@h:4317', '…@h:4317'],
  ])('traces over gRPC to %j', (url, shown) => {
    expect(problemsOf({ charmTracing: { otlp_grpc: url } })).toEqual([
      `charm tracing "otlp_grpc": expected host:port, or a URL of gRPC without user, path and query, got "${shown}"`,
    ])
  })

  test.each([
    ['HTTP', { httpPort: 80, httpsPort: 443, grpcPort: 80 }, false, 'workload tracing', 80],
    ['HTTP, to charms', { httpPort: 80, httpsPort: 443, grpcPort: 79 }, false, 'charm tracing', 80],
    ['HTTPS', { httpPort: 80, httpsPort: 443, grpcPort: 443 }, true, 'workload tracing', 443],
    ['nothing', { httpPort: 65534, httpsPort: 443 }, false, 'charm tracing', 65536],
  ])('gRPC on the port of %s', (_, ports, tls, what, port) => {
    const overrides = { ports, tls, charmTracing: { otlp_grpc: 'h:1' }, workloadTracing: { otlp_grpc: 'h:1' } }
    expect(problemsOf(overrides)).toEqual([
      `${what} "otlp_grpc": expected a port for gRPC (ports.grpcPort) that is free and at most 65535, got ${port}`,
    ])
    expect(found('server', overrides).length).toBe(2)
  })

  test.each(['', 'dns', '10.0.0.1;', '10.0.0.1:0', '10.0.0.1:65536', '10.0.0.1:', 'fe80::1%eth0', '[fd00::1', 'a:53'])(
    'the resolver %j',
    (resolver) => {
      expect(problemsOf({ resolver })).toEqual([`resolver: expected an IP address, got ${JSON.stringify(resolver)}`])
      expect(found('resolver', { resolver })).toEqual([])
    },
  )

  test('two addresses of one unit, and two URLs', () => {
    const workers = ['10.0.0.2', '10.0.0.1', '10.0.0.1'].map((address) => ({ unit: 'worker/0', address }))
    const logging = ['http://b/', 'http://a/'].map((url) => ({ unit: 'loki/0', url }))
    expect(problemsOf({ workers, logging })).toEqual([
      'logging "loki/0": expected one backend only, got "http://b/"',
      'worker "worker/0": expected one backend only, got "http://10.0.0.2:8080/metrics"',
    ])
    expect(found('proxy_pass', { workers, logging })).toEqual([
      'proxy_pass http://10.0.0.1:8080/metrics$is_args$args',
      'proxy_pass http://a/$is_args$args',
    ])
  })
})
