import { once } from 'node:events'
import * as http from 'node:http'
import * as https from 'node:https'
import { text } from 'node:stream/consumers'
import type { Transport } from './client.ts'

/** The address of the API server, and its credentials. */
export type ApiServerEndpoint = {
  /** `https://10.96.0.1:443`, or `http://` for one without TLS */
  server: string
  /** Asked before every request, so that a token or certificate that rotates is picked up. */
  credentials(): Promise<Credentials>
}

export type Credentials = { headers?: Record<string, string> } & Pick<
  https.RequestOptions,
  'ca' | 'cert' | 'key' | 'servername' | 'rejectUnauthorized'
>

/** Credentials may come from a program that hangs. */
const rejection = (signal: AbortSignal): Promise<never> =>
  new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason), { once: true }))

/** Requests over node:https with one keep-alive agent; `close` ends its idle connections. */
export const createTransport = ({ server, credentials }: ApiServerEndpoint): Transport & { close(): void } => {
  const secure = server.startsWith('https:')
  const agent = secure ? new https.Agent({ keepAlive: true }) : new http.Agent({ keepAlive: true })
  const base = server.replace(/\/+$/, '')

  const send: Transport = async ({ method, path, headers, body, timeoutMilliseconds }) => {
    const signal = AbortSignal.timeout(timeoutMilliseconds)
    const { headers: authentication, ...tls } = await Promise.race([credentials(), rejection(signal)])
    const request = (secure ? https : http).request(base + path, {
      ...tls,
      agent,
      method,
      signal,
      headers: { ...headers, ...authentication, 'content-length': Buffer.byteLength(body ?? '') },
    })
    request.end(body)
    const [response]: [http.IncomingMessage] = (await once(request, 'response')) as [http.IncomingMessage]
    return { status: response.statusCode ?? 0, headers: response.headers, body: await text(response) }
  }
  return Object.assign(send, { close: () => agent.destroy() })
}
