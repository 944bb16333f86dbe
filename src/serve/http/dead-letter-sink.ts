import type { Hono as App } from 'hono'
import type { Log } from '../../platform/base/log.ts'
import { type Event, readEvent } from '../../platform/cloudevents/cloud-event.ts'
import { createIntake } from './body.ts'
import { loggedLetter } from './dead-letter-records.ts'
import { failureOf, respond } from './failure.ts'
import { checkHostAndOrigin } from './host-and-origin.ts'
import { createRouter } from './router.ts'

type Options = {
  log: Log
  /** Allowed values of the Host header, as of `createApp`. */
  hosts?: readonly string[] | undefined
  /** Records a dead letter on the object of its application. */
  record?: ((event: Event, reason: string | undefined) => Promise<void>) | undefined
}

/**
 * Creates a sink for events that could not be delivered. It logs and records each with the reason from Knative's `knativeerror…` extensions, if there are
 * any. The Kubernetes Event lives as long as the API server keeps it, and the log has all events. Events can be sent again from both.
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
      // the letter is in the log already, and an error answer would not bring it back
      await record(event, reason).catch((error: Error) =>
        log.warn({ id: event.id, reason: error.message }, 'dead letter without an Event'),
      )
      return context.body(null, 204)
    }
    return await intake.take(context, take)
  })
  app.onError((error, context) => {
    // the event is lost after this answer, so everything readable is logged
    const headers = Object.entries(context.req.header()).filter(([name]) => !SECRET.includes(name))
    log.error({ headers: Object.fromEntries(headers), reason: error.message }, 'dead letter that cannot be read')
    return respond(failureOf(error))
  })
  return app
}

const SECRET = ['authorization', 'proxy-authorization', 'x-forwarded-authorization', 'cookie']
