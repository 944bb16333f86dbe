import type { Context } from 'hono'
import { createBudget, within } from '../../platform/base/budget.ts'
import { Refused, Unavailable } from '../../platform/base/errors.ts'
import { addressOf, isReceived } from './incoming.ts'
import type { NameSender } from './sender-name.ts'

/** The largest body: an event with a ConfigMap of 1 MiB, and its envelope. */
const MAXIMUM_BYTES = 2 * 1024 * 1024

/**
 * The total size of bodies in work. A larger body is taken alone. Sixty configs of 450 kB, twenty at a time, need 113 MiB with this limit, and 264 MiB
 * with twice as much. A pod has 256 MiB.
 */
const MAXIMUM_BYTES_HELD = 1024 * 1024

/**
 * The limit of incomplete bodies, with at most five of one sender. Each occupies one of the 20 requests that queue-proxy admits, until it is complete or
 * cut off.
 */
const MOST_AWAITED = 7

/** Limits the resources of requests: the memory for their bodies, and the number of slow ones. */
export type Intake = {
  /**
   * Reads a body and passes it to `use`. The bytes are released when `use` ends. Rejects with Refused for a body that is compressed (415), too large (413)
   * or cut off (400), and with Unavailable (429) if too many bytes are in work, or too many bodies are incomplete, in total or for this sender. A body
   * that is already complete does not count as incomplete.
   */
  take<T>(context: Context, use: (body: Uint8Array) => Promise<T>): Promise<T>
}

/** Creates limits. Senders are told apart before their bodies are read: by default by their addresses. */
export const createIntake = (
  nameSender: NameSender = async (context) => addressOf(context),
  maximumBytesHeld = MAXIMUM_BYTES_HELD,
): Intake => {
  const budget = createBudget(maximumBytesHeld, 'too many requests are in progress here: send it again in a moment')
  const awaited = createBudget(
    MOST_AWAITED,
    'too many requests are still being received here: send it again in a moment',
  )
  return {
    take: async (context, use) => {
      const sender = await nameSender(context)
      const isComplete = await isReceived(context)
      const request = context.req.raw
      const { headers } = request
      refuseCompressed(headers)
      const announced = Number(headers.get('content-length') ?? 0)
      if (announced > MAXIMUM_BYTES) throw tooLarge()
      const account = budget.open(sender)
      let held = 0
      const hold = (bytes: number): void => {
        if (!(bytes > held)) return
        account.keep(bytes - held)
        held = bytes
      }
      try {
        hold(announced)
        const read = () => readBody(request, hold)
        return await use(await (isComplete ? read() : within(awaited, sender, read)))
      } finally {
        account.close()
      }
    },
  }
}

/** Reads a body. `received` gets the number of bytes so far, and may throw. */
const readBody = async ({ body }: Request, received: (bytes: number) => void): Promise<Uint8Array> => {
  const parts: Uint8Array[] = []
  let bytes = 0
  try {
    for await (const part of body ?? []) {
      bytes += part.byteLength
      if (bytes > MAXIMUM_BYTES) throw tooLarge()
      received(bytes)
      parts.push(part)
    }
  } catch (error) {
    if (error instanceof Refused || error instanceof Unavailable) throw error
    throw new Refused(400, `the body ended after ${bytes} bytes: ${(error as Error).message}`, { cause: error })
  }
  return Buffer.concat(parts)
}

/** Refuses compressed bodies. A few compressed kilobytes may expand to gigabytes, and no sender of Knative compresses. */
const refuseCompressed = (headers: Headers): void => {
  const encoding = headers.get('content-encoding') ?? 'identity'
  if (encoding.toLowerCase() !== 'identity')
    throw new Refused(415, `content-encoding: expected a body that is not compressed, got ${encoding.slice(0, 50)}`)
}

const tooLarge = (): Refused =>
  new Refused(413, `the body is larger than ${MAXIMUM_BYTES} bytes: send less in one request`)
