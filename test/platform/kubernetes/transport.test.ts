import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, expect, onTestFinished, test } from 'vitest'
import { systemClock } from '../../../src/platform/base/clock.ts'
import { ConfigurationError, Unavailable } from '../../../src/platform/base/errors.ts'
import { createKubernetes } from '../../../src/platform/kubernetes/client.ts'
import { createTransport } from '../../../src/platform/kubernetes/transport.ts'

const REFERENCE = { kind: 'ConfigMap', namespace: 'shop', name: 'one' } as const

const OBJECT = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { namespace: 'shop', name: 'one' }, data: { a: 'ü' } }

/** The same delays between attempts every time, so that the last one ends well before the deadlines here. */
const CLOCK = { ...systemClock, random: () => 0.5 }

type Answer = (request: IncomingMessage, response: ServerResponse) => void

const ok: Answer = (request, response) => {
  request.resume().on('end', () => response.end(JSON.stringify(OBJECT)))
}

/** Answers with an error, not with a rejection, so that a test may look at it. */
const outcome = <T>(promise: Promise<T>): Promise<unknown> => promise.catch((error: unknown) => error)

/** An HTTP server that gives each of `answers` once, and the last one from then on. */
const startServer = async (...answers: Answer[]) => {
  const requests: string[] = []
  let connections = 0
  const server = createServer((request, response) => {
    requests.push(`${request.method} ${request.url}`)
    const answer = answers[Math.min(requests.length, answers.length) - 1] ?? ok
    answer(request, response)
  })
  server.on('connection', () => {
    connections += 1
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const stop = () => {
    server.close()
    server.closeAllConnections()
  }
  onTestFinished(stop)
  return { url, requests, connections: () => connections, server, stop }
}

type Limits = { milliseconds?: number; callTimeoutMilliseconds?: number; credentials?: () => Promise<object> }

const connectTo = (
  server: string,
  { milliseconds = 5_000, callTimeoutMilliseconds, credentials = async () => ({}) }: Limits = {},
) => {
  const transport = createTransport({ server, credentials })
  onTestFinished(() => transport.close())
  return createKubernetes({
    transport,
    clock: CLOCK,
    deadline: Date.now() + milliseconds,
    ...(callTimeoutMilliseconds && { callTimeoutMilliseconds }),
  })
}

const never: Answer = () => undefined

const headersOnly: Answer = (_, response) => {
  response.writeHead(200, { 'content-length': '100' }).write('{')
}

describe('a server that does not answer', () => {
  test.each([
    ['at all', never],
    ['to the end', headersOnly],
  ])('%s is unavailable at the deadline', { timeout: 3_000 }, async (_, answer) => {
    const { url } = await startServer(answer)
    const error = await outcome(connectTo(url, { milliseconds: 650 }).find(REFERENCE))
    expect(error).toBeInstanceOf(Unavailable)
    expect(error).toMatchObject({
      message: expect.stringMatching(/^GET ConfigMap shop\/one: the API server did not answer \(.*abort/),
    })
  })

  test('a server that does not answer at the first call is asked again', async () => {
    const { url, requests } = await startServer(never, ok)
    expect(await connectTo(url, { callTimeoutMilliseconds: 100 }).find(REFERENCE)).toEqual(OBJECT)
    expect(requests).toHaveLength(2)
  })

  test('a server that does not answer because nothing listens is unavailable at the deadline', async () => {
    const { url, stop } = await startServer()
    stop()
    const error = await outcome(connectTo(url, { milliseconds: 650 }).find(REFERENCE))
    expect(error).toBeInstanceOf(Unavailable)
    expect(error).toMatchObject({ message: expect.stringContaining('ECONNREFUSED') })
  })
})

describe('a call without time says which budget the calls before it have used up:', () => {
  const withClock = (transport: Parameters<typeof createKubernetes>[0]['transport']) => {
    let now = 0
    const clock = { ...CLOCK, now: () => now }
    return {
      kubernetes: createKubernetes({ transport, clock, deadline: 25_000 }),
      pass: (milliseconds: number) => {
        now += milliseconds
      },
    }
  }

  test('one that begins after the end is not sent', async () => {
    const sent: string[] = []
    const { kubernetes, pass } = withClock(async ({ path }) => {
      sent.push(path)
      throw new Error('aborted after 1 ms')
    })
    pass(25_000)
    expect(await outcome(kubernetes.find(REFERENCE))).toMatchObject({
      name: 'Unavailable',
      message:
        'GET ConfigMap shop/one: the API server was not asked: the 25 s for all calls of this request are used up, most of them by the calls before',
    })
    expect(sent).toEqual([])
  })

  test('one of a request that waited until its time was over says so', async () => {
    const clock = { ...CLOCK, now: () => 25_001 }
    const kubernetes = createKubernetes({
      transport: async () => await Promise.reject(new Error()),
      clock,
      deadline: 25_000,
    })
    expect(await outcome(kubernetes.find(REFERENCE))).toMatchObject({
      message:
        'GET ConfigMap shop/one: the API server was not asked: the time of this request was used up before its first call',
    })
  })

  test('one that has only the rest is told apart from one that waits for long', async () => {
    const waiting = withClock(async ({ timeoutMilliseconds }) => {
      waiting.pass(timeoutMilliseconds)
      throw new Error(`aborted after ${timeoutMilliseconds} ms`)
    })
    waiting.pass(24_990)
    expect(await outcome(waiting.kubernetes.find(REFERENCE))).toMatchObject({
      message:
        'GET ConfigMap shop/one: the API server did not answer (aborted after 10 ms): the 25 s for all calls of this request are used up, most of them by the calls before',
    })
  })

  test('a request without time is not sent', async () => {
    const { url, requests } = await startServer(ok)
    const transport = createTransport({ server: url, credentials: () => ({}) })
    onTestFinished(() => transport.close())
    const asked = { method: 'GET', path: '/', headers: {}, timeoutMilliseconds: 0, resends: 0 } as const
    expect(await outcome(transport(asked))).toMatchObject({ message: 'not sent: its time was used up before' })
    expect(requests).toEqual([])
  })
})

describe('an answer that is cut off', () => {
  const cut: [string, Answer][] = [
    [
      'in the middle of its body',
      (_, response) => void response.writeHead(200, { 'content-length': '100' }).write('{', () => response.destroy()),
    ],
    ['in the middle of a body in chunks', (_, response) => void response.write('{"kind":', () => response.destroy())],
    ['by a reset', (_, response) => void response.write('{', () => response.socket?.resetAndDestroy())],
    ['before it began', (_, response) => void response.destroy()],
  ]
  test.each(cut)('%s is asked for again', async (_, answer) => {
    const { url, requests } = await startServer(answer, ok)
    expect(await connectTo(url).find(REFERENCE)).toEqual(OBJECT)
    expect(requests).toEqual([
      'GET /api/v1/namespaces/shop/configmaps/one',
      'GET /api/v1/namespaces/shop/configmaps/one',
    ])
  })

  test('every time is unavailable at the deadline', async () => {
    const { url } = await startServer((_, response) => void response.write('{', () => response.destroy()))
    expect(await outcome(connectTo(url, { milliseconds: 650 }).find(REFERENCE))).toBeInstanceOf(Unavailable)
  })
})

describe('a server that is busy', () => {
  const busy =
    (status: number, headers: Record<string, string> = {}): Answer =>
    (_, response) => {
      response.writeHead(status, headers).end('{"message":"busy"}')
    }

  test.each([429, 500, 503, 504])('a server that is busy with %i is asked again', async (status) => {
    const { url, requests } = await startServer(busy(status), ok)
    expect(await connectTo(url).find(REFERENCE)).toEqual(OBJECT)
    expect(requests).toHaveLength(2)
  })

  test('a server that is busy for longer than the deadline is not waited for: the sender is told when to come back', async () => {
    const { url, requests } = await startServer(busy(429, { 'retry-after': '30' }))
    const error = await outcome(connectTo(url).find(REFERENCE))
    expect(error).toMatchObject({
      name: 'Unavailable',
      retryAfterSeconds: 30,
      message: expect.stringContaining('busy'),
    })
    expect(requests).toHaveLength(1)
  })
})

describe('credentials', () => {
  test('credentials that cannot come are not waited for', async () => {
    const { url, requests } = await startServer()
    const credentials = async () => {
      throw new ConfigurationError('no token')
    }
    const error = await outcome(connectTo(url, { milliseconds: 60_000, credentials }).find(REFERENCE))
    expect(error).toMatchObject({ name: 'ConfigurationError', message: 'no token' })
    expect(requests).toEqual([])
  })

  test('credentials are asked for before every call', async () => {
    const seen: (string | undefined)[] = []
    const { url } = await startServer((request, response) => {
      seen.push(request.headers.authorization)
      ok(request, response)
    })
    let turn = 0
    const credentials = async () => ({ headers: { authorization: `Bearer ${++turn}` } })
    const kubernetes = connectTo(url, { credentials })
    await kubernetes.find(REFERENCE)
    await kubernetes.find(REFERENCE)
    expect(seen).toEqual(['Bearer 1', 'Bearer 2'])
  })
})

describe('connections', () => {
  test('one after another, calls take the same one', async () => {
    const { url, connections } = await startServer(ok)
    const kubernetes = connectTo(url)
    for (let call = 0; call < 10; call += 1) await kubernetes.find(REFERENCE)
    await kubernetes.create(OBJECT)
    await kubernetes.remove(OBJECT)
    expect(connections()).toBe(1)
  })

  test('at once, calls do not wait for each other', async () => {
    const waiting: ServerResponse[] = []
    const { url, connections } = await startServer((_, response) => {
      waiting.push(response)
      if (waiting.length === 3) for (const each of waiting) each.end(JSON.stringify(OBJECT))
    })
    const kubernetes = connectTo(url)
    const found = await Promise.all([1, 2, 3].map(() => kubernetes.find(REFERENCE)))
    expect(found).toEqual([OBJECT, OBJECT, OBJECT])
    expect(connections()).toBe(3)
  })

  test('connections that the server closed meanwhile are opened again', async () => {
    const { url, server, connections } = await startServer(ok)
    const kubernetes = connectTo(url)
    await kubernetes.find(REFERENCE)
    server.closeAllConnections()
    expect(await kubernetes.find(REFERENCE)).toEqual(OBJECT)
    expect(connections()).toBe(2)
  })
})

describe('a request', () => {
  test('a request keeps the path of the server’s address, as proxies in front of a cluster have one', async () => {
    const { url, requests } = await startServer(ok)
    await connectTo(`${url}/k8s/clusters/c-1/`).find(REFERENCE)
    expect(requests).toEqual(['GET /k8s/clusters/c-1/api/v1/namespaces/shop/configmaps/one'])
  })

  test('a request tells the length of its body in bytes, not in characters', async () => {
    const bodies: string[] = []
    const { url } = await startServer((request, response) => {
      let body = ''
      request
        .setEncoding('utf8')
        .on('data', (chunk: string) => {
          body += chunk
        })
        .on('end', () => {
          bodies.push(body)
          response.end(body)
        })
    })
    expect(await connectTo(url).create(OBJECT)).toEqual(OBJECT)
    expect(bodies.map((body) => JSON.parse(body))).toEqual([OBJECT])
  })

  test('a request escapes what comes from outside', async () => {
    const { url, requests } = await startServer((request, response) => {
      const kind = request.url?.includes('?') ? 'ConfigMapList' : 'ConfigMap'
      response.end(JSON.stringify({ kind, metadata: {}, items: [] }))
    })
    const kubernetes = connectTo(url)
    await kubernetes.find({ kind: 'ConfigMap', namespace: 'a/b', name: '..?x' })
    await kubernetes.list('ConfigMap', 'shop', 'a in (b,c)')
    expect(requests).toEqual([
      'GET /api/v1/namespaces/a%2Fb/configmaps/..%3Fx',
      'GET /api/v1/namespaces/shop/configmaps?labelSelector=a%20in%20(b%2Cc)&limit=500',
    ])
  })
})

test('credentials that never come, from a program that hangs, do not hold an answer past the deadline', async () => {
  const { url, requests } = await startServer()
  const hanging = () => new Promise<object>(() => undefined)
  const kubernetes = connectTo(url, { milliseconds: 150, callTimeoutMilliseconds: 50, credentials: hanging })
  expect(await outcome(kubernetes.find(REFERENCE))).toBeInstanceOf(Unavailable)
  expect(requests).toEqual([])
})

test('a request with credentials of somebody else has none of the process', async () => {
  const seen: object[] = []
  const { url } = await startServer((request, response) => {
    const { authorization, 'impersonate-user': user } = request.headers
    seen.push({ authorization, user })
    ok(request, response)
  })
  const own = { authorization: 'Bearer process', 'impersonate-user': 'admin' }
  const send = createTransport({ server: url, credentials: () => ({ headers: own, cert: 'c', key: 'k' }) })
  onTestFinished(() => send.close())
  const asking: Record<string, string>[] = [{}, { authorization: 'Bearer asker' }]
  for (const headers of asking) await send({ method: 'GET', path: '/', headers, timeoutMilliseconds: 5_000 })
  expect(seen).toEqual([
    { authorization: 'Bearer process', user: 'admin' },
    { authorization: 'Bearer asker', user: undefined },
  ])
})
