import { once } from 'node:events'
import { request as httpRequest, type IncomingMessage } from 'node:http'
import { connect } from 'node:http2'
import { request as httpsRequest } from 'node:https'
import { buffer } from 'node:stream/consumers'
import type { Arrived } from './backends.ts'

type Sent = {
  readonly method?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
  /** The authority to trust. */
  readonly ca?: string | undefined
}

export type Answer = { readonly status: number | undefined; readonly text: string }

/** Sends to the URL as it is written: nothing in its path is resolved or encoded. */
export const send = async (
  url: string,
  { method = 'GET', headers = {}, body = '', ca }: Sent = {},
): Promise<Answer> => {
  const [, protocol, hostname, port, path = '/'] = /^(https?:)\/\/\[?([^/]+?)\]?:(\d+)((?:\/.*)?)$/.exec(url) ?? []
  const options = { hostname, port, path, method, headers, agent: false, ca }
  const request = protocol === 'https:' ? httpsRequest(options) : httpRequest(options)
  request.end(body)
  const [response] = (await once(request, 'response')) as [IncomingMessage]
  return { status: response.statusCode, text: (await buffer(response)).toString() }
}

/** What arrived at a backend, which answers it. */
export const arrived = async (url: string, sent: Sent = {}): Promise<Arrived> => {
  const answer = await send(url, sent)
  if (answer.status !== 200) throw new Error(`${url}: ${answer.status} ${answer.text}`)
  return JSON.parse(answer.text)
}

export type GrpcAnswer = { readonly status: unknown; readonly grpcStatus: unknown; readonly text: string }

/** Calls a method of gRPC at `host:port` with one message. */
export const call = async (
  address: string,
  method: string,
  { headers = {}, body = '', ca }: Sent = {},
): Promise<GrpcAnswer> => {
  const session = connect(`${ca === undefined ? 'http' : 'https'}://${address}`, { ca })
  const stream = session.request({
    ':method': 'POST',
    ':path': method,
    'content-type': 'application/grpc',
    te: 'trailers',
    ...headers,
  })
  let trailers: Record<string, unknown> = {}
  stream.on('trailers', (received) => {
    trailers = received
  })
  const responded = once(stream, 'response')
  stream.end(body)
  const [answer] = await responded
  const result = {
    status: answer[':status'],
    text: (await buffer(stream)).toString(),
    grpcStatus: trailers['grpc-status'] ?? answer['grpc-status'],
  }
  session.destroy()
  return result
}
