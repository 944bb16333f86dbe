import { expect, onTestFinished, test } from 'vitest'
import { accessAndHomes } from '../../../src/ask/preview/access.ts'
import { readingLists } from '../../../src/ask/views/listed.ts'
import { createEmbeddedApi, type EmbeddedApi } from '../../../src/embedded/api/api.ts'
import { example, istioConfig } from '../../../src/embedded/demo/example.ts'
import { subjectName } from '../../../src/platform/base/subject.ts'
import { startServer } from '../../../src/serve/http/server.ts'
import { readSettings } from '../../../src/serve/http/settings.ts'
import { createMaps, type Maps } from '../../../src/serve/page/map.ts'
import type { PageMap } from '../../../src/serve/page/page-map.ts'
import { story } from '../../../src/serve/page/story.ts'
import { bookinfo, copies, deployed, holding, kept, serve, tell } from './world.ts'

const start = async (api: EmbeddedApi) => {
  const server = await serve(api)
  const map = async (query = '') => (await (await fetch(`${server.url}/map${query}`)).json()) as PageMap
  return { api, url: server.url, map }
}

const startExample = async (steps: number) => {
  const api = createEmbeddedApi()
  api.seed(example, { manager: 'juju' })
  const page = await start(api)
  for (const { event } of story.slice(0, steps)) await tell(page.url, event.type, event.subject, event.data)
  return page
}

const captions = ({ nodes }: PageMap) => Object.fromEntries(nodes.map(({ id, caption }) => [id, caption]))
const traffic = ({ edges }: PageMap) => edges.map(({ id, access, label }) => [id, access, label])

test('the map has who is on the mesh, who is open, and what is allowed, as the events of the README come', async () => {
  const { map, url } = await startExample(4)
  expect(captions(await map())).toEqual({
    'bookinfo/beacon': 'runs the mesh',
    'bookinfo/details': 'on mesh · guarded',
    'bookinfo/productpage': 'on mesh · open',
  })
  expect(traffic(await map())).toEqual([])
  for (const { event, isPlanned } of story.slice(4, 6))
    if (!isPlanned) await tell(url, event.type, event.subject, event.data)
  const id = 'bookinfo/productpage → bookinfo/details'
  expect(traffic(await map())).toEqual([[id, 'allowed', ':9080 GET /details/*, /health']])
  await tell(url, 'config-changed', 'bookinfo/details', { config: {} })
  expect(traffic(await map())).toEqual([[id, 'open', ':9080']])
  await tell(url, 'config-changed', 'bookinfo/details', story[5]?.event.data)
  expect(traffic(await map())).toEqual([[id, 'none', '']])
})

test('a related application of which nothing is known is drawn, and nothing passes', async () => {
  const { map, url } = await startExample(5)
  const relation = { id: 9, endpoint: 'ratings', interface: 'http', role: 'requires' }
  await tell(url, 'relation-changed', 'bookinfo/productpage', {
    relation,
    remote: { application: 'ratings', data: {} },
  })
  expect(captions(await map())).toMatchObject({ 'bookinfo/ratings': 'unknown' })
  expect(traffic(await map())).toContainEqual(['bookinfo/productpage → bookinfo/ratings', 'none', ''])
})

test('an application names its beacon', async () => {
  const { map } = await startExample(4)
  expect((await map()).nodes.map(({ id, beacon }) => [id, beacon])).toEqual([
    ['bookinfo/beacon', undefined],
    ['bookinfo/details', 'bookinfo/beacon'],
    ['bookinfo/productpage', 'bookinfo/beacon'],
  ])
})

test('workloads are drawn before any event has come, in each namespace, and a workload is an application once one has come', async () => {
  const { map, url } = await startExample(0)
  const tempo = ['tempo', 'tempo-compactor', 'tempo-ingester', 'tempo-querier'].map((name) => `tempo/${name}`)
  const untold = (names: readonly string[]) => Object.fromEntries(names.map((name) => [name, 'no event yet']))
  const first = await map()
  expect(captions(first)).toEqual(untold(['bookinfo/details', 'bookinfo/productpage', ...tempo]))
  expect([first.namespaces, first.nodes[0]?.message]).toEqual([
    ['bookinfo', 'tempo'],
    'It runs, and no event has come for it yet.',
  ])
  await tell(url, 'config-changed', 'bookinfo/details', { config: {} })
  expect(captions(await map())).toEqual({
    'bookinfo/details': 'off mesh · open',
    ...untold(['bookinfo/productpage']),
  })
  expect(captions(await map('?namespace=tempo'))).toEqual(untold(tempo))
  expect(captions(await map('?namespace=nosuch'))).toEqual({})
})

