import { expect, test } from 'vitest'
import { istioConfig } from '../../../src/embedded/demo/example.ts'
import { startIstio } from '../../../src/embedded/demo/istio.ts'
import { features } from '../../../src/features.ts'
import { createKubernetes } from '../../../src/platform/kubernetes/client.ts'
import type { KubernetesObject } from '../../../src/platform/kubernetes/objects.ts'
import type { ApplicationView } from '../../../src/serve/http/applications.ts'
import type { Explanation } from '../../../src/serve/http/explain.ts'
import { createLint } from '../../../src/serve/http/lint.ts'
import { configure, edit, related, requires, waypoint } from '../../helpers/beacon-world.ts'
import { application } from '../../helpers/mesh.ts'
import { createWorld, type World } from '../../helpers/world.ts'

const DB = { application: 'db' }
const WEB = { application: 'web' }
const MINUTE = 60_000

/** `web` may use `db` behind the waypoint of a beacon, where Istio runs until it is stopped. */
const createShop = async (mesh: Record<string, unknown> = {}, config: KubernetesObject = istioConfig) => {
  const world = createWorld(
    ['db', 'web'].flatMap((name) => application(name, { labels: {} })),
    { isOwnSink: true },
  )
  world.api.seed([{ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'istio-system' } }, config])
  const istio = startIstio(world)
  await configure(world, { mesh })
  await configure(world, { policies: [{ type: 'app', relation: 'db', endpoints: [] }] }, DB)
  await world.send('relation-changed', related(3, 'db', WEB, DB))
  await world.send('relation-changed', requires(7, DB))
  await world.send('relation-changed', requires(8, WEB))
  return { world, istio }
}

/** Lets `web` use another port of `db` alone. */
const narrow = (world: World) =>
  configure(world, { policies: [{ type: 'app', relation: 'db', endpoints: [{ ports: [9081] }] }] }, DB)

const viewOf = async (world: World, name: string): Promise<ApplicationView> =>
  (await (await world.app.request(`/applications/shop/${name}`)).json()) as ApplicationView

const explain = async (world: World): Promise<Explanation> =>
  (await (await world.app.request('/explain?from=shop/web&to=shop/db&port=9080')).json()) as Explanation

const lint = async ({ api, clock }: World) => {
  const transport = async (request: Parameters<typeof api.handle>[0]) => api.handle(request)
  const environment = { resolver: '10.96.0.10' }
  const connect = (deadline: number) => createKubernetes({ transport, clock, deadline })
  const ask = createLint({ features, connect, clock, environment, timeoutMilliseconds: 10_000 })
  return await ask(new URLSearchParams({ namespace: 'shop' }), undefined)
}

const NOT_TAKEN =
  /^Istio has not taken AuthorizationPolicy shop\/\S+ yet: proxies enforce the previous state until istiod/

test('what Istio has taken is told by nobody', async () => {
  const { world } = await createShop({ hardened: true })
  world.clock.advance(MINUTE)
  for (const name of ['beacon', 'db', 'web']) {
    const { status, messages } = await world.send('resync', { application: name })
    const view = await viewOf(world, name)
    expect([name, status, messages, view.status.status, view.conditions]).toEqual([name, 'unchanged', [], 'active', []])
  }
  expect(await lint(world)).toEqual([])
  expect(await explain(world)).toMatchObject({ allowed: true, decided: true })
})

test('a policy that changed while istiod is away is told as not taken by each who is asked', async () => {
  const { world, istio } = await createShop()
  istio.stop()
  await narrow(world)
  const asked = await viewOf(world, 'db')
  expect(asked.status).toMatchObject({ status: 'waiting', message: expect.stringMatching(NOT_TAKEN) })
  expect(asked.conditions).toMatchObject([
    { for: ['Istio'], since: '2026-01-01T00:00:00Z', message: expect.stringMatching(NOT_TAKEN) },
  ])
  expect(await viewOf(world, 'db')).toMatchObject({
    status: { status: 'waiting', message: expect.stringMatching(NOT_TAKEN) },
  })
  const { allowed, decided, sentence } = await explain(world)
  expect([allowed, decided]).toEqual([false, false])
  expect(sentence).toMatch(/is not known: Istio has not taken AuthorizationPolicy shop\/\S+ yet/)
  expect(await lint(world)).toMatchObject([
    { rule: 'waiting', about: 'shop/db', message: expect.stringMatching(NOT_TAKEN) },
    { rule: 'port-unknown', message: 'the Service shop/db has no port 9081, but 9080' },
  ])
  world.clock.advance(MINUTE)
  const outcome = await world.send('resync', DB)
  expect(outcome).toMatchObject({
    status: 'waiting',
    messages: [expect.stringMatching(NOT_TAKEN)],
    applicationStatus: { status: 'waiting' },
  })
  startIstio(world)
  expect(await world.send('resync', DB)).toMatchObject({ status: 'unchanged', messages: [] })
  expect(await viewOf(world, 'db')).toMatchObject({ status: { status: 'active' }, conditions: [] })
  expect(await explain(world)).toMatchObject({ allowed: false, decided: true })
})

test('a policy that is new while istiod is away is told as not taken, and its request is not decided', async () => {
  const { world, istio } = await createShop()
  istio.stop()
  await configure(world, { policies: [{ type: 'unit', relation: 'db', ports: [9080] }] }, WEB)
  world.clock.advance(MINUTE)
  const { status, messages } = await world.send('resync', WEB)
  expect([status, messages]).toEqual([
    'waiting',
    [expect.stringMatching(/^Istio has not taken AuthorizationPolicy shop\/\S*web\S* yet/)],
  ])
  expect(await explain(world)).toMatchObject({ allowed: true, decided: true })
})

