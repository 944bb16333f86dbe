import { type Context, Hono } from 'hono'
import type { Clock } from '../base/clock.ts'
import { Refused, Unavailable } from '../base/errors.ts'
import { type Event, readEvent, writeEvent } from '../cloudevents/cloud-event.ts'
import { causedBy, withTraceOf } from '../cloudevents/trace.ts'
import type { Handle, Handled } from '../reconcile/handle.ts'
import type { Applications } from './applications.ts'
import { createIntake } from './body.ts'
import type { Explain } from './explain.ts'
import { failureOf, respond } from './failure.ts'

export type Log = Record<'info' | 'warn' | 'error', (fields: Record<string, unknown>, message: string) => void>

export type AppOptions = {
  handle: Handle
  /** Answers `GET /explain`. */
  explain?: Explain | undefined
  /** Answers `GET /applications/{namespace}/{application}`. */
  applications?: Applications | undefined
  clock: Clock
  log: Log
  /** From the moment this is true every event is answered with 503. */
  isStopping?: (() => boolean) | undefined
  newId?: (() => string) | undefined
}

/**
 * `POST /` takes a CloudEvent by its type and `POST /{function}` the same for one function; both answer when the step is done, with a
 * `dev.meshstep.reconciled.v1` event. `GET /explain` says whether a request would pass, and
 * `GET /applications/{namespace}/{application}` what is remembered of one. `OPTIONS` answers the handshake of CloudEvents'
 * webhooks, `GET /health/…` the kubelet.
 */
export const createApp = ({
  handle,
  explain,
  applications,
  clock,
  log,
  isStopping = () => false,
  newId = () => crypto.randomUUID(),
}: AppOptions): Hono => {
  const intake = createIntake()
  const take = async (context: Context): Promise<Response> => {
    if (isStopping()) throw new Unavailable('this process is stopping: another one takes the event')
    const headers = context.req.header()
    const only = context.req.param('function')
    return await intake.take(context.req.raw, async (body) => {
      const event = withTraceOf(readEvent({ headers, body }), headers)
      const handled = await handle(event, { only, authorization: headers.authorization })
      const { namespace, application, drift } = handled
      if (drift) log.warn({ namespace, application, drift }, 'drift repaired')
      const reply = writeEvent(replyTo(event, handled, newId(), new Date(clock.now())))
      return context.body(reply.body, 200, reply.headers)
    })
  }

  const app = new Hono()
  app.post('/', take)
  app.post('/:function', take)
  if (explain)
    app.get('/explain', async (context) => {
      const { searchParams } = new URL(context.req.url)
      return context.json(await explain(searchParams, context.req.header('authorization')))
    })
  if (applications)
    app.get('/applications/:namespace/:application', async (context) => {
      const { namespace, application } = context.req.param()
      return context.json(await applications({ namespace, application }, context.req.header('authorization')))
    })
  app.options('/', handshake)
  app.options('/:function', handshake)
  // Readiness does not ask the API server: when that is away, restarting or starving this process helps nobody.
  app.get('/health/liveness', (context) => context.text('ok'))
  app.get('/health/readiness', (context) => context.text('ok', isStopping() ? 503 : 200))
  app.notFound((context) =>
    respond(
      failureOf(
        new Refused(
          context.req.method === 'POST' ? 400 : 404,
          `${context.req.method} ${context.req.path}: expected POST / or POST /{function}, GET /explain or GET /applications/{namespace}/{application}`,
        ),
      ),
    ),
  )
  app.onError((error, context) => {
    const failure = failureOf(error)
    const fields = {
      path: context.req.path,
      status: failure.status,
      reason: error.message.slice(0, LONGEST_REASON),
      ...(failure.status === 500 && { stack: error.stack }),
    }
    log[failure.status < 500 ? 'warn' : 'error'](
      fields,
      context.req.method === 'POST' ? 'event not taken' : 'not answered',
    )
    return respond(failure)
  })
  return app
}

const LONGEST_REASON = 2_000

/** https://github.com/cloudevents/spec/blob/v1.0.2/cloudevents/http-webhook.md#4-abuse-protection */
const handshake = (context: Context): Response =>
  new Response(null, {
    status: 200,
    headers: {
      allow: 'OPTIONS, POST',
      'webhook-allowed-origin': context.req.header('webhook-request-origin') ?? '*',
      'webhook-allowed-rate': '*',
    },
  })

const replyTo = (event: Event, { function: name, ...data }: Handled, id: string, now: Date): Event => {
  const { namespace, application } = data
  const subject = [namespace, application].filter((part) => part !== undefined).join('/')
  return {
    id,
    source: `/meshstep/${name ?? 'ignored'}`,
    type: 'dev.meshstep.reconciled.v1',
    ...(subject && { subject }),
    time: now.toISOString(),
    datacontenttype: 'application/json',
    extensions: { ...(subject && { partitionkey: subject }), ...causedBy(event) },
    data,
  }
}
