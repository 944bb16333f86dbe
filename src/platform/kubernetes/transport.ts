import * as http from 'node:http'
import * as https from 'node:https'
import { isDeepStrictEqual } from 'node:util'
import { sendHttpRequest } from '../base/http-request.ts'
import type { Transport } from './client.ts'

/** The address of the API server, and its credentials. */
export type ApiServerEndpoint = {
  /** `https://10.96.0.1:443`, or `http://` without TLS. */
  server: string
  /** Called before every request, so that a rotated token or certificate is used. */
  credentials(): Credentials | Promise<Credentials>
}

export type Credentials = { headers?: Record<string, string> } & Tls

type Tls = Pick<https.RequestOptions, 'ca' | 'cert' | 'key' | 'servername' | 'rejectUnauthorized'>

/** Limits the wait for credentials, which may come from a program that hangs. */
const within = async <T>(milliseconds: number, answer: Promise<T>): Promise<T> => {
  let timer: NodeJS.Timeout | undefined
  const expiry = new Promise<never>((_, reject) => {
    timer = setTimeout(
      () => reject(new Error(`aborted after ${Math.ceil(milliseconds)} ms without credentials`)),
      milliseconds,
    )
  })
  return await Promise.race([answer, expiry]).finally(() => clearTimeout(timer))
}

/** Returns what the server is known by. A certificate of this process would count before the credentials of somebody else. */
const withoutClient = ({ cert: _c, key: _k, ...server }: Tls): Tls => server

/**
 * Sends requests over node:https with a keep-alive agent. `close` ends its idle connections. New TLS options get a new agent, because one agent for
 * several would build the name of a connection from all certificates, several times for each request. A request with a header `authorization` has none of the credentials.
 */
export const createTransport = ({ server, credentials }: ApiServerEndpoint): Transport & { close(): void } => {
  const secure = server.startsWith('https:')
  const createAgent = () =>
    Object.assign(new (secure ? https : http).Agent({ keepAlive: true }), { getName: () => server })
  let kept: { readonly tls: Tls; readonly agent: http.Agent } = { tls: {}, agent: createAgent() }
  const agentFor = (tls: Tls): http.Agent => {
    if (!isDeepStrictEqual(kept.tls, tls)) kept = { tls, agent: createAgent() }
    return kept.agent
  }
  const base = server.replace(/\/+$/, '')

  const send: Transport = async ({ method, path, headers, body, timeoutMilliseconds, mostCharacters }) => {
    const began = performance.now()
    const given = credentials()
    const { headers: authentication, ...tls } =
      given instanceof Promise ? await within(timeoutMilliseconds, given) : given
    return await sendHttpRequest(base + path, {
      ...(headers.authorization === undefined
        ? { ...tls, agent: agentFor(tls), headers: { ...headers, ...authentication } }
        : { ...withoutClient(tls), headers }),
      method,
      body,
      mostCharacters,
      timeoutMilliseconds: timeoutMilliseconds - (performance.now() - began),
    })
  }
  return Object.assign(send, { close: () => kept.agent.destroy() })
}
