import * as http from 'node:http'
import { type Context, Hono } from 'hono'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { createEmbeddedApi } from '../../../src/embedded/api/api.ts'
import { startEmbeddedApi } from '../../../src/embedded/api/server.ts'
import { writeEvent } from '../../../src/platform/cloudevents/cloud-event.ts'
import { createIntake } from '../../../src/serve/http/body.ts'
import { createDeadLetterSink } from '../../../src/serve/http/dead-letter-sink.ts'
import { listen } from '../../../src/serve/http/server.ts'
import { createWorld, event, meshRelation, service, workload } from '../../helpers/world.ts'
import { startPage } from '../page/world.ts'

type Answer = { status: number; headers: http.IncomingHttpHeaders; body: string }

/** A request with the headers of a browser, or of an attacker. */
const ask = (
  url: string,
  {
    method = 'GET',
    headers = {},
    body = '',
    agent = false,
  }: Partial<{
    method: string
    headers: Record<string, string>
    body: string | Uint8Array
    agent: http.Agent | false
  }> = {},
): Promise<Answer> =>
  new Promise((resolve, reject) => {
    const request = http.request(url, { method, headers, agent }, (response) => {
      let text = ''
      response.setEncoding('utf8').on('data', (part: string) => {
        text += part
      })
      response.on('end', () => resolve({ status: response.statusCode ?? 0, headers: response.headers, body: text }))
    })
    request.on('error', reject).end(body)
  })

/** What a page may do whose host's DNS leads here by now, and one that asks another host. */
const ATTACKS = {
  'a page whose name leads here by DNS rebinding': {
    host: 'attacker.example:8080',
    origin: 'http://attacker.example:8080',
  },
  'a page of another host': { origin: 'https://attacker.example' },
}

const told = writeEvent(event('config-changed', { config: { mesh: {} } }))

const startFunctions = async (options: Parameters<typeof startPage>[1] = {}) => {
  const api = createEmbeddedApi({
    tokens: { good: 'somebody', other: 'other' },
    audiences: ['meshstep'],
    allows: () => true,
  })
  api.seed([workload(), service()], { manager: 'juju' })
  const server = await startPage(api, options)
  onTestFinished(() => server.stop())
  return { api, url: server.url }
}

describe.each(Object.entries(ATTACKS))('%s', (_, attack) => {
  test('a page of another site sends no event, and reads nothing, where no token is asked for', async () => {
    const { api, url } = await startFunctions()
    const before = JSON.stringify(api.objects())
    const sent = await ask(url, { method: 'POST', headers: { ...told.headers, ...attack }, body: told.body })
    expect([sent.status, JSON.parse(sent.body)]).toMatchObject([403, { reason: 'unauthorized' }])
    const plan = await ask(`${url}/page/plan`, { method: 'POST', headers: attack, body: '{}' })
    expect(plan.status).toBe(403)
    for (const path of ['/map', '/applications', '/steps?namespace=shop', '/page/page.js', '/schemas/asyncapi.json'])
      expect([path, (await ask(`${url}${path}`, { headers: attack })).status]).toEqual([path, 403])
    expect((await ask(url, { headers: { accept: 'text/html', ...attack } })).status).toBe(403)
    expect(JSON.stringify(api.objects())).toBe(before)
  })

  test('a page of another site neither reads nor writes the embedded Kubernetes API', async () => {
    const api = createEmbeddedApi()
    const server = await startEmbeddedApi({ api, port: 0 })
    onTestFinished(() => server.close())
    const path = `${server.url}/api/v1/namespaces/default/configmaps`
    const object = JSON.stringify({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'a' } })
    const headers = { 'content-type': 'application/json', ...attack }
    expect((await ask(path, { headers: attack })).status).toBe(403)
    const written = await ask(path, { method: 'POST', headers, body: object })
    expect([written.status, JSON.parse(written.body)]).toMatchObject([403, { kind: 'Status', code: 403 }])
    expect(api.objects().filter(({ metadata }) => metadata.name === 'a')).toEqual([])
  })

  test('a page of another site tells the dead-letter sink nothing', async () => {
    const errors: unknown[] = []
    const log = { info: () => undefined, warn: () => undefined, error: (fields: unknown) => errors.push(fields) }
    const app = createDeadLetterSink({ log, hosts: ['*.svc'] })
    const headers = { host: 'localhost:8080', ...told.headers, ...attack }
    expect((await app.request('/', { method: 'POST', headers, body: told.body })).status).toBe(403)
    expect(JSON.stringify(errors)).not.toContain('"event"')
  })

  test('a page of another site is nothing to be afraid of where a token is asked for, which no page has', async () => {
    const { url } = await startFunctions({ audience: 'meshstep' })
    expect((await ask(`${url}/applications/shop`, { headers: attack })).status).toBe(401)
    const headers = { ...attack, authorization: 'Bearer good' }
    expect((await ask(`${url}/applications/shop`, { headers })).status).toBe(200)
  })
})

