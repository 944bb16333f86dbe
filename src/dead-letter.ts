import { Hono } from 'hono'
import { createIntake } from './body.ts'
import { readEvent } from './events/cloud-event.ts'
import { failureOf, respond } from './failure.ts'
import type { Log } from './function.ts'

/**
 * A sink for events that could not be delivered: logs each with why (Knative's `knativeerror…` extensions, where there are any) and
 * forgets it. Whoever wants to keep or replay them puts a sink of their own in its place.
 */
export const createDeadLetterApp = ({ log }: { log: Log }): Hono => {
  const app = new Hono()
  const intake = createIntake()
  app.post('/', (context) =>
    intake.take(context.req.raw, async (body) => {
      const event = readEvent({ headers: context.req.header(), body })
      const { knativeerrordata: reason } = event.extensions
      log.error(
        { event, ...(reason !== undefined && { reason: Buffer.from(reason, 'base64').toString() }) },
        'dead letter',
      )
      return context.body(null, 204)
    }),
  )
  app.get('/health/liveness', (context) => context.text('ok'))
  app.get('/health/readiness', (context) => context.text('ok'))
  app.onError((error, context) => {
    // nobody keeps it after this: what can be said of it is said here
    const headers = Object.entries(context.req.header()).filter(([name]) => !SECRET.includes(name))
    log.error({ headers: Object.fromEntries(headers), reason: error.message }, 'dead letter that cannot be read')
    return respond(failureOf(error))
  })
  return app
}

const SECRET = ['authorization', 'cookie']
