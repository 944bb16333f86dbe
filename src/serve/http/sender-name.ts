import type { Context } from 'hono'
import type { Authenticate } from '../../core/access/authenticate.ts'
import type { Clock } from '../../platform/base/clock.ts'
import type { Trace } from '../../platform/base/trace.ts'
import { traceOf } from '../../platform/cloudevents/trace.ts'
import type { Kubernetes } from '../../platform/kubernetes/client.ts'
import { addressOf } from './incoming.ts'

/** Names who sends a request, before its body is read. */
export type NameSender = (context: Context) => Promise<string>

type Dependencies = {
  readonly authenticate?: Authenticate | undefined
  connect(deadline: number, trace?: Trace): Kubernetes
  readonly clock: Pick<Clock, 'now'>
  readonly timeoutMilliseconds: number
}

/** Senders by their token, as the API server names them, else by their address. A token that is missing or not valid is refused (401). */
export const createNameSender =
  ({ authenticate, connect, clock, timeoutMilliseconds }: Dependencies): NameSender =>
  async (context) => {
    if (authenticate === undefined) return addressOf(context)
    const headers = context.req.header()
    const kubernetes = connect(clock.now() + timeoutMilliseconds, traceOf({ extensions: headers }))
    return (await authenticate(kubernetes, headers.authorization)).author.username
  }
