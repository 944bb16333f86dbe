import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import { createServer as createHttp2Server, createSecureServer } from 'node:http2'
import { createServer as createHttpsServer } from 'node:https'
import type { AddressInfo, Server, Socket } from 'node:net'
import { text } from 'node:stream/consumers'
import { TLSSocket } from 'node:tls'
import type { Certificate } from './certificate.ts'

export type Backend = { readonly port: number; stop(): Promise<void> }

type Options = { readonly certificate?: Certificate | undefined; readonly host?: string; readonly port?: number }

/** A request as it arrived. */
export type Arrived = {
  /** Which backend it arrived at. */
  readonly at: string
  readonly method: string | undefined
  /** Path and query. */
  readonly url: string | undefined
  readonly host: string | undefined
  readonly tenant: string | string[] | undefined
  readonly body: string
  readonly httpVersion: string
  /** What the client asked for when it set up TLS: a name, or false when it gave none; absent without TLS. */
  readonly serverName?: string | false | null
}

const listening = async (server: Server, { host = '127.0.0.1', port = 0 }: Options): Promise<Backend> => {
  const sockets = new Set<Socket>()
  server.on('connection', (socket: Socket) => {
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket))
  })
  server.listen(port, host)
  await once(server, 'listening')
  return {
    port: (server.address() as AddressInfo).port,
    stop: async () => {
      const closed = once(server, 'close')
      server.close()
      for (const socket of sockets) socket.destroy()
      await closed
    },
  }
}

const serverNameOf = (socket: unknown): Pick<Arrived, 'serverName'> =>
  socket instanceof TLSSocket
    ? { serverName: (socket as TLSSocket & { servername?: string | false }).servername ?? null }
    : {}

/** A backend of HTTP that answers what arrived. */
export const startHttpBackend = (at: string, options: Options = {}): Promise<Backend> => {
  const answer: RequestListener = async (request, response) => {
    const { method, url, headers, socket } = request
    const arrived: Arrived = {
      at,
      method,
      url,
      host: headers.host,
      tenant: headers['x-scope-orgid'],
      body: await text(request),
      httpVersion: request.httpVersion,
      ...serverNameOf(socket),
    }
    response.end(JSON.stringify(arrived))
  }
  return listening(
    options.certificate === undefined
      ? createServer(answer)
      : createHttpsServer({ ...options.certificate, minVersion: 'TLSv1.3' }, answer),
    options,
  )
}

/** A backend that shows one metric, `kind`, whose label `at` names it. */
export const startMetrics = (at: string, certificate: Certificate | undefined): Promise<Backend> => {
  const answer: RequestListener = (request, response) => {
    if (request.url !== '/metrics') response.statusCode = 404
    response.end(`# TYPE kind gauge\nkind{at="${at}"} 1\n`)
  }
  return listening(certificate === undefined ? createServer(answer) : createHttpsServer(certificate, answer), {})
}

/** A backend of gRPC that answers each message with what arrived, as the one message of its answer. */
export const startGrpcBackend = (at: string, options: Options = {}): Promise<Backend> => {
  const server =
    options.certificate === undefined
      ? createHttp2Server()
      : createSecureServer({ ...options.certificate, minVersion: 'TLSv1.3' })
  server.on('stream', async (stream, headers) => {
    const arrived: Arrived = {
      at,
      method: headers[':method'],
      url: headers[':path'],
      host: headers[':authority'],
      tenant: headers['x-scope-orgid'],
      body: await text(stream),
      httpVersion: '2.0',
      ...serverNameOf(stream.session?.socket),
    }
    stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0' }))
    stream.respond({ ':status': 200, 'content-type': 'application/grpc' }, { waitForTrailers: true })
    stream.end(JSON.stringify(arrived))
  })
  return listening(server, options)
}
