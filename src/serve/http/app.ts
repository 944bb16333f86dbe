import { randomUUID } from 'node:crypto'
import type { Hono as App, Context } from 'hono'
import { readProposal } from '../../ask/preview/input.ts'
import type { Asked, Preview } from '../../ask/preview/preview.ts'
import type { Handle } from '../../core/events/handle.ts'
import { type Handled, UNCHANGED } from '../../core/reconcile/outcome.ts'
import type { Clock } from '../../platform/base/clock.ts'
import { Refused, Unavailable } from '../../platform/base/errors.ts'
import type { Log } from '../../platform/base/log.ts'
import { DNS_LABEL } from '../../platform/base/names.ts'
import { ownValue } from '../../platform/base/own-value.ts'
import { type Event, readEvent, writeEvent } from '../../platform/cloudevents/cloud-event.ts'
import { causedBy, traceOf, withTraceOf } from '../../platform/cloudevents/trace.ts'
import { REPLY_TYPES } from '../schemas/reply-types.ts'
import type { Applications } from './applications.ts'
import { createIntake } from './body.ts'
import type { Explain } from './explain.ts'
import { failureOf, respond } from './failure.ts'
import { checkHostAndOrigin } from './host-and-origin.ts'
import { queryOf } from './incoming.ts'
import type { Lint } from './lint.ts'
import type { Propose } from './propose.ts'
import { createRouter } from './router.ts'
import type { NameSender } from './sender-name.ts'
import type { StepStream } from './step-stream.ts'
import type { Traffic } from './traffic.ts'

export type AppOptions = {
  /** Takes events. Without it the app only answers questions. */
  handle?: Handle | undefined
  /** Answers `GET /explain`. */
  explain?: Explain | undefined
  /** Answers `GET /applications/{namespace}/{application}`. */
  applications?: Applications | undefined
  /** Answers `GET /lint`. */
  lint?: Lint | undefined
  /** Answers `GET /traffic`, and `POST /traffic` with what was observed. */
  traffic?: Traffic | undefined
  /** Answers `GET /propose`, and `POST /propose` with what was observed. */
  propose?: Propose | undefined
  /** Answers `GET /steps`. */
  steps?: StepStream | undefined
  /** Answers `POST /plan`, and events of the extension `dryrun`. */
  preview?: Preview | undefined
  /** Names the sender of a body before it is read. @default the address */
  nameSender?: NameSender | undefined
  /** Allowed values of the Host header. @default any, so that a page of any host may send requests */
  hosts?: readonly string[] | undefined
  clock: Clock
  log: Log
  /** Once this returns true, every event is answered with 503. */
  isStopping?: (() => boolean) | undefined
  newId?: (() => string) | undefined
}

/**
 * Creates the app. `POST /` takes a CloudEvent by its type, and `POST /{function}` one of that function only. Both answer after the step, with a
 * `dev.meshstep.reconciled.v1` event. `POST /plan` reports the effect of events and documents, and writes nothing. `GET /explain` tells if a request would
 * pass. `GET /applications/{namespace}/{application}` shows the memory of an application. `OPTIONS` answers the handshake of CloudEvents' webhooks, and
 * `GET /health/…` the kubelet's probes.
 */
