import { copyFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { beforeAll, describe, expect, test } from 'vitest'
import type { Request } from '../../src/embedded/api/api.ts'
import { type Receiver, type SentSpan, startReceiver } from '../helpers/otlp.ts'
import { hasVictoriaMetrics, startVictoriaMetrics } from '../helpers/victoria-metrics.ts'
import { APPLICATION, event, meshRelation } from '../helpers/world.ts'
import { ensureBundle, post, serve, start, startCluster, temporaryDirectory, until } from './helpers.ts'

beforeAll(ensureBundle)

/** What is loaded beside the bundle, and only where a receiver is named. */
const MOST_BYTES = 200_000

const TRACE = '0af7651916cd43dd8448eb211c80319c'
const PARENT = 'b7ad6b7169203331'
const traceparent = `00-${TRACE}-${PARENT}-01`

/** A process that reports to the receiver, on a cluster whose requests are kept. */
const serveTraced = async (receiver: Receiver, environment: Record<string, string> = {}) => {
  const cluster = await startCluster()
  const requests: Request[] = []
  cluster.intercept = (request) => {
    requests.push(request)
    return undefined
  }
  const telemetry = { OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url, ...environment }
  return { cluster, requests, server: await serve({ environment: { ...cluster.environment, ...telemetry } }) }
}

const related = (extensions: Record<string, string> = { traceparent }) =>
  event('relation-changed', meshRelation(), { extensions })

const named = (spans: readonly SentSpan[], name: string): SentSpan => {
  const found = spans.find((span) => span.name === name)
  if (!found) throw new Error(`no span ${name} among ${spans.map((span) => span.name).join(', ')}`)
  return found
}

describe('where no receiver is named', () => {
  test('an event is answered by the bundle alone', async () => {
    const { environment } = await startCluster()
    const directory = await temporaryDirectory()
    const entry = join(directory, 'server.cjs')
    for (const file of ['server.cjs', 'kubeconfig.mjs']) await copyFile(`dist/${file}`, join(directory, file))
    const server = await serve({ entry, environment })
    expect((await post(server.url, related())).status).toBe(200)
    expect(await server.end('SIGTERM')).toEqual({ code: 0, signal: null })
  })

  test('what would be loaded stays small', async () => {
    expect((await stat('dist/otlp.mjs')).size).toBeLessThan(MOST_BYTES)
  })
})

describe('the trace of an event', () => {
  test('the trace of an event goes from what sent it through its step to each call of the API server', async () => {
    const receiver = await startReceiver()
    const { server, requests } = await serveTraced(receiver)
    const sent = related()
    expect((await post(server.url, sent)).status).toBe(200)
    await server.end('SIGTERM')
    const spans = receiver.spans()
    const taken = named(spans, 'event relation-changed')
    const step = named(spans, 'step relation-changed')
    expect(taken).toMatchObject({ traceId: TRACE, parentSpanId: PARENT })
    expect(taken.attributes).toMatchObject({ 'cloudevents.event_id': sent.id, 'meshstep.status': 'changed' })
    expect(step).toMatchObject({ traceId: TRACE, parentSpanId: taken.spanId })
    expect(step.attributes).toMatchObject({
      'k8s.namespace.name': 'shop',
      'meshstep.application': APPLICATION,
      'meshstep.function': 'relation-changed',
      'meshstep.status': 'changed',
    })
    const steps = spans.filter(({ name }) => name.startsWith('step ')).map(({ spanId }) => spanId)
    const calls = spans.filter(({ name }) => /^[A-Z]+ /.test(name))
    expect(calls.filter(({ parentSpanId = '' }) => !steps.includes(parentSpanId))).toEqual([])
    expect(calls.map(({ spanId }) => `00-${TRACE}-${spanId}-01`).toSorted()).toEqual(
      requests.map(({ headers }) => headers.traceparent).toSorted(),
    )
    expect(named(spans, 'PATCH statefulsets').attributes).toMatchObject({
      'http.request.method': 'PATCH',
      'http.response.status_code': 200,
      'meshstep.object': APPLICATION,
    })
  })

  test('the trace of an event begins here where the event is part of none', async () => {
    const receiver = await startReceiver()
    const { server } = await serveTraced(receiver)
    await post(server.url, related({}))
    await server.end('SIGTERM')
    const spans = receiver.spans()
    expect(new Set(spans.map(({ traceId }) => traceId)).size).toBe(1)
    expect(named(spans, 'event relation-changed').parentSpanId ?? '').toBe('')
  })

  test('the trace of an event goes on in another process by what is published', async () => {
    const receiver = await startReceiver()
    const sink = await startReceiver()
    const { server } = await serveTraced(receiver, { K_SINK: sink.url })
    await post(server.url, related())
    await server.end('SIGTERM')
    const spans = receiver.spans()
    const published = named(spans, 'publish relation-changed')
    expect(published.parentSpanId).toBe(named(spans, 'step relation-changed').spanId)
    expect(published.attributes).toMatchObject({ 'cloudevents.event_subject': 'shop/beacon' })
    const onward = `00-${TRACE}-${published.spanId}-01`
    expect(sink.requests.map(({ headers }) => [headers.traceparent, headers['ce-traceparent']])).toEqual([
      [onward, onward],
    ])
  })

  test('the trace of an event has the step of another application under the step that it followed from', async () => {
    const receiver = await startReceiver()
    const { server } = await serveTraced(receiver)
    await post(server.url, related())
    await server.end('SIGTERM')
    const steps = receiver.spans().filter(({ name }) => name === 'step relation-changed')
    const own = steps.find(({ attributes }) => attributes['meshstep.application'] === APPLICATION)
    const other = steps.find(({ attributes }) => attributes['meshstep.application'] === 'beacon')
    expect(other).toMatchObject({ traceId: TRACE, parentSpanId: own?.spanId })
  })

  test('the trace of an event is not recorded, and goes on all the same, where its sender records none', async () => {
    const receiver = await startReceiver()
    const { server, requests } = await serveTraced(receiver)
    await post(server.url, related({ traceparent: `00-${TRACE}-${PARENT}-00`, tracestate: 'a=b' }))
    await server.end('SIGTERM')
    expect(receiver.spans()).toEqual([])
    for (const { headers } of requests) {
      expect(headers.traceparent).toMatch(new RegExp(`^00-${TRACE}-[0-9a-f]{16}-00$`))
      expect(headers.tracestate).toBe('a=b')
    }
  })

  test('the trace of an event is recorded whatever its sender says with OTEL_TRACES_SAMPLER=always_on', async () => {
    const receiver = await startReceiver()
    const { server } = await serveTraced(receiver, { OTEL_TRACES_SAMPLER: 'always_on' })
    await post(server.url, related({ traceparent: `00-${TRACE}-${PARENT}-00` }))
    await server.end('SIGTERM')
    expect(named(receiver.spans(), 'event relation-changed').traceId).toBe(TRACE)
  })
})

test('an event that is refused is a span with the kind of error, and a measurement', async () => {
  const receiver = await startReceiver()
  const { server } = await serveTraced(receiver)
  expect((await post(server.url, event('relation-changed', { relation: { id: 'secret-7' } }))).status).toBe(400)
  await server.end('SIGTERM')
  const { status, attributes } = named(receiver.spans(), 'event relation-changed')
  expect([status, attributes['error.type']]).toEqual([{ code: 2 }, 'Refused'])
  expect(receiver.points()).toContainEqual({
    ...{ name: 'meshstep.event.duration', value: 1 },
    attributes: { 'error.type': 'Refused' },
  })
})

test('metrics count events, steps by status, calls, conflicts and calls that were made again', async () => {
  const receiver = await startReceiver()
  const { server, cluster, requests } = await serveTraced(receiver)
  const changes = requests.length
  let isFirst = true
  cluster.intercept = (request) => {
    requests.push(request)
    const isFailing = isFirst
    isFirst = false
    return isFailing ? { status: 503, headers: {}, body: '{}' } : undefined
  }
  await post(server.url, related())
  await post(server.url, related())
  const template = { metadata: { labels: { 'istio.io/use-waypoint': 'another' } } }
  cluster.api.handle({
    method: 'PATCH',
    path: `/apis/apps/v1/namespaces/shop/statefulsets/${APPLICATION}?fieldManager=somebody`,
    headers: { 'content-type': 'application/merge-patch+json' },
    body: JSON.stringify({ spec: { template } }),
  })
  await post(server.url, event('resync', {}))
  await server.end('SIGTERM')
  const points = receiver.points()
  const total = (name: string, attributes: Record<string, unknown> = {}) =>
    points
      .filter((point) => point.name === name && Object.entries(attributes).every(([k, v]) => point.attributes[k] === v))
      .reduce((sum, { value }) => sum + value, 0)
  expect(total('meshstep.event.duration')).toBe(3)
  expect(
    total('meshstep.step.duration', { 'meshstep.function': 'relation-changed', 'meshstep.status': 'changed' }),
  ).toBe(1)
  expect(total('meshstep.step.duration', { 'meshstep.status': 'conflict' })).toBe(1)
  expect(total('meshstep.conflicts')).toBe(1)
  expect(total('meshstep.api.call.duration')).toBe(requests.length - changes)
  expect(total('meshstep.api.call.duration', { 'http.response.status_code': 503 })).toBe(1)
  expect(total('meshstep.api.retries')).toBe(1)
})

test.skipIf(!hasVictoriaMetrics)('a database takes the metrics, and answers what was counted', async () => {
  const database = await startVictoriaMetrics()
  const cluster = await startCluster()
  const server = await serve({
    environment: {
      ...cluster.environment,
      OTEL_EXPORTER_OTLP_METRICS_ENDPOINT: `${database.url}/opentelemetry/v1/metrics`,
      OTEL_SERVICE_NAME: 'mesh-of-the-shop',
    },
  })
  for (const count of [1, 2]) expect((await post(server.url, related())).status, `event ${count}`).toBe(200)
  await server.end('SIGTERM')
  const stored = await until('the metrics are stored', async () => {
    const series = await database.series('meshstep.event.duration_count')
    return series.length > 0 && series
  })
  expect(stored).toContainEqual({
    labels: expect.objectContaining({ 'service.name': 'mesh-of-the-shop', 'meshstep.status': 'changed' }),
    value: 1,
  })
})

test('standard settings name the service, its attributes, the headers and an endpoint for each signal', async () => {
  const [traces, metrics] = [await startReceiver(), await startReceiver()]
  const { server } = await serveTraced(traces, {
    OTEL_EXPORTER_OTLP_METRICS_ENDPOINT: `${metrics.url}/v1/metrics`,
    OTEL_EXPORTER_OTLP_HEADERS: 'authorization=Bearer%20it',
    OTEL_SERVICE_NAME: 'mesh-of-the-shop',
    OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment.name=test',
  })
  await post(server.url, related())
  await server.end('SIGTERM')
  expect([...new Set(traces.requests.map(({ path }) => path))]).toEqual(['/v1/traces'])
  expect([...new Set(metrics.requests.map(({ path }) => path))]).toEqual(['/v1/metrics'])
  for (const receiver of [traces, metrics]) {
    expect(receiver.requests[0]?.headers).toMatchObject({
      authorization: 'Bearer it',
      'content-type': 'application/x-protobuf',
    })
    expect(receiver.resources()[0]).toMatchObject({
      'service.name': 'mesh-of-the-shop',
      'deployment.environment.name': 'test',
      'service.instance.id': expect.stringMatching(/^[0-9a-f-]{36}$/),
    })
  }
})

test('nothing that an event, a databag, a Secret or a header holds is sent', async () => {
  const receiver = await startReceiver()
  const { server } = await serveTraced(receiver, { OTEL_EXPORTER_OTLP_HEADERS: 'x-key=hush-header' })
  const config = { workload: { podSpec: { containers: [{ name: 'c', image: 'x:1', envConfig: { A: 'hush-env' } }] } } }
  const { relation, remote } = meshRelation()
  const data = { ...remote.data, said: 'hush-databag' }
  const sent = [
    event('relation-changed', { relation, remote: { ...remote, data } }),
    event('config-changed', { config, settings: { key: 'hush-setting' } }),
    event('config-changed', { config: 'hush-text' }),
    event('pod-restarted', {
      pod: { name: 'web-0', uid: 'u' },
      status: { status: 'blocked', message: 'hush-message' },
    }),
  ]
  for (const one of sent) {
    const { headers, body } = { headers: { authorization: 'Bearer hush-token' }, body: JSON.stringify(one.data) }
    const attributes = { 'ce-specversion': '1.0', 'ce-id': one.id, 'ce-source': one.source, 'ce-type': one.type }
    await fetch(server.url, {
      ...{ method: 'POST', body },
      headers: { ...headers, ...attributes, 'content-type': 'application/json' },
    })
  }
  await server.end('SIGTERM')
  expect(receiver.spans().length).toBeGreaterThan(4)
  for (const { body } of receiver.requests) expect(body.toString('latin1')).not.toContain('hush')
})

/** What becomes of it does not depend on how the process was started. */
describe.skipIf(process.env.START === 'plain')('a receiver that', () => {
  const away: Record<string, () => Promise<Receiver>> = {
    'does not listen': async () => ({ ...(await startReceiver()), url: 'http://127.0.0.1:9' }),
    'refuses with 500': () => startReceiver((response) => void response.writeHead(500).end('no')),
    'never answers': () => startReceiver(() => undefined),
    'breaks off': () => startReceiver((response) => void response.destroy()),
  }

  test(`${Object.keys(away).join(', ')}: it neither fails an event nor keeps the process`, async () => {
    // each process waits for seconds before it gives up: they wait at once
    await Promise.all(
      Object.entries(away).map(async ([how, startAway]) => {
        const receiver = await startAway()
        const { server } = await serveTraced(receiver, { OTEL_BSP_SCHEDULE_DELAY: '1' })
        for (let count = 0; count < 3; count += 1) expect((await post(server.url, related())).status, how).toBe(200)
        expect(await server.end('SIGTERM'), how).toEqual({ code: 0, signal: null })
        expect(server.errors(), how).toBe('')
      }),
    )
  })

  test('never answers has one request open, however many events there are', async () => {
    const receiver = await startReceiver(() => undefined)
    const { server } = await serveTraced(receiver, { OTEL_BSP_SCHEDULE_DELAY: '1' })
    for (let count = 0; count < 100; count += 1) expect((await post(server.url, related())).status).toBe(200)
    await until('it was asked', () => receiver.open() > 0)
    expect(receiver.requests.map(({ path }) => path)).toEqual(['/v1/traces'])
  })

  test('a receiver that takes nothing is told of in the log, once, without headers', async () => {
    const receiver = await startReceiver((response) => void response.writeHead(400).end('no'))
    const settings = { OTEL_BSP_SCHEDULE_DELAY: '1', OTEL_EXPORTER_OTLP_HEADERS: 'x-key=hush-header,bad=é' }
    const { server } = await serveTraced(receiver, settings)
    for (let count = 0; count < 3; count += 1) await post(server.url, related())
    await server.logged('telemetry not delivered')
    await server.end('SIGTERM')
    expect(server.lines.filter(({ msg }) => msg === 'telemetry not delivered')).toHaveLength(1)
    expect(JSON.stringify(server.lines)).not.toContain('hush')
  })
})

test('a process does not start with a setting that it does not know, and says so', async () => {
  const { environment } = await startCluster()
  const telemetry = { OTEL_EXPORTER_OTLP_ENDPOINT: 'collector:4318' }
  const { ended, errors } = start({ environment: { ...environment, ...telemetry } })
  expect(await ended).toEqual({ code: 1, signal: null })
  expect(errors()).toBe('OTEL_EXPORTER_OTLP_ENDPOINT: expected a URL that begins with http:// or https://\n')
})
