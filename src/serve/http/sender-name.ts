import type { Context } from 'hono'
import type { Authenticate } from '../../core/access/authenticate.ts'
import type { Clock } from '../../platform/base/clock.ts'
import type { Trace } from '../../platform/base/trace.ts'
import { traceOf } from '../../platform/cloudevents/trace.ts'
import type { Kubernetes } from '../../platform/kubernetes/client.ts'
import { addressOf } from './incoming.ts'

/** Names the sender of a request before its body is read. */
export type NameSender = (context: Context) => Promise<string>

type Dependencies = {
  readonly authenticate?: Authenticate | undefined
  connect(deadline: number, trace?: Trace): Kubernetes
  readonly clock: Pick<Clock, 'now'>
  readonly timeoutMilliseconds: number
}

/** Names senders by their token, as the API server knows them, else by their address. Rejects with Refused, 401, for a missing or invalid token. */
export const createNameSender =
  ({ authenticate, connect, clock, timeoutMilliseconds }: Dependencies): NameSender =>
  async (context) => {
    if (authenticate === undefined) return addressOf(context)
    const headers = context.req.header()
    const kubernetes = connect(clock.now() + timeoutMilliseconds, traceOf({ extensions: headers }))
    return (await authenticate(kubernetes, headers.authorization)).author.username
  }
