import * as http from 'node:http'
import * as https from 'node:https'

/** One HTTP request, and its answer as text. Redirects are not followed. Rejects when the answer is not complete after `timeoutMilliseconds`. */
export type SendHttpRequest = (
  url: string,
  request: {
    readonly method: string
    readonly headers: Readonly<Record<string, string>>
    readonly body?: string | undefined
    readonly timeoutMilliseconds: number
    /** Of an answer that is longer, only its beginning is read. */
    readonly mostCharacters?: number | undefined
  } & Pick<https.RequestOptions, 'agent' | 'ca' | 'cert' | 'key' | 'servername' | 'rejectUnauthorized'>,
) => Promise<{ status: number; headers: http.IncomingHttpHeaders; body: string }>

/** Sends a request over node:http or node:https, whose connections are kept; `fetch` would load undici, 28 ms and 7 MB of a cold start. */
export const sendHttpRequest: SendHttpRequest = async (
  url,
  { body = '', headers, timeoutMilliseconds, mostCharacters, ...options },
) => {
  const { request } = url.startsWith('https:') ? https : http
  const sent = request(url, { ...options, headers: { ...headers, 'content-length': Buffer.byteLength(body) } })
  // no signal of a timeout: nothing ends one before its time, and each costs an exception then
  const timer = setTimeout(
    () => sent.destroy(new Error(`aborted after ${timeoutMilliseconds} ms`)),
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

/** Decodes each part as it comes: an answer in one buffer would be there twice. */
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