test('a workload of another name that a config names, and a waypoint, are no workloads without an event', async () => {
  const { api, map, url } = await startExample(1)
  api.seed(deployed('bookinfo', 'reviews-v1'))
  expect(captions(await map())).toMatchObject({ 'bookinfo/reviews-v1': 'no event yet' })
  const config = { workload: { kind: 'StatefulSet', name: 'reviews-v1' } }
  await tell(url, 'config-changed', 'bookinfo/reviews', { config })
  expect(Object.keys(captions(await map())).toSorted()).toEqual([
    'bookinfo/beacon',
    'bookinfo/details',
    'bookinfo/productpage',
    'bookinfo/reviews',
  ])
})

test('a policy that somebody else wrote is in what is drawn', async () => {
  const { api, map } = await startExample(5)
  const targetRefs = [{ group: '', kind: 'Service', name: 'details' }]
  api.seed([
    {
      apiVersion: 'security.istio.io/v1',
      kind: 'AuthorizationPolicy',
      metadata: { name: 'no-health', namespace: 'bookinfo' },
      spec: { targetRefs, action: 'DENY', rules: [{ to: [{ operation: { paths: ['/health'] } }] }] },
    },
  ])
  expect((await map()).edges[0]?.label).toBe(':9080 GET /details/*')
})

test('a coordinator and its workers are one group, and what it takes of others is telemetry', async () => {
  const api = createEmbeddedApi()
  api.seed(
    ['tempo', 'ingester', 'web'].flatMap((name) => deployed('shop', name)),
    { manager: 'juju' },
  )
  const { map, url } = await start(api)
  const relate = (own: string, id: number, endpoint: string, name: string, role: string, application: string) =>
    tell(url, 'relation-changed', `shop/${own}`, {
      relation: { id, endpoint, interface: name, role },
      remote: { application, data: {} },
    })
  await tell(url, 'config-changed', 'shop/tempo', { config: { coordinator: { roles: ['ingester'] } } })
  await tell(url, 'config-changed', 'shop/ingester', { config: { worker: { roles: ['ingester'] } } })
  await relate('ingester', 1, 'cluster', 'cluster', 'requires', 'tempo')
  await relate('tempo', 2, 'tracing', 'tracing', 'provides', 'web')
  const { nodes, edges } = await map()
  expect(nodes.map(({ id, group }) => [id, group])).toEqual([
    ['shop/ingester', 'shop/tempo'],
    ['shop/tempo', 'shop/tempo'],
    ['shop/web', undefined],
  ])
  expect(edges.filter(({ isTelemetry }) => isTelemetry).map(({ id }) => id)).toEqual(['shop/web → shop/tempo'])
})

test('a map is of all namespaces that hold memories, or of those that are asked for', async () => {
  const { map, url } = await startExample(1)
  await tell(url, 'config-changed', 'loki/loki', { config: {} })
  await tell(url, 'config-changed', 'loki/loki', { config: { settings: { a: 'b' } } })
  expect(await map()).toMatchObject({ namespaces: ['bookinfo', 'loki'], shown: ['bookinfo', 'loki'] })
  expect(await map('?namespace=loki')).toMatchObject({ namespaces: ['bookinfo', 'loki'], shown: ['loki'] })
})

test('a map that is known is not sent again before something changes, and costs lists alone', async () => {
  const { url, api } = await startExample(5)
  const first = await fetch(`${url}/map`)
  const headers = { 'if-none-match': first.headers.get('etag') ?? '' }
  expect((await fetch(`${url}/map`, { headers })).status).toBe(304)
  api.seed(deployed('bookinfo', 'ratings'))
  expect((await fetch(`${url}/map`, { headers })).status).toBe(200)
})

