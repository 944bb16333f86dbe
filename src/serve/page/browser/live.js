/**
 * @typedef {{ time: string, namespace?: string, application?: string, status: string, written: string[], removed?: string[],
 *   messages: string[], event: { type: string } }} Step
 */

const FIRST_DELAY = 500
const LONGEST_DELAY = 10_000

/**
 * Follows steps, and reconnects after the last one when the connection ends. An EventSource cannot send a token.
 * @param {{ ask: (path: string, init?: RequestInit) => Promise<Response>, path: string, last: { id: string }, signal: AbortSignal,
 *   onStep: (step: Step) => void, onState: (state: 'live' | 'reconnecting') => void }} options
 */
export const follow = async ({ ask, path, last, signal, onStep, onState }) => {
  let delay = FIRST_DELAY
  while (!signal.aborted) {
    try {
      const response = await ask(path, { signal, headers: { 'last-event-id': last.id } })
      if (response.body === null) return
      onState('live')
      delay = FIRST_DELAY
      for await (const { id, data } of messagesIn(response.body)) {
        last.id = id
        onStep(JSON.parse(data))
      }
    } catch {
      // the next attempt reports the problem
    }
    if (signal.aborted) return
    onState('reconnecting')
    const pause = delay
    await new Promise((resolve) => setTimeout(resolve, pause))
    delay = Math.min(LONGEST_DELAY, delay * 2)
  }
}

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
