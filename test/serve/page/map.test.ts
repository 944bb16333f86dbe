import { expect, onTestFinished, test } from 'vitest'
import { createEmbeddedApi, type EmbeddedApi } from '../../../src/embedded/api/api.ts'
import { example } from '../../../src/embedded/demo/example.ts'
import { startIstio } from '../../../src/embedded/demo/istio.ts'
import { layOut } from '../../../src/serve/page/layout.ts'
import type { PageMap } from '../../../src/serve/page/page-map.ts'
import { story } from '../../../src/serve/page/story.ts'
import { deployed, type Options, startPage, tell } from './world.ts'

const start = async (api: EmbeddedApi = createEmbeddedApi(), options: Options = {}) => {
  const istio = startIstio({ api })
  const server = await startPage(api, options)
  onTestFinished(async () => {
    istio.stop()
    await server.stop()
  })
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
  const { nodes, edges, frames } = await map()
  expect(nodes.map(({ id, group }) => [id, group])).toEqual([
    ['shop/ingester', 'shop/tempo'],
    ['shop/tempo', 'shop/tempo'],
    ['shop/web', undefined],
  ])
  expect(frames.map(({ id, kind }) => [kind, id])).toEqual([
    ['namespace', 'shop'],
    ['group', 'shop/tempo'],
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

test('no application lies on another one, and each lies in the frame of its namespace', () => {
  const items = Array.from({ length: 60 }, (_, index) => ({
    ...{ id: `n${index % 3}/a${index}`, namespace: `n${index % 3}`, width: 100 + (index % 5) * 20, height: 46 },
    group: index % 10 === 0 ? `n${index % 3}/g` : undefined,
  }))
  const lines = items.flatMap(({ id }, index) =>
    index % 4 === 0 ? [] : [{ from: id, to: items[(index * 7) % 60]?.id ?? '' }],
  )
  const { nodes, frames } = layOut(items, lines)
  const boxes = nodes.map(({ id, namespace, x, y, width, height }) => {
    return { id, namespace, left: x - width / 2, right: x + width / 2, top: y - height / 2, bottom: y + height / 2 }
  })
  const overlapping = boxes.flatMap((one, index) =>
    boxes
      .slice(index + 1)
      .filter(
        (other) => one.left < other.right && other.left < one.right && one.top < other.bottom && other.top < one.bottom,
      )
      .map((other) => `${one.id} ${other.id}`),
  )
  expect(overlapping).toEqual([])
  for (const { namespace, left, right, top, bottom } of boxes) {
    const frame = frames.find(({ id, kind }) => kind === 'namespace' && id === namespace)
    const { x = 0, y = 0, width = 0, height = 0 } = frame ?? {}
    expect([left >= x, right <= x + width, top >= y, bottom <= y + height]).toEqual([true, true, true, true])
  }
})
