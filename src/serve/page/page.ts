import type { Context, Hono } from 'hono'
import * as z from 'zod'
import { readingLists } from '../../ask/views/listed.ts'
import { parseInput } from '../../platform/base/issues.ts'
import { parseJson } from '../../platform/base/structured-text.ts'
import { subjectNamed } from '../../platform/base/subject.ts'
import { readEvent } from '../../platform/cloudevents/cloud-event.ts'
import type { ApplicationView } from '../http/applications.ts'
import { createIntake } from '../http/body.ts'
import { queryOf } from '../http/incoming.ts'
import type { Questions } from '../http/server.ts'
import type { Assets } from './assets.ts'
import { createMaps } from './map.ts'
import { eventOf, relate, type Told, unrelate } from './relating.ts'
import type { Story } from './story.ts'
import { plan, why } from './views/answers.ts'
import { application } from './views/application.ts'
import { shell } from './views/shell.ts'

type Options = {
  readonly assets: Assets
  /** Buttons for these events, and for planned ones. Without it the page sends no events. */
  readonly story?: readonly Story[] | undefined
  /** The namespace to show if namespaces may not be listed. */
  readonly home?: string | undefined
  /** The audience of the tokens that the server requires. */
  readonly audience?: string | undefined
}

/** The content security policy. Everything comes from this server, without inline scripts or styles. */
const POLICY = [
  "default-src 'none'",
  ...["script-src 'self'", "worker-src 'self'", "style-src 'self'", "img-src 'self'", "connect-src 'self'"],
  ...["base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'"],
].join('; ')

const SECURITY = {
  'content-security-policy': POLICY,
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
} as const

/** Adds the page to an app: `GET /` for browsers, and the routes that its script uses. A user sees only the answers that they may request directly. */
export const mountPage = (app: Hono, questions: Questions, { assets, story, home, audience }: Options): void => {
  const { explain, applications, preview, nameSender, reading, hasTraffic } = questions
  const hasSteps = questions.steps !== undefined
  const intake = createIntake(nameSender)
  const maps = createMaps({
    ...reading,
    connect: (deadline) => readingLists(reading.connect(deadline)),
    ...(home !== undefined && { home }),
  })

  const answer = (context: Context, body: unknown, type = 'text/html; charset=utf-8') =>
    context.body(String(body), 200, { ...SECURITY, 'content-type': type, 'cache-control': 'no-store' })

  app.get('/', async (context, next) => {
    if (!/\btext\/html\b/.test(context.req.header('accept') ?? '')) return await next()
    return answer(context, await shell({ story, hasSteps, hasTraffic, audience }))
  })

  app.get('/page/:file', async (context, next) => {
    const asset = await assets(context.req.param('file'))
    if (asset === undefined) return await next()
    const headers = { ...SECURITY, 'content-type': asset.type, 'cache-control': 'no-cache', etag: asset.tag }
    if (context.req.header('if-none-match') === asset.tag) return context.body(null, 304, headers)
    return context.body(asset.body, 200, headers)
  })

  app.get('/map', async (context) => {
    const version = context.req.header('if-none-match')?.replaceAll('"', '')
    const map = await maps(queryOf(context), context.req.header('authorization'), version)
    const headers = { 'cache-control': 'no-cache', etag: `"${map?.version ?? version}"` }
    return map === undefined ? context.body(null, 304, headers) : context.json(map, 200, headers)
  })

  app.get('/page/applications/:namespace/:application', async (context) => {
    const view = await applications.one(context.req.param(), context.req.header('authorization'))
    return answer(context, await application(view))
  })

  app.get('/page/explain', async (context) => {
    const explained = await explain(queryOf(context), context.req.header('authorization'))
    return answer(context, await why(explained))
  })

  if (preview)
    app.post('/page/plan', async (context) => {
      const authorization = context.req.header('authorization')
      const given = await intake.take(context, async (body) => parseJson(Buffer.from(body).toString()))
      const asked = parseInput(Asked, given)
      const told = 'event' in asked ? asked.event : await toldBy(asked, applications, authorization)
      const body = Buffer.from(eventOf(told, '/page'))
      const event = readEvent({ headers: { 'content-type': 'application/cloudevents+json' }, body })
      const planned = await preview({ events: [event], objects: [], expectations: [] }, { authorization })
      return answer(context, await plan(planned, told, story !== undefined))
    })
}

const A_NAME = 'expected {namespace}/{application}'

const Name = z
  .string()
  .regex(/^[-a-z0-9]{1,63}\/[-a-z0-9]{1,63}$/, A_NAME)
  .transform(subjectNamed)

const Asked = z.union(
  [
    z.strictObject({ event: z.strictObject({ type: z.string(), subject: z.string(), data: z.unknown() }) }),
    z.strictObject({
      kind: z.enum(['relate', 'unrelate']),
      own: Name,
      endpoint: z.string().max(253),
      remote: Name,
    }),
  ],
  `expected two applications, each as {namespace}/{application}, or an event`,
)

type Related = Exclude<z.infer<typeof Asked>, { event: unknown }>

const toldBy = async (
  { kind, own: given, endpoint, remote }: Related,
  applications: Questions['applications'],
  authorization: string | undefined,
): Promise<Told> => {
  const own = endpoint === '' ? given : { ...given, endpoint }
  if (kind === 'unrelate') return unrelate(await applications.one(given, authorization), { own, remote })
  const views = await applications.all({ namespace: own.namespace }, authorization)
  return relate(views.filter((view) => !('problem' in view)) as ApplicationView[], { own, remote })
}
