import type { IncomingMessage } from 'node:http'
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Context } from 'hono'

/** Tells if all of the body has come with the headers, or right after them. Servers of Node know; of others it is taken for granted. */
export const isReceived = async (context: Context): Promise<boolean> => {
  const incoming = incomingOf(context)
  // the end of what was read from a connection is only seen after its beginning
  if (incoming?.complete === false) await nextTurn()
  return incoming?.complete ?? true
}

/** The address of who sends a request, '' where that is not known. */
export const addressOf = (context: Context): string => incomingOf(context)?.socket.remoteAddress ?? ''

/** The request as a server of Node has it, by the name that servers for Hono give it; undefined in others. */
export const incomingOf = ({ env }: Context): IncomingMessage | undefined =>
  (env as { incoming?: IncomingMessage } | undefined)?.incoming
