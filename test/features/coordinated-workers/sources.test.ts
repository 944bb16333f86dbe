import { describe, expect, test } from 'vitest'
import type { Databag, Relation } from '../../../src/core/state/relation.ts'
import { readSources, tracingRequests } from '../../../src/features/coordinated-workers/sources.ts'
import { byId, CONFIG, configWith, provider } from './samples.ts'

const sources = (relations: readonly Relation[], changes: object = {}) =>
  readSources(byId(...relations), configWith(changes))

const NOTHING = { logging: [], remoteWrite: [], charmTracing: {}, workloadTracing: {}, problems: [] }

const receiver = (name: unknown, url: unknown, type: unknown = 'http') => ({ protocol: { name, type }, url })
const tracing = (id: number, endpoint: string, receivers: unknown): Relation =>
  provider(id, endpoint, {}, { receivers })

describe('what cannot be read is named, and the rest is used', () => {
  const good: Databag = { endpoint: '{"url": "http://loki-1:3100/loki/api/v1/push"}' }

  test.each([
    ['broken JSON', '{"url": ', /^expected an object with a URL, got "\{/],
    ['a bare URL', 'http://loki-0:3100', /^expected an object with a URL, got "http:/],
    ['no URL', '{}', /^expected an http or https URL of at most 2048 characters, got nothing$/],
    ['another scheme', { url: 'file:///etc/passwd' }, /^expected an http or https URL/],
    ['no host', { url: 'http://' }, /^expected an http or https URL/],
    ['what nginx would read', { url: 'http://loki/;}\nserver{' }, /^expected an http or https URL/],
    ['no end', { url: `http://loki/${'x'.repeat(3000)}` }, /^expected an http or https URL .*…"$/],
  ])('logging: %s', (_, endpoint, problem) => {
    const result = sources([provider(7, 'logging', { 'loki/0': { endpoint }, 'loki/1': good })])
    expect(result.logging).toEqual([{ unit: 'loki/1', url: 'http://loki-1:3100/loki/api/v1/push' }])
    expect(result.problems).toEqual([expect.stringMatching(/^relation 7 \(logging\): loki\/0\.endpoint/)])
    expect(result.problems[0]?.replace(/^.*?endpoint(\.url)?: /, '')).toMatch(problem)
  })

  test('remote write', () => {
    const units = {
      'prometheus/0': { remote_write: '[]' },
      'prometheus/1': { remote_write: { url: 'https://p/write' } },
    }
    expect(sources([provider(7, 'send-remote-write', units)])).toEqual({
      ...NOTHING,
      remoteWrite: [{ url: 'https://p/write' }],
      problems: ['relation 7 (send-remote-write): prometheus/0.remote_write: expected an object with a URL, got []'],
    })
  })

  test.each([
    ['a number', 5, 'receivers[0]: expected a receiver: an object, got 5'],
    ['no protocol', { url: 'http://t:4318' }, 'receivers[0].protocol: expected a protocol: an object, got nothing'],
    [
      'a name for a path in nginx',
      receiver('../x', 'http://t:4318'),
      'receivers[0].protocol.name: expected a protocol: at most 63 lower-case letters, digits and underscores, got "../x"',
    ],
    [
      'a name that every object has',
      receiver('__proto__', 'http://t'),
      'receivers[0].protocol.name: expected a protocol',
    ],
    [
      'another transport',
      receiver('otlp_http', 'http://t', 'udp'),
      'receivers[0].protocol.type: expected http or grpc',
    ],
    ['no URL', receiver('otlp_http', 'tempo:4318'), 'receivers[0].url: expected an http or https URL'],
    ['no URL for gRPC', receiver('otlp_grpc', 'tempo', 'grpc'), 'receivers[0].url: expected an http or https URL'],
  ])('tracing: %s', (_, bad, problem) => {
    const result = sources([tracing(7, 'workload-tracing', [bad, receiver('zipkin', 'http://t:9411')])])
    expect(result.workloadTracing).toEqual({ zipkin: 'http://t:9411' })
    expect(result.problems).toEqual([expect.stringContaining(`relation 7 (workload-tracing): data.${problem}`)])
  })

  test('tracing: no list', () => {
    expect(sources([tracing(7, 'charm-tracing', '5')]).problems).toEqual([
      'relation 7 (charm-tracing): data.receivers: expected receivers: a list, got 5',
    ])
  })
})

test.each([
  ['a unit without an endpoint', provider(7, 'logging', { 'loki/0': { 'private-address': '10.0.0.1' } })],
  ['no units', { ...provider(7, 'logging', {}), remote: { application: 'loki', data: {} } }],
  ['no receivers yet', provider(7, 'charm-tracing', {})],
  [
    'the other side of logging',
    { ...provider(7, 'logging', { 'w/0': { endpoint: { url: 'http://x' } } }), role: 'provides' as const },
  ],
  ['another endpoint', provider(7, 'ingress', { 'loki/0': { endpoint: { url: 'http://x' } } })],
])('%s gives none', (_, relation) => {
  expect(sources([relation])).toEqual(NOTHING)
})

test('units by relation and number', () => {
  const at = (host: string) => ({ endpoint: { url: `http://${host}` } })
  const relations = [
    provider(9, 'logs', { 'a/0': at('a-0') }),
    provider(8, 'logs', { 'loki/10': at('loki-10'), 'loki/9': at('loki-9') }),
  ]
  expect(sources(relations, { endpoints: { logging: 'logs' } }).logging).toEqual([
    { unit: 'loki/9', url: 'http://loki-9' },
    { unit: 'loki/10', url: 'http://loki-10' },
    { unit: 'a/0', url: 'http://a-0' },
  ])
})

describe('protocols', () => {
  const offered = [
    receiver('otlp_http', 'http://one:4318'),
    receiver('otlp_grpc', 'one:4317', 'grpc'),
    receiver('constructor', 'https://one:1'),
  ]
  const all = { otlp_http: 'http://one:4318', otlp_grpc: 'one:4317', constructor: 'https://one:1' }
  const relations = [tracing(7, 'charm-tracing', JSON.stringify(offered)), tracing(8, 'workload-tracing', offered)]

  test.each([
    [{}, { otlp_http: 'http://one:4318' }, all],
    [
      { charmTracingProtocols: ['otlp_grpc'], workloadTracingProtocols: ['otlp_http', 'zipkin'] },
      { otlp_grpc: 'one:4317' },
      { otlp_http: 'http://one:4318' },
    ],
  ])('of what is offered, with %j', (changes, charmTracing, workloadTracing) => {
    expect(sources(relations, changes)).toEqual({ ...NOTHING, charmTracing, workloadTracing })
  })

  test('of two offers for one the lower relation id wins, then the earlier', () => {
    const offers = [
      tracing(9, 'workload-tracing', [receiver('zipkin', 'http://nine')]),
      tracing(8, 'workload-tracing', [receiver('zipkin', 'http://eight'), receiver('zipkin', 'http://late')]),
    ]
    expect(sources(offers).workloadTracing).toEqual({ zipkin: 'http://eight' })
  })

  const asked = (changes: object, ...ones: Relation[]) => tracingRequests(byId(...ones), configWith(changes))
  const data = (...receivers: string[]) => ({ data: { receivers: `["${receivers.join('", "')}"]` } })

  test('protocols are asked for', () => {
    expect(tracingRequests(byId(...relations), CONFIG)).toEqual({ 7: data('otlp_http') })
    expect(asked({ workloadTracingProtocols: ['zipkin', 'otlp_http'] }, ...relations)).toEqual({
      7: data('otlp_http'),
      8: data('zipkin', 'otlp_http'),
    })
    expect(asked({ charmTracingProtocols: [] }, ...relations)).toEqual({})
    expect(asked({}, { ...tracing(7, 'charm-tracing', []), role: 'provides' })).toEqual({})
  })

  test('protocols are asked for together where one endpoint is for both', () => {
    const endpoints = { charmTracing: 'tracing', workloadTracing: 'tracing' }
    const both = { endpoints, workloadTracingProtocols: ['zipkin', 'otlp_http'] }
    expect(asked(both, tracing(3, 'tracing', []))).toEqual({ 3: data('otlp_http', 'zipkin') })
  })
})
