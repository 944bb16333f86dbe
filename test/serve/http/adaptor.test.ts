import { once } from 'node:events'
import type { Server, ServerResponse } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { expect, onTestFinished, test, vi } from 'vitest'
import { createServer } from '../../../src/serve/http/adaptor.ts'
import { fakeClock } from '../../helpers/clock.ts'

/** A server that answers everything with a body, and one connection on which that is asked for, and nothing read. */
const ask = async (body: ReadableStream<Uint8Array>): Promise<{ server: Server; connection: Socket }> => {
  const server = createServer({ fetch: async () => new Response(body) }, fakeClock(), {})
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const accepted = once(server, 'connection')
  const client = connect((server.address() as AddressInfo).port, '127.0.0.1')
  onTestFinished(() => {
    client.destroy()
    server.close()
  })
  client.pause().write('GET / HTTP/1.1\r\nhost: localhost\r\n\r\n')
  return { server, connection: (await accepted)[0] as Socket }
}

test('a connection ends with a body that fails, though its other end reads nothing', async () => {
  const large = new Uint8Array(64 * 1024 * 1024)
  const { promise: read, resolve: isRead } = Promise.withResolvers<void>()
  let fail: (error: Error) => void = () => undefined
  const { connection } = await ask(
    new ReadableStream(
      {
        start: (controller) => {
          fail = (error) => controller.error(error)
          controller.enqueue(large)
        },
        pull: () => isRead(),
      },
      { highWaterMark: 1 },
    ),
  )
  await read
  expect(connection.destroyed).toBe(false)
  const closed = once(connection, 'close').catch((error: Error) => error)
  fail(new Error('it reads nothing'))
  await closed
  expect(connection.destroyed).toBe(true)
})

test('a body of which nobody is left to read anything is told so, also when its reader left before it began', async () => {
  const { promise: response, resolve: respond } = Promise.withResolvers<Response>()
  const server = createServer({ fetch: () => response }, fakeClock(), {})
  onTestFinished(() => void server.close())
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const asked = once(server, 'request')
  const client = connect((server.address() as AddressInfo).port, '127.0.0.1')
  client.write('GET /steps HTTP/1.1\r\nhost: localhost\r\n\r\n')
  const [, outgoing] = (await asked) as [unknown, ServerResponse]
  client.destroy()
  await once(outgoing, 'close')
  const cancel = vi.fn()
  respond(new Response(new ReadableStream({ cancel }, { highWaterMark: 0 })))
  await vi.waitFor(() => expect(cancel).toHaveBeenCalled())
})
