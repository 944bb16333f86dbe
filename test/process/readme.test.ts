import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { parseAllDocuments } from 'yaml'
import { systemClock as clock } from '../../src/platform/base/clock.ts'
import { createKubernetes } from '../../src/platform/kubernetes/client.ts'
import type { KubernetesObject } from '../../src/platform/kubernetes/objects.ts'
import { createTransport } from '../../src/platform/kubernetes/transport.ts'
import { serveExample, until } from './helpers.ts'

const readme = readFileSync(new URL('../../docs/first-steps.md', import.meta.url), 'utf8')

/** The code blocks of docs/first-steps.md in one language, in their order. */
const blocks = (language: string): string[] =>
  [...readme.matchAll(new RegExp(`^\`\`\`${language}\\n(.*?)^\`\`\``, 'gms'))].map(([, text = '']) => text)

const COMMAND =
  /^curl (?:localhost:8080 -H 'content-type: (?<media>.*?)' -d '(?<body>.*?)'|'localhost:8080(?<path>.*?)')\n/gms

const MEMORY = { namespace: 'bookinfo', name: 'juju-service-mesh-details-labels' }

type Sent = { status: number; body: Record<string, unknown> }

/** Runs a curl command of the page against the process at `url`. */
const run = async (
  url: string,
  { media = '', body, path = '/' }: Record<string, string | undefined>,
): Promise<Sent> => {
  const request = body === undefined ? {} : { method: 'POST', headers: { 'content-type': media }, body }
  const response = await fetch(`${url}${path}`, request)
  return { status: response.status, body: (await response.json()) as Record<string, unknown> }
}

test('the first steps relate bookinfo, and its answers are the ones that stand there', async () => {
  const server = await serveExample()
  const { url } = await server.logged('embedded Kubernetes API')
  const transport = createTransport({ server: String(url), credentials: async () => ({}) })
  const kubernetes = createKubernetes({ transport, clock, deadline: Number.POSITIVE_INFINITY })
  const policies = (): Promise<KubernetesObject[]> => kubernetes.list('AuthorizationPolicy', 'bookinfo')
  const commands = [...readme.matchAll(COMMAND)].map(({ groups = {} }) => groups)
  const send = (index: number) => run(server.url, commands[index] ?? {})
  const explain = (path: string) => run(server.url, { path })

  for (const index of [0, 1, 2, 3]) expect((await send(index)).status).toBe(200)
  const last = await send(4)
  expect(last).toEqual({ status: 200, body: JSON.parse(blocks('json')[0] ?? '') })
  const { published, effects: _, ...unpublished } = last.body
  expect((await send(4)).body).toEqual({ ...unpublished, status: 'unchanged', written: [] })
  expect(published).toHaveLength(2)

  const byTarget = (await policies()).toSorted((one) => ('selector' in (one.spec ?? {}) ? 1 : -1))
  const waypoint = 'cluster.local/ns/bookinfo/sa/bookinfo-beacon-waypoint'
  expect(byTarget.map(({ spec }) => spec)).toEqual([
    {
      targetRefs: [{ group: '', kind: 'Service', name: 'details' }],
      action: 'ALLOW',
      rules: [
        {
          from: [{ source: { principals: ['cluster.local/ns/bookinfo/sa/productpage'] } }],
          to: [{ operation: { ports: ['9080'], methods: ['GET'], paths: ['/details/*', '/health'] } }],
        },
      ],
    },
    {
      selector: { matchLabels: { 'app.kubernetes.io/name': 'details' } },
      action: 'ALLOW',
      rules: [{ from: [{ source: { principals: [waypoint] } }] }],
    },
  ])
  const asked = commands[5]?.path ?? ''
  const answer = await explain(asked)
  expect(answer.body).toMatchObject({ allowed: true, relations: ['relation 3 (details) of bookinfo/details'] })
  for (const [parameter, other, reason] of [
    ['method=GET', 'method=POST', /POST/],
    ['path=/details/0', 'path=/admin', /\/admin/],
    ['port=9080', 'port=8080', /8080/],
  ] as const)
    expect((await explain(asked.replace(parameter, other))).body).toMatchObject({
      allowed: false,
      sentence: expect.stringMatching(reason),
    })

  const back = commands[7]?.path ?? ''
  expect((await explain(back)).body).toMatchObject({ allowed: true })
  // istiod is not asked what it does with waypoints in front of a closed mesh
  const closed = `${asked}&autoAllowWaypoint=true`
  expect((await send(6)).body).toMatchObject({ status: 'waiting' })
  expect((await explain(back)).body).toMatchObject({ allowed: false })
  expect((await explain(closed)).body).toMatchObject({ allowed: true })

  const ended = { relation: { id: 3 } }
  const event = { specversion: '1.0', id: 'x', source: '/me', subject: 'bookinfo/details', data: ended }
  const broken = JSON.stringify({ ...event, type: 'dev.meshstep.relation-broken.v1' })
  await run(server.url, { media: 'application/cloudevents+json', body: broken })
  expect((await explain(closed)).body).toMatchObject({ allowed: false })

  const documents = parseAllDocuments(blocks('yaml')[0] ?? '').map((one) => one.toJS() as KubernetesObject)
  expect(documents).toHaveLength(3)
  const isGuarded = async () => JSON.stringify(await policies()).includes('/sa/productpage')
  const apply = () => Promise.all(documents.map((document) => kubernetes.create(document)))
  const created = await apply()
  await until('the documents let productpage in', isGuarded)
  for (const document of created) await kubernetes.remove(document)
  await until('details leaves the mesh', async () =>
    JSON.stringify((await explain(closed)).body).includes('not on the mesh'),
  )
  await apply()
  await until('all is as before', async () => (await explain(closed)).body.at === 'waypoint' && (await isGuarded()))
  const before = await policies()

  // steps that the documents caused may still write it
  await until('the memory is deleted', async () => {
    const memory = await kubernetes.find({ ...MEMORY, kind: 'ConfigMap' })
    return (
      memory !== undefined &&
      (await kubernetes.remove(memory).then(
        () => true,
        () => false,
      ))
    )
  })
  expect((await send(8)).body).toMatchObject({ messages: [expect.stringMatching(/^looked at 3 applications/)] })
  expect(await kubernetes.find({ ...MEMORY, kind: 'ConfigMap' })).toBeDefined()
  expect((await policies()).map(({ spec }) => spec)).toEqual(before.map(({ spec }) => spec))
  expect((await explain(closed)).body).toMatchObject({ allowed: true, at: 'waypoint' })
  transport.close()
  expect(await server.end('SIGTERM')).toEqual({ code: 0, signal: null })
})