export const createApp = ({
  handle,
  explain,
  applications,
  lint,
  traffic,
  propose,
  steps,
  preview,
  nameSender,
  hosts,
  clock,
  log,
  isStopping = () => false,
  newId = randomUUID,
}: AppOptions): App => {
  const intake = createIntake(nameSender)
  const ofTraffic = { '/traffic': traffic, '/propose': propose }
  const take = async (context: Context): Promise<Response> => {
    if (isStopping()) throw new Unavailable('this process is stopping: another one takes the event')
    const headers = context.req.header()
    const only = context.req.param('function')
    if (handle === undefined) throw new Refused(400, 'this process takes no events: it only answers questions')
    const read = async (body: Uint8Array): Promise<Response> => {
      const event = withTraceOf(readEvent({ headers, body }), headers)
      const { dryrun = 'false' } = event.extensions
      if (dryrun !== 'false') return await rehearse(context, event, dryrun)
      const handled = await handle(event, { only, authorization: headers.authorization })
      const reply = writeEvent(replyTo(event, handled, newId(), new Date(clock.now())))
      return context.body(reply.body, 200, reply.headers)
    }
    return await intake.take(context, read)
  }

  /** Plans an event instead of taking it. Throws Refused, 400, for any value but `true`, and if no plans are available, so that a dry run never acts. */
  const rehearse = async (context: Context, event: Event, dryrun: string): Promise<Response> => {
    if (dryrun !== 'true') throw new Refused(400, `dryrun: expected true or false, got ${dryrun.slice(0, 20)}`)
    if (preview === undefined) throw new Refused(400, 'dryrun: no plans are made here')
    const { authorization } = context.req.header()
    const { dryrun: _, ...extensions } = event.extensions
    const proposal = { events: [{ ...event, extensions }], objects: [], expectations: [] }
    const plan = await preview(proposal, { authorization, trace: traceOf(event) })
    const reply = {
      ...replyTo(event, UNCHANGED, newId(), new Date(clock.now())),
      type: REPLY_TYPES.planned,
      data: plan,
    }
    const { body, headers } = writeEvent(reply)
    return context.body(body, 200, headers)
  }

  const app = createRouter()
  // Readiness does not check the API server: while that is away, it does not help to restart this process or to cut it off.
  app.get('/health/liveness', (context) => context.text('ok'))
  app.get('/health/readiness', (context) => context.text('ok', isStopping() ? 503 : 200))
  if (hosts) app.use(checkHostAndOrigin(hosts))
  app.post('/', take)
  if (preview)
    app.post('/plan', async (context) => {
      const plan = async (body: Uint8Array): Promise<Response> => {
        const headers = context.req.header()
        const proposal = await readProposal({ headers, body }, clock)
        return context.json(await preview(proposal, readAsked(queryOf(context), headers)))
      }
      return await intake.take(context, plan)
    })
  for (const [path, question] of Object.entries({ '/explain': explain, '/lint': lint, ...ofTraffic })) {
    if (question === undefined) continue
    app.get(path, async (context) =>
      context.json(await question(queryOf(context), context.req.header('authorization'))),
    )
  }
  for (const [path, question] of Object.entries(ofTraffic)) {
    if (question === undefined) continue
    app.post(path, async (context) => {
      const ask = async (body: Uint8Array): Promise<Response> =>
        context.json(await question(queryOf(context), context.req.header('authorization'), body))
      return await intake.take(context, ask)
    })
  }
  app.post('/:function', take)
  app.get('/schemas/asyncapi.json', async (context) => context.json((await loadSchemas()).asyncApi()))
  app.get('/schemas/openapi.json', async (context) => context.json((await import('./open-api.ts')).openApi()))
  app.get('/schemas/:file', async (context) => {
    const { schemas } = await loadSchemas()
    const schema = ownValue(schemas, context.req.param('file').replace(/\.json$/, ''))
    if (schema === undefined)
      throw new Refused(
        404,
        `expected /schemas/asyncapi.json, /schemas/openapi.json or one of ${Object.keys(schemas).join(', ')}, with .json`,
      )
    return context.json(schema())
  })
  if (steps)
    app.get('/steps', async (context) => {
      const { authorization, 'last-event-id': last } = context.req.header()
      return await steps.stream(queryOf(context), authorization, last)
    })
  if (applications) {
    app.get('/applications', async (context) => {
      const { items, next } = await applications.everywhere(queryOf(context), context.req.header('authorization'))
      return context.json(items, 200, next && { link: `<?${next}>; rel="next"` })
    })
    app.get('/applications/:namespace', async (context) =>
      context.json(await applications.all(context.req.param(), context.req.header('authorization'))),
    )
    app.get('/applications/:namespace/:application', async (context) =>
      context.json(await applications.one(context.req.param(), context.req.header('authorization'))),
    )
  }
  app.options('/', handshake)
  app.options('/:function', handshake)
  app.notFound((context) =>
    respond(
      failureOf(
        new Refused(
          context.req.method === 'POST' ? 400 : 404,
          `${context.req.method} ${context.req.path}: expected POST / or POST /{function}, POST /plan, /traffic or /propose, GET /explain, /lint, /traffic, /propose, /steps, /applications or /applications/{namespace}/{application}`,
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

/** Steps need no schemas, and a cold start would have to read all their descriptions. */
const loadSchemas = () => import('../schemas/schemas.ts')

const LONGEST_REASON = 2_000

const FLAGS = ['delete', 'autoAllowWaypoint']

const isAsked = ([name, value]: [string, string]): boolean =>
  name === 'namespace' ? DNS_LABEL.test(value) : FLAGS.includes(name) && ['true', 'false'].includes(value)

const readAsked = (query: URLSearchParams, headers: Readonly<Record<string, string>>): Asked => {
  const wrong = [...query].find((parameter) => !isAsked(parameter))
  if (wrong)
    throw new Refused(
      400,
      `query: expected ${FLAGS.join(' or ')}, true or false, or the namespace of documents that name none, got ${wrong.join('=')}`,
    )
  const autoAllow = query.get('autoAllowWaypoint')
  return {
    authorization: headers.authorization,
    trace: traceOf({ extensions: headers }),
    isDeletion: query.get('delete') === 'true',
    namespace: query.get('namespace') ?? undefined,
    ...(autoAllow !== null && { autoAllowWaypoint: autoAllow === 'true' }),
  }
}

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
    type: REPLY_TYPES.reconciled,
    ...(subject && { subject }),
    time: now.toISOString(),
    datacontenttype: 'application/json',
    extensions: { ...(subject && { partitionkey: subject }), ...causedBy(event) },
    data,
  }
}