test.each([
  ['a Service of the cluster', 'meshstep.shop.svc.cluster.local'],
  ['a Service, in short', 'meshstep-00001-private.shop.svc:80'],
  ['the IP address of a pod', '10.0.0.7:8080'],
  ['this machine', 'localhost:8080'],
])('%s is a host of the functions', async (_, host) => {
  const { url } = await startFunctions()
  expect((await ask(url, { method: 'POST', headers: { ...told.headers, host }, body: told.body })).status).toBe(200)
})

test('a probe is answered whatever its Host is', async () => {
  const { url } = await startFunctions()
  for (const path of ['/health/liveness', '/health/readiness'])
    expect((await ask(`${url}${path}`, { headers: { host: 'attacker.example' } })).status).toBe(200)
})

describe('where a token is asked for', () => {
  test.each([
    ['no token', undefined],
    ['something else than a token', 'Basic Z29vZA=='],
    ['a token that is not valid', 'Bearer bad'],
  ])('a body that comes with %s is not read', async (_, authorization) => {
    const world = createWorld(undefined, { allows: () => true })
    const read = vi.fn()
    const body = new ReadableStream({ pull: read }, { highWaterMark: 0 })
    const headers = { ...told.headers, ...(authorization !== undefined && { authorization }) }
    const request = new Request('http://localhost/', { method: 'POST', headers, body, duplex: 'half' } as RequestInit)
    expect((await world.app.fetch(request)).status).toBe(401)
    expect(read).not.toHaveBeenCalled()
  })

  test('the token of an event is asked about once', async () => {
    const world = createWorld(undefined, { allows: () => true })
    expect((await world.post(event('relation-changed', meshRelation()))).status).toBe(200)
    expect(world.calls.filter((call) => call.includes('tokenreviews'))).toHaveLength(1)
  })
})

describe('of the bytes that are worked on', () => {
  const post = (bytes: number, sender: string): Context => {
    const headers = { 'content-length': `${bytes}` }
    const raw = new Request('http://localhost/', { method: 'POST', body: 'x'.repeat(bytes), headers })
    return { req: { raw }, env: { sender } } as unknown as Context
  }
  const never = () => new Promise<void>(() => undefined)

  test.each([
    ['many bodies', [25, 25, 25]],
    ['one that is larger than all', [180]],
  ])('one sender, and two of them, leave room to others, with %s', async (_, sizes) => {
    const intake = createIntake(async ({ env }) => env.sender, 100)
    for (const size of sizes) void intake.take(post(size, 'flood'), never)
    await expect(intake.take(post(10, 'flood'), async () => 'taken')).rejects.toMatchObject({ status: 429 })
    await expect(intake.take(post(25, 'other'), async () => 'taken')).rejects.toMatchObject({ status: 429 })
    expect(await intake.take(post(18, 'other'), async () => 'taken')).toBe('taken')
    void intake.take(post(18, 'other flood'), never)
    expect(await intake.take(post(5, 'other'), async () => 'taken')).toBe('taken')
  })

  test('each address has a share where no token is asked for', async () => {
    const { api, url } = await startFunctions()
    expect(api.objects().length).toBeGreaterThan(0)
    const flood = http.request(url, {
      ...{ method: 'POST', agent: false, localAddress: '127.0.0.2' },
      headers: { ...told.headers, 'content-length': 1_800_000 },
    })
    flood.on('error', () => undefined).write('x')
    onTestFinished(() => void flood.destroy())
    await ask(`${url}/health/liveness`)
    const mine = writeEvent(event('config-changed', { config: { mesh: {} } }))
    expect((await ask(url, { method: 'POST', headers: mine.headers, body: mine.body })).status).toBe(200)
  })
})

