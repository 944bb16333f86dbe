import type { IncomingMessage } from 'node:http'
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Context } from 'hono'

/** Tells if the whole body arrived with the headers, or right after them. Only Node's server knows this. Elsewhere the body is assumed to be complete. */
export const isReceived = async (context: Context): Promise<boolean> => {
  const incoming = incomingOf(context)
  // Node sees the end of received data one turn after its start
  if (incoming?.complete === false) await nextTurn()
  return incoming?.complete ?? true
}

/** Returns the address of the sender, or '' if it is unknown. */
export const addressOf = (context: Context): string => incomingOf(context)?.socket.remoteAddress ?? ''

/** Returns the query of a request. */
export const queryOf = ({ req }: Context): URLSearchParams => new URL(req.url).searchParams

/** Returns Node's request object, by the name that Hono's servers use. Returns undefined on other servers. */
const incomingOf = ({ env }: Context): IncomingMessage | undefined =>
  (env as { incoming?: IncomingMessage } | undefined)?.incoming