test('a step that has just written a policy leaves Istio a moment to take it', async () => {
  const { world, istio } = await createShop()
  istio.stop()
  await narrow(world)
  expect(await world.send('resync', DB)).toMatchObject({ status: 'unchanged', messages: [] })
})

test('a Service whose label came while istiod is away is told as not led to its waypoint yet', async () => {
  const { world, istio } = await createShop()
  istio.stop()
  world.api.seed(application('api', { labels: {} }))
  await world.send('relation-changed', requires(9, { application: 'api' }))
  // nothing marks the pods either
  const { conditions } = (await viewOf(world, 'api')) as { conditions: unknown }
  expect(conditions).toContainEqual(
    expect.objectContaining({
      object: 'Service shop/api',
      message: expect.stringMatching(/^Istio has not taken Service shop\/api yet/),
    }),
  )
})

test('a namespace that the discoverySelectors leave out is named', async () => {
  const { world, istio } = await createShop(
    {},
    {
      ...istioConfig,
      data: { mesh: 'discoverySelectors:\n- matchLabels: {istio-discovery: enabled}\n' },
    },
  )
  istio.stop()
  const left =
    /discoverySelectors of Istio leave out the namespace shop: nothing there is enforced until they select it/
  expect(await viewOf(world, 'db')).toMatchObject({
    status: { status: 'waiting', message: expect.stringMatching(left) },
    conditions: [{ object: 'Namespace shop', for: ['Istio'], message: expect.stringMatching(left) }],
  })
  expect(await explain(world)).toMatchObject({ decided: false, sentence: expect.stringMatching(left) })
  await narrow(world)
  world.clock.advance(MINUTE)
  expect((await world.send('resync', DB)).messages).toEqual([
    expect.stringMatching(
      /^Istio has not taken AuthorizationPolicy shop\/\S+ yet: the discoverySelectors of Istio leave/,
    ),
  ])
})

test('where nothing writes conditions, nothing is waited for', async () => {
  const world = createWorld(
    ['db', 'web'].flatMap((name) => application(name, { labels: {} })),
    { isOwnSink: true },
  )
  await configure(world, { mesh: { waypoint: false } })
  await configure(world, { policies: [{ type: 'unit', relation: 'db' }] }, DB)
  await world.send('relation-changed', related(3, 'db', WEB, DB))
  await world.send('relation-changed', requires(7, DB))
  world.clock.advance(MINUTE)
  expect(await world.send('resync', DB)).toMatchObject({ status: 'unchanged', messages: [] })
  expect(await viewOf(world, 'db')).toMatchObject({ status: { status: 'active' }, conditions: [] })
})

const config = (version: string) => ({
  ...{ apiVersion: 'v1', kind: 'ConfigMap', data: { mesh: '' } },
  metadata: { name: 'istio', namespace: 'istio-system', labels: { 'app.kubernetes.io/version': version } },
})

test.each([
  [{ hardened: true }, 'waiting'],
  [{}, 'unchanged'],
])(
  'an event of a beacon whose mesh is %j reads nothing more for the first policies of a mesh, and its answer is %s',
  async (more, status) => {
    const world = createWorld([...application('db', { labels: {} }), waypoint()], { isOwnSink: true })
    world.api.seed([{ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'istio-system' } }, config('1.26.1')])
    await configure(world, { mesh: more })
    await configure(world, { policies: [{ type: 'app', relation: 'db', endpoints: [] }] }, DB)
    await world.send('relation-changed', requires(7, DB))
    world.clock.advance(MINUTE)
    expect(await configure(world, { mesh: more })).toMatchObject({ status })
    expect(await world.send('resync', DB)).toMatchObject({ status: 'waiting' })
  },
)

test('the first policies of a mesh are told as not taken where the version of Istio says that it would write so', async () => {
  const world = createWorld([...application('db', { labels: {} }), waypoint()], { isOwnSink: true })
  world.api.seed([{ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'istio-system' } }, config('1.23.0')])
  await configure(world, { mesh: {} })
  await configure(world, { policies: [{ type: 'app', relation: 'db', endpoints: [] }] }, DB)
  await world.send('relation-changed', requires(7, DB))
  world.clock.advance(MINUTE)
  expect(await viewOf(world, 'db')).toMatchObject({ conditions: [] })
  edit(world, '/api/v1/namespaces/istio-system/configmaps/istio', { metadata: config('1.26.1').metadata })
  const { status, conditions } = await viewOf(world, 'db')
  expect(status).toMatchObject({ status: 'waiting', message: expect.stringMatching(NOT_TAKEN) })
  expect(conditions.length).toBeGreaterThan(0)
  expect((await lint(world)).map(({ message }) => message)).toContainEqual(expect.stringMatching(NOT_TAKEN))
  // who is guarded by them is not guarded yet
  expect(await viewOf(world, 'db')).toMatchObject({
    status: { status: 'waiting', message: expect.stringMatching(NOT_TAKEN) },
  })
  const said = {
    status: 'waiting',
    conditions: expect.arrayContaining([{ ...conditions[0], since: expect.anything() }]),
  }
  expect(await world.send('resync', DB)).toMatchObject(said)
  const answer = await world.app.request('/explain?from=shop/db&to=shop/db&port=80')
  expect(await answer.json()).toMatchObject({ decided: false })
})