describe('of bodies that are still on their way', () => {
  const SLOW = { method: 'POST', agent: false } as const

  /** Bodies of 200 bytes of which one comes, and the answers so far. */
  const sendSlowly = (url: string, times: number, headers: Record<string, string> = {}) => {
    const answers: http.IncomingMessage[] = []
    const requests = Array.from({ length: times }, () => {
      const all = { ...told.headers, ...headers, 'content-length': 200 }
      const request = http.request(url, { ...SLOW, headers: all }, (response) => answers.push(response.resume()))
      request.on('error', () => undefined).write('{')
      onTestFinished(() => void request.destroy())
      return request
    })
    return { answers, requests }
  }

  const refusal = expect.objectContaining({
    statusCode: 429,
    headers: expect.objectContaining({ 'retry-after': '1' }),
  })

  test('one sender has five, 429 beyond, and leaves room to its own whole bodies and to slow ones of others', async () => {
    const { url } = await startFunctions({ audience: 'meshstep' })
    const authorization = 'Bearer good'
    const { answers, requests } = sendSlowly(url, 20, { authorization })
    await vi.waitFor(() => expect(answers).toEqual(Array.from({ length: 15 }, () => refusal)))
    const whole = await ask(url, { method: 'POST', headers: { ...told.headers, authorization }, body: told.body })
    expect(whole.status).toBe(200)
    const other = sendSlowly(url, 1, { authorization: 'Bearer other' })
    other.requests[0]?.end(' '.repeat(199))
    await vi.waitFor(() => expect(other.answers).toMatchObject([{ statusCode: 400 }]))

    for (const request of requests) request.end(' '.repeat(199))
    await vi.waitFor(() => expect(answers.filter(({ statusCode }) => statusCode === 400)).toHaveLength(5))
    const again = sendSlowly(url, 5, { authorization })
    for (const request of again.requests) request.end(' '.repeat(199))
    await vi.waitFor(() => expect(again.answers.map(({ statusCode }) => statusCode)).toEqual([400, 400, 400, 400, 400]))
  })

  test('an address has as many where no token is asked for', async () => {
    const { url } = await startFunctions()
    const { answers } = sendSlowly(url, 20)
    await vi.waitFor(() => expect(answers).toEqual(Array.from({ length: 15 }, () => refusal)))
    expect((await ask(url, { method: 'POST', headers: told.headers, body: told.body })).status).toBe(200)
  })

  test('an address has as many at the sink for dead letters', async () => {
    const log = { info: () => undefined, warn: () => undefined, error: () => undefined }
    const { port, close } = await listen(createDeadLetterSink({ log }), 0)
    onTestFinished(close)
    const url = `http://127.0.0.1:${port}`
    const { answers } = sendSlowly(url, 20)
    await vi.waitFor(() => expect(answers).toEqual(Array.from({ length: 15 }, () => refusal)))
    expect((await ask(url, { method: 'POST', headers: told.headers, body: told.body })).status).toBe(204)
  })
})

test('what is asked on a kept-alive connection after the signal is answered, and the connection closed with it', async () => {
  const app = new Hono()
  app.get('/', (context) => context.text('here'))
  const timeouts = { idle: 60_000, headers: 5_000, request: 5_000, interval: 5_000, linger: 60_000 }
  const { port, close } = await listen(app, 0, timeouts)
  const agent = new http.Agent({ keepAlive: true, maxSockets: 1 })
  onTestFinished(() => agent.destroy())
  const url = `http://127.0.0.1:${port}`
  const before = await ask(url, { agent })
  expect([before.status, before.headers.connection]).toEqual([200, 'keep-alive'])
  const closed = close()
  const after = await ask(url, { agent })
  expect([after.status, after.headers.connection, after.body]).toEqual([200, 'close', 'here'])
  await closed
})
