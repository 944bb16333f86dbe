import {
  createServer as createHttpServer,
  type IncomingMessage,
  type Server,
  type ServerOptions,
  type ServerResponse,
} from 'node:http'
import type { Hono } from 'hono'
import type { Clock } from '../../platform/base/clock.ts'

/** Creates a server for an app. */
export const createServer = (
  app: Pick<Hono, 'fetch'>,
  clock: Pick<Clock, 'yieldTurn'>,
  options: ServerOptions,
): Server =>
  createHttpServer(options, (incoming, outgoing) => {
    answer(app, clock, incoming, outgoing).catch((error: Error) => outgoing.destroy(error))
  })

const answer = async (
  { fetch }: Pick<Hono, 'fetch'>,
  clock: Pick<Clock, 'yieldTurn'>,
  incoming: IncomingMessage,
  outgoing: ServerResponse,
): Promise<void> => {
  const request = requestOf(incoming)
  // concurrent events take turns, so that liveness probes need not wait for them
  if (incoming.method === 'POST') await clock.yieldTurn()
  const response = request === undefined ? BAD_REQUEST : await fetch(request, { incoming })
  outgoing.statusCode = response.status
  response.headers.forEach((value, name) => void outgoing.setHeader(name, value))
  await writeBody(response.body, outgoing)
  // an unread rest of the body would block the next request on the connection
  incoming.resume()
}

const BAD_REQUEST = { status: 400, headers: new Map<string, string>(), body: null }

/** Builds the part of a request that the app uses. Returns undefined for a request without a path. */
const requestOf = (incoming: IncomingMessage): Request | undefined => {
  const { method = 'GET', url: path = '', headers } = incoming
  const url = path.startsWith('/') ? URL.parse(`http://localhost${path}`) : null
  if (url === null) return undefined
  const body = {
    // the answer to an oversized body must still reach its sender
    [Symbol.asyncIterator]: () => incoming.iterator({ destroyOnReturn: false }),
  }
  const given = Object.entries(headers).map(([name, value]): [string, string] => [name, String(value)])
  const request = { method, url: url.href, body, headers: new Headers(given) }
  return request as unknown as Request
}

const writeBody = async (body: Response['body'] | string, outgoing: ServerResponse): Promise<void> => {
  if (body === null || typeof body === 'string') return void outgoing.end(body ?? undefined)
  const reader = body.getReader()
  // the client left before the answer, so no close event follows
  if (outgoing.destroyed) return await reader.cancel()
  outgoing.once('close', () => void reader.cancel().catch(() => undefined))
  // an error closes the connection at once, even if the client has not read the earlier parts
  reader.closed.catch((error: Error) => outgoing.destroy(error))
  for (let part = await reader.read(); !part.done; part = await reader.read())
    if (!outgoing.write(part.value) && !outgoing.destroyed)
      await new Promise((resolve) => outgoing.once('drain', resolve).once('close', resolve))
  outgoing.end()
}
