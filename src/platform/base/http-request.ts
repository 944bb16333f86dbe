import * as http from 'node:http'
import * as https from 'node:https'

/**
 * Sends one HTTP request, and resolves to its answer as text. It does not follow redirects. Rejects if the answer is incomplete after
 * `timeoutMilliseconds`, and sends nothing if no time is left.
 */
export type SendHttpRequest = (
  url: string,
  request: {
    readonly method: string
    readonly headers: Readonly<Record<string, string>>
    readonly body?: string | undefined
    readonly timeoutMilliseconds: number
    /** The limit of an answer. Of a longer one, only the beginning is read. */
    readonly mostCharacters?: number | undefined
  } & Pick<https.RequestOptions, 'agent' | 'ca' | 'cert' | 'key' | 'servername' | 'rejectUnauthorized'>,
) => Promise<{ status: number; headers: http.IncomingHttpHeaders; body: string }>

/** Sends a request over node:http or node:https with kept connections. `fetch` would load undici, which costs 28 ms and 7 MB of a cold start. */
export const sendHttpRequest: SendHttpRequest = async (
  url,
  { body = '', headers, timeoutMilliseconds, mostCharacters, ...options },
) => {
  if (timeoutMilliseconds <= 0) throw new Error('not sent: its time was used up before')
  const { request } = url.startsWith('https:') ? https : http
  const sent = request(url, { ...options, headers: { ...headers, 'content-length': Buffer.byteLength(body) } })
  // not AbortSignal.timeout: it cannot be cancelled, and so costs an exception later
  const timer = setTimeout(
    () => sent.destroy(new Error(`aborted after ${Math.ceil(timeoutMilliseconds)} ms`)),
    timeoutMilliseconds,
  )
  try {
    const response = new Promise<http.IncomingMessage>(
      (resolve, reject) => void sent.on('response', resolve).on('error', reject),
    )
    sent.end(body)
    const { statusCode: status = 0, headers } = await response
    return { status, headers, body: await readText(await response, mostCharacters) }
  } finally {
    clearTimeout(timer)
  }
}

/** Decodes each part when it arrives. With one buffer, the answer would be in memory twice. */
const readText = (response: http.IncomingMessage, most = Number.POSITIVE_INFINITY): Promise<string> =>
  new Promise((resolve, reject) => {
    const parts: string[] = []
    let length = 0
    response
      .setEncoding('utf8')
      .on('data', (part: string) => {
        parts.push(part)
        length += part.length
        if (length <= most) return
        resolve(parts.join(''))
        response.destroy()
      })
      .on('end', () => resolve(parts.join('')))
      .on('error', reject)
  })