/** Maps of five applications in each of three namespaces, with the questions that their making asks. */
const startCounted = async () => {
  const copied = copies(
    kept(await bookinfo(), 'bookinfo').map(
      (object) => JSON.parse(JSON.stringify(object).replaceAll('bookinfo', 'shop')) as typeof object,
    ),
    ['one', 'two', 'three'],
  )
  const api = holding([istioConfig, ...copied])
  const asked: string[] = []
  const assessed: string[] = []
  let maps: Maps | undefined
  const ignore = () => undefined
  const server = await startServer({
    settings: readSettings({ PORT: '0' }),
    names: [],
    transport: async (request) => api.handle(request),
    log: { info: ignore, warn: ignore, error: ignore },
    mount: (_, { reading }) => {
      const { memories } = reading.features
      maps = createMaps({
        ...reading,
        connect: (deadline) => readingLists(reading.connect(deadline)),
        features: {
          ...reading.features,
          memories: {
            ...memories,
            load: (kubernetes, subject) => {
              assessed.push(subjectName(subject))
              return memories.load(kubernetes, subject)
            },
          },
        },
        accessTo: (from, to, ...others) => {
          asked.push(`${from ? subjectName(from) : 'anybody'} → ${subjectName(to)}`)
          return accessAndHomes(from, to, ...others)
        },
      })
    },
  })
  onTestFinished(() => server.stop())
  const draw = async () => {
    for (const counted of [asked, assessed]) counted.length = 0
    const map = await maps?.(new URLSearchParams(), undefined)
    return { map, asked: asked.toSorted(), assessed: assessed.toSorted() }
  }
  return { api, draw, url: server.url }
}

test('a change of one application asks again only what it may change: its namespace, and those that may reach it', async () => {
  const { api, draw } = await startCounted()
  const first = await draw()
  expect([first.assessed.length, first.map?.nodes.length]).toEqual([15, 15])
  expect(first.asked).toHaveLength(15 + (first.map?.edges.length ?? Number.NaN))
  expect(await draw()).toMatchObject({ asked: [], assessed: [] })

  const scaled = api.handle({
    ...{ method: 'PATCH', path: '/apis/apps/v1/namespaces/two/statefulsets/ratings?fieldManager=juju' },
    headers: { 'content-type': 'application/json-patch+json' },
    body: JSON.stringify([{ op: 'replace', path: '/spec/replicas', value: 0 }]),
  })
  expect(scaled.status).toBe(200)
  expect(await draw()).toMatchObject({
    asked: ['anybody → two/ratings', 'two/reviews → two/ratings'],
    assessed: ['beacon', 'details', 'productpage', 'ratings', 'reviews'].map((name) => `two/${name}`),
  })
})

test('a policy that somebody writes asks again in its own namespace, or in all if it is the root, and is on the map at once', async () => {
  const { api, draw } = await startCounted()
  const first = await draw()
  const deny = (namespace: string) => ({
    ...{ apiVersion: 'security.istio.io/v1', kind: 'AuthorizationPolicy', metadata: { name: 'nobody', namespace } },
    spec: { action: 'DENY', rules: [{}] },
  })
  const allowed = ({ map }: typeof first) =>
    map?.edges.filter(({ access }) => access !== 'none').map(({ to }) => to.split('/')[0])
  expect(new Set(allowed(first))).toEqual(new Set(['one', 'two', 'three']))
  api.seed([deny('two')])
  const second = await draw()
  expect(new Set(second.asked.map((one) => one.split('→ ')[1]?.split('/')[0]))).toEqual(new Set(['two']))
  expect(new Set(allowed(second))).toEqual(new Set(['one', 'three']))
  api.seed([deny('istio-system')])
  const third = await draw()
  // a beacon has no port that policies could guard
  expect(third.asked).toEqual(first.asked.filter((one) => !one.endsWith('/beacon')))
  expect(allowed(third)).toEqual([])
})

test('those who ask for the same map at once share the work', async () => {
  const { draw } = await startCounted()
  const many = await Promise.all([draw(), draw(), draw()])
  expect(many[2].assessed).toHaveLength(15)
  expect(many[2].asked).toHaveLength(new Set(many[2].asked).size)
})

test('a policy that Istio refuses is waited for by whom it guards, and by nobody of the same name elsewhere', async () => {
  const { api, draw } = await startCounted()
  const messages = async () => new Map((await draw()).map?.nodes.map(({ id, message }) => [id, message]))
  const before = await messages()
  const policies = api
    .objects()
    .filter(({ kind, metadata }) => kind === 'AuthorizationPolicy' && metadata.namespace === 'two')
  const conditions = [{ type: 'Accepted', status: 'False', reason: 'Invalid', message: 'no' }]
  for (const { metadata } of policies) {
    const { status } = api.handle({
      ...{ method: 'PATCH', headers: { 'content-type': 'application/json-patch+json' } },
      path: `/apis/security.istio.io/v1/namespaces/two/authorizationpolicies/${metadata.name}/status?fieldManager=pilot`,
      body: JSON.stringify([{ op: 'add', path: '/status', value: { conditions } }]),
    })
    expect(status).toBe(200)
  }
  const after = await messages()
  const changed = [...after].filter(([id, message]) => message !== before.get(id)).map(([id]) => id.split('/')[0])
  expect(new Set(changed)).toEqual(new Set(['two']))
})
