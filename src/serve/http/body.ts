import { createBudget, within } from '../../platform/base/budget.ts'
import { Refused, Unavailable } from '../../platform/base/errors.ts'

/** The largest body: a ConfigMap of 1 MiB in an event, with what surrounds it. */
const MAXIMUM_BYTES = 2 * 1024 * 1024

/**
 * Bodies that are worked on at a time; a larger one is taken by itself. Sixty configs of 450 kB, twenty at a time, need 113 MiB with this,
 * 264 MiB with twice as much; a pod has 256 MiB.
 */
const MAXIMUM_BYTES_HELD = 1024 * 1024

/** Bodies that are waited for at a time, five of one sender: each holds one of the 20 places that queue-proxy has, until it is here or cut off. */
const MOST_AWAITED = 7

/** Bounds what requests take: the memory of their bodies, read and worked on at the same time, and the places of those whose bodies are slow. */
export type Intake = {
  /**
   * Reads a body, and passes it to `use`, whose end releases its bytes. Rejects with Refused for a body that is compressed (415), too
   * large (413) or cut off (400), and with Unavailable (429) when too much is being worked on, or too many are waited for, of all or of this
   * `sender`. One that has come whole, `isReceived`, is not waited for.
   */
  take<T>(request: Request, use: (body: Uint8Array) => Promise<T>, sender?: string, isReceived?: boolean): Promise<T>
}

export const createIntake = (maximumBytesHeld = MAXIMUM_BYTES_HELD): Intake => {
  const budget = createBudget(maximumBytesHeld, 'too much is being worked on here: the event fits in a moment')
  const awaited = createBudget(MOST_AWAITED, 'too many bodies are still on their way here: send it again in a moment')
  return {
    take: async (request, use, sender = '', isReceived = true) => {
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
        return await use(await (isReceived ? read() : within(awaited, sender, read)))
      } finally {
        account.close()
      }
    },
  }
}

/** `received` is told the number of bytes so far, and may throw. */
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

/** A few compressed kilobytes may be gigabytes; no sender of Knative compresses. */
const refuseCompressed = (headers: Headers): void => {
  const encoding = headers.get('content-encoding') ?? 'identity'
  if (encoding.toLowerCase() !== 'identity')
    throw new Refused(415, `content-encoding: expected a body that is not compressed, got ${encoding.slice(0, 50)}`)
}

const tooLarge = (): Refused =>
  new Refused(413, `the body is larger than ${MAXIMUM_BYTES} bytes: send less relation data or config in one event`)
