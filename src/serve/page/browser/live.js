/**
 * @typedef {{ time: string, namespace?: string, application?: string, status: string, written: string[], removed?: string[],
 *   messages: string[], event: { type: string } }} Step
 * @typedef {{ readonly id: string, readonly step: Step }} Told A step with the id of its message.
 * @typedef {{ readonly state: 'live' | 'reconnecting' | 'refused', readonly reason?: string }} Connection
 * @typedef {{ readonly told?: readonly Told[], readonly connection?: Connection | undefined, readonly asks?: true }} Message
 */

const FIRST_DELAY = 500
const LONGEST_DELAY = 10_000
/** The server keeps as many. */
const MOST_KEPT = 200

/** An answer of the server that is an error. */
export class Refusal extends Error {}

/**
 * Follows steps together with all other pages of the same token, because a browser has six connections to a host. One page holds the lock and the stream,
 * and tells the others. A page that comes later asks for what was told before. A browser has locks at localhost and with HTTPS. Elsewhere each page has a
 * stream of its own.
 * @param {{ ask: (path: string, init?: RequestInit) => Promise<Response>, token: string, kept: Told[], signal: AbortSignal,
 *   onStep: (told: Told) => void, onConnection: (connection: Connection) => void }} options
 */
export const follow = async ({ ask, token, kept, signal, onStep, onConnection }) => {
  /** @type {Connection | undefined} */
  let connected
  /** @param {Message} message */
  const take = ({ told = [], connection }) => {
    for (const one of told.filter(({ id }) => kept.every((known) => known.id !== id))) {
      kept.push(one)
      kept.splice(0, kept.length - MOST_KEPT)
      onStep(one)
    }
    if (connection) onConnection(connection)
  }
  /** @type {BroadcastChannel | undefined} */
  let channel
  /** @param {Message} message */
  const tell = (message) => {
    if (signal.aborted) return
    connected = message.connection ?? connected
    channel?.postMessage(message)
    take(message)
  }
  const lead = () => readAll({ ask, last: () => kept.at(-1)?.id ?? '0', signal, tell })
  if (!('locks' in navigator)) return await lead()
  const name = await nameOf(token)
  if (signal.aborted) return
  channel = new BroadcastChannel(name)
  channel.onmessage = ({ data }) => {
    if (!data.asks) take(data)
    else if (connected) channel?.postMessage({ told: kept, connection: connected })
  }
  signal.addEventListener('abort', () => channel?.close())
  channel.postMessage({ asks: true })
  await navigator.locks.request(name, { signal }, lead).catch(() => undefined)
}

/** Other pages see the name, and must not see the token. @param {string} token */
const nameOf = async (token) => {
  const digest = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(token))
  return `steps ${new Uint8Array(digest).join()}`
}

/**
 * Reads the stream, and again after the last step when it ends. An EventSource cannot send a token.
 * @param {{ ask: (path: string, init?: RequestInit) => Promise<Response>, last: () => string, signal: AbortSignal, tell: (message: Message) => void }} options
 */
const readAll = async ({ ask, last, signal, tell }) => {
  let delay = FIRST_DELAY
  while (!signal.aborted) {
    /** @type {Connection} */
    let connection = { state: 'reconnecting' }
    try {
      const { body } = await ask('/steps', { signal, headers: { 'last-event-id': last() } })
      if (body === null) return
      tell({ connection: { state: 'live' } })
      delay = FIRST_DELAY
      for await (const { id, data } of messagesIn(body)) tell({ told: [{ id, step: JSON.parse(data) }] })
    } catch (error) {
      // the next attempt reports any other problem
      if (error instanceof Refusal) connection = { state: 'refused', reason: error.message }
    }
    tell({ connection })
    await pause(delay, signal)
    delay = Math.min(LONGEST_DELAY, delay * 2)
  }
}

/** @param {number} milliseconds @param {AbortSignal} signal */
const pause = (milliseconds, signal) =>
  new Promise((resolve) => {
    if (signal.aborted) return resolve(undefined)
    setTimeout(resolve, milliseconds)
    signal.addEventListener('abort', resolve)
  })

/**
 * https://html.spec.whatwg.org/multipage/server-sent-events.html#event-stream-interpretation
 * @param {ReadableStream<Uint8Array<ArrayBuffer>>} body
 */
async function* messagesIn(body) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader()
  let text = ''
  for (;;) {
    const { done, value } = await reader.read()
    if (done) return
    text += value
    const parts = text.split('\n\n')
    text = parts.pop() ?? ''
    for (const part of parts) {
      const fields = new Map(
        part.split('\n').map((line) => /** @type {[string, string]} */ (line.split(/: (.*)/s).slice(0, 2))),
      )
      const [id, data] = [fields.get('id'), fields.get('data')]
      if (id !== undefined && data !== undefined) yield { id, data }
    }
  }
}
