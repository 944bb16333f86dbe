import type { Hono as App } from 'hono'
import type { Log } from '../../platform/base/log.ts'
import { type Event, readEvent } from '../../platform/cloudevents/cloud-event.ts'
import { createIntake } from './body.ts'
import { loggedLetter } from './dead-letter-records.ts'
import { failureOf, respond } from './failure.ts'
import { checkHostAndOrigin } from './host-and-origin.ts'
import { addressOf, isReceived } from './incoming.ts'
import { createRouter } from './router.ts'

type Options = {
  log: Log
  /** Names that a request may have as Host, as of `createApp`. */
  hosts?: readonly string[] | undefined
  /** Makes a dead letter known where its application is looked at. */
  record?: ((event: Event, reason: string | undefined) => Promise<void>) | undefined
}

/**
 * A sink for events that could not be delivered: logs and records each with why (Knative's `knativeerror…` extensions, where there are
 * any). The Kubernetes Event keeps it for as long as the API server keeps that, and the log has all of them: both can be sent again.
 */
export const createDeadLetterSink = ({ log, hosts, record = async () => undefined }: Options): App => {
  const app = createRouter()
  const intake = createIntake()
  app.get('/health/liveness', (context) => context.text('ok'))
  app.get('/health/readiness', (context) => context.text('ok'))
  if (hosts) app.use(checkHostAndOrigin(hosts))
  app.post('/', async (context) => {
    const take = async (body: Uint8Array): Promise<Response> => {
      const event = readEvent({ headers: context.req.header(), body })
      const { knativeerrordata } = event.extensions
      const reason = knativeerrordata === undefined ? undefined : Buffer.from(knativeerrordata, 'base64').toString()
      log.error({ ...loggedLetter(event), ...(reason !== undefined && { reason }) }, 'dead letter')
      // it is in the log: nobody would send it again
      await record(event, reason).catch((error: Error) =>
        log.warn({ id: event.id, reason: error.message }, 'dead letter without an Event'),
      )
      return context.body(null, 204)
    }
    return await intake.take(context.req.raw, take, addressOf(context), await isReceived(context))
  })
  app.onError((error, context) => {
    // nobody keeps it after this: what can be said of it is said here
    const headers = Object.entries(context.req.header()).filter(([name]) => !SECRET.includes(name))
    log.error({ headers: Object.fromEntries(headers), reason: error.message }, 'dead letter that cannot be read')
    return respond(failureOf(error))
  })
  return app
}

const SECRET = ['authorization', 'proxy-authorization', 'x-forwarded-authorization', 'cookie']
