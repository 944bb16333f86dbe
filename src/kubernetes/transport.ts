import * as http from 'node:http'
import * as https from 'node:https'
import { exchange } from '../base/exchange.ts'
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
const within = async <T>(milliseconds: number, answer: Promise<T>): Promise<T> => {
  let timer: NodeJS.Timeout | undefined
  const expiry = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`aborted after ${milliseconds} ms without credentials`)), milliseconds)
  })
  return await Promise.race([answer, expiry]).finally(() => clearTimeout(timer))
}

/** Requests over node:https with one keep-alive agent; `close` ends its idle connections. */
export const createTransport = ({ server, credentials }: ApiServerEndpoint): Transport & { close(): void } => {
  const secure = server.startsWith('https:')
  const agent = secure ? new https.Agent({ keepAlive: true }) : new http.Agent({ keepAlive: true })
  const base = server.replace(/\/+$/, '')

  const send: Transport = async ({ method, path, headers, body, timeoutMilliseconds }) => {
    const began = performance.now()
    const { headers: authentication, ...tls } = await within(timeoutMilliseconds, credentials())
    return await exchange(base + path, {
      ...tls,
      agent,
      method,
      headers: { ...headers, ...authentication },
      body,
      timeoutMilliseconds: Math.max(1, timeoutMilliseconds - (performance.now() - began)),
    })
  }
  return Object.assign(send, { close: () => agent.destroy() })
}
