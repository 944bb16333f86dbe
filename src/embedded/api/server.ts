import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'
import { hostOrOriginProblem } from '../../platform/base/hosts.ts'
import type { Answer, EmbeddedApi, Request } from './api.ts'

type Intercept = (request: Request) => Answer | undefined | Promise<Answer | undefined>

export type EmbeddedServerOptions = {
  readonly api: EmbeddedApi
  /** 0 takes any free port. */
  readonly port?: number
  readonly host?: string
  /** Responds in place of the API; undefined lets the request through. */
  readonly intercept?: Intercept | undefined
}

export type EmbeddedServer = { readonly url: string; readonly port: number; close(): Promise<void> }

const headersOf = ({ headers }: IncomingMessage): Record<string, string> =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value)]))

/** Protobuf is the one body that is not text: each byte becomes one character. */
const textOf = (body: Buffer, headers: Record<string, string>): string =>
  body.toString(headers['content-type']?.includes('protobuf') ? 'latin1' : 'utf8')

const send = (response: ServerResponse, { status, headers, body }: Answer): void => {
  response.writeHead(status, headers).end(body)
}

const secondsOf = (request: Request): number | undefined => {
  const seconds = Number(new URL(request.path, 'http://embedded').searchParams.get('timeoutSeconds') ?? 0)
  return seconds > 0 ? seconds : undefined
}

/** Streams a watch until the client goes away, its `timeoutSeconds` are over, or the server closes. */
const stream = (api: EmbeddedApi, request: Request, response: ServerResponse): void => {
  const lines: string[] = []
  let write = (line: string): void => void lines.push(line)
  const close = api.watch(request, (event) => write(`${JSON.stringify(event)}\n`))
  if (typeof close !== 'function') {
    send(response, close)
    return
  }
  response.writeHead(200, { 'content-type': 'application/json', 'transfer-encoding': 'chunked' })
  response.flushHeaders()
  write = (line) => void response.write(line)
  for (const line of lines) write(line)
  const seconds = secondsOf(request)
  const timer = seconds === undefined ? undefined : setTimeout(() => response.end(), seconds * 1000)
  response.on('close', () => {
    clearTimeout(timer)
    close()
  })
}

const isWatch = ({ method, path }: Request): boolean => method === 'GET' && /[?&]watch=(true|1)(&|$)/.test(path)

const failed = (code: number, message: string): Answer => ({
  status: code,
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify({ kind: 'Status', apiVersion: 'v1', status: 'Failure', code, message }),
})

/** Serves an embedded API over HTTP, without TLS, for the project's own client and for kubectl. */
export const startEmbeddedApi = async ({
  api,
  port = 8001,
  host = '127.0.0.1',
  intercept = () => undefined,
}: EmbeddedServerOptions): Promise<EmbeddedServer> => {
  const respond = async (incoming: IncomingMessage, response: ServerResponse): Promise<void> => {
    const headers = headersOf(incoming)
    // it asks for no credentials: whatever page is open in a browser of this machine could use it
    const problem = hostOrOriginProblem(headers, [])
    if (problem !== undefined) {
      incoming.resume()
      return send(response, failed(403, problem))
    }
    const body = textOf(await buffer(incoming), headers)
    const request = { method: incoming.method ?? '', path: incoming.url ?? '/', headers, body }
    const intercepted = await intercept(request)
    if (intercepted) send(response, intercepted)
    else if (isWatch(request)) stream(api, request, response)
    else send(response, api.handle(request))
  }
  const server = createServer((incoming, response) => {
    respond(incoming, response).catch((error: unknown) => send(response, failed(500, String(error))))
  })
  server.listen(port, host)
  await once(server, 'listening')
  const taken = (server.address() as AddressInfo).port
  return {
    url: `http://${host}:${taken}`,
    port: taken,
    close: async () => {
      server.close()
      server.closeAllConnections()
      await once(server, 'close')
    },
  }
}
