import type { IncomingMessage } from 'node:http'
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Context } from 'hono'
import type { Authenticate } from '../access/authenticate.ts'
import type { Clock } from '../base/clock.ts'
import type { Trace } from '../base/trace.ts'
import { traceOf } from '../cloudevents/trace.ts'
import type { Kubernetes } from '../kubernetes/client.ts'

/** Names who sends a request, before its body is read. */
export type SenderOf = (context: Context) => Promise<string>

type Dependencies = {
  readonly authenticate?: Authenticate | undefined
  connect(deadline: number, trace?: Trace): Kubernetes
  readonly clock: Pick<Clock, 'now'>
  readonly timeoutMilliseconds: number
}

/** Senders by their token, as the API server names them, else by their address. A token that is missing or not valid is refused (401). */
export const createSenderOf =
  ({ authenticate, connect, clock, timeoutMilliseconds }: Dependencies): SenderOf =>
  async (context) => {
    if (authenticate === undefined) return incomingOf(context)?.socket.remoteAddress ?? ''
    const headers = context.req.header()
    const kubernetes = connect(clock.now() + timeoutMilliseconds, traceOf({ extensions: headers }))
    return (await authenticate(kubernetes, headers.authorization)).author.username
  }

/** Tells if all of the body has come with the headers, or right after them. Servers of Node know; of others it is taken for granted. */
export const isReceived = async (context: Context): Promise<boolean> => {
  const incoming = incomingOf(context)
  // the end of what was read from a connection is only seen after its beginning
  if (incoming?.complete === false) await nextTurn()
  return incoming?.complete ?? true
}

const incomingOf = ({ env }: Context): IncomingMessage | undefined =>
  (env as { incoming?: IncomingMessage } | undefined)?.incoming
