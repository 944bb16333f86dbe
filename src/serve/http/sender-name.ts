import type { Context } from 'hono'
import type { createAnswerQuery } from '../../ask/views/answer-query.ts'
import { traceOf } from '../../platform/cloudevents/trace.ts'
import { addressOf } from './incoming.ts'

/** Names the sender of a request before its body is read. */
export type NameSender = (context: Context) => Promise<string>

/** Names senders by their token, as the API server knows them, else by their address. Rejects with Refused, 401, for a missing or invalid token. */
export const createNameSender =
  ({ authenticate, connect, clock, timeoutMilliseconds }: Parameters<typeof createAnswerQuery>[0]): NameSender =>
  async (context) => {
    if (authenticate === undefined) return addressOf(context)
    const headers = context.req.header()
    const kubernetes = connect(clock.now() + timeoutMilliseconds, traceOf({ extensions: headers }))
    return (await authenticate(kubernetes, headers.authorization)).author.username
  }
