import { once } from 'node:events'
import { createConnection } from 'node:net'
import { type Context, Hono } from 'hono'
import { describe, expect, onTestFinished, test } from 'vitest'
import { createIntake } from '../../../src/serve/http/body.ts'
import { listen } from '../../../src/serve/http/server.ts'

const post = (body: string | ReadableStream, headers: Record<string, string> = {}): Context => {
  const raw = new Request('http://localhost/', { method: 'POST', body, headers, duplex: 'half' } as RequestInit)
  return { req: { raw } } as unknown as Context
}

const stream = (...parts: string[]): ReadableStream => ReadableStream.from(parts.map((part) => Buffer.from(part)))

const length = async (body: Uint8Array): Promise<number> => body.byteLength

describe('a body is refused', () => {
  test.each([
    ['that says it is too large', post('x', { 'content-length': '2097153' }), 413],
    ['that turns out too large', post(stream('x'.repeat(2_000_000), 'x'.repeat(200_000))), 413],
    ['that is compressed', post('x', { 'content-encoding': 'gzip' }), 415],
  ])('%s', async (_, request, status) => {
    await expect(createIntake().take(request, length)).rejects.toMatchObject({ status })
  })

  test.each([
    ['announced', () => post('x'.repeat(60), { 'content-length': '60' })],
    ['found out while reading', () => post(stream('x'.repeat(30), 'x'.repeat(30)))],
  ])(
    'a body is refused with 429 while too many bytes are worked on, %s, and fits when they are not',
    async (_, request) => {
      const { promise: done, resolve: finish } = Promise.withResolvers<void>()
      const intake = createIntake(undefined, 100)
      const first = intake.take(post('x'.repeat(50), { 'content-length': '50' }), () => done)
      await expect(intake.take(request(), length)).rejects.toMatchObject({ status: 429, retryAfterSeconds: 1 })
      finish()
      await first
      expect(await intake.take(request(), length)).toBe(60)
    },
  )

  test('a body that is refused, or whose step fails, holds no bytes', async () => {
    const intake = createIntake(undefined, 100)
    for (let times = 0; times < 5; times += 1) {
      await expect(
        intake.take(post('x'.repeat(90)), async () => {
          throw new Error('no')
        }),
      ).rejects.toThrow('no')
    }
    expect(await intake.take(post('x'.repeat(100)), length)).toBe(100)
  })

  test('a body that is larger than what is worked on at a time is taken by itself', async () => {
    expect(await createIntake(undefined, 100).take(post(stream('x'.repeat(90), 'x'.repeat(90))), length)).toBe(180)
  })
})

test.each([
  ['headers', 'POST / HTTP/1.1\r\nhost: a\r\n'],
  ['a body', 'POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 9\r\n\r\nx'],
])('a sender that does not get on with %s is answered 408 and cut off', async (_, text) => {
  const app = new Hono()
  app.post('/', (context) => createIntake().take(context, async (body) => context.text(`${body}`)))
  const { port, close } = await listen(app, 0, { idle: 5_000, headers: 500, request: 500, interval: 50, linger: 0 })
  onTestFinished(close)
  const socket = createConnection({ host: '127.0.0.1', port })
  let received = ''
  socket.setEncoding('utf8').on('data', (chunk: string) => {
    received += chunk
  })
  socket.write(text)
  await once(socket, 'close')
  expect(received).toMatch(/^HTTP\/1\.1 408 /)
})
