import { once } from 'node:events'
import * as http from 'node:http'
import * as https from 'node:https'
import { text } from 'node:stream/consumers'

/** The part of `fetch` that is used; all of it would load undici, 28 ms and 7 MB of a cold start. */
export type Post = (
  url: string,
  request: { method: string; headers: Record<string, string>; body: string; signal: AbortSignal; redirect: 'manual' },
) => Promise<{ status: number; ok: boolean; text(): Promise<string> }>

/** Sends a request over node:http or node:https, whose connections are kept. */
export const post: Post = async (url, { method, headers, body, signal }) => {
  const { request } = url.startsWith('https:') ? https : http
  const sent = request(url, { method, signal, headers: { ...headers, 'content-length': Buffer.byteLength(body) } })
  sent.end(body)
  const [response] = (await once(sent, 'response')) as [http.IncomingMessage]
  const { statusCode: status = 0 } = response
  return { status, ok: status >= 200 && status < 300, text: () => text(response) }
}
