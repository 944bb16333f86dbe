import { describe, expect, test } from 'vitest'
import {
  BEACON,
  configure,
  createMesh,
  enrolled,
  guardsIn,
  objectsOf,
  policiesOf,
  related,
  remove,
  requires,
  sourcesOf,
} from '../../helpers/beacon-world.ts'
import { service, type World, workload } from '../../helpers/world.ts'

const DB = { application: 'db' }
const WEB = { application: 'web' }
const ASKED = { policies: [{ type: 'app', relation: 'db', endpoints: [{ ports: [80] }] }] }

const loseMemory = (world: World, name: string) =>
  remove(world, `/api/v1/namespaces/shop/configmaps/juju-service-mesh-${name}-labels`)

/** `web` may reach `db`; that alone was told of their relation. */
const createClient = async (): Promise<World> => {
  const world = createMesh(['db', 'web'])
  await configure(world, { mesh: {} })
  await configure(world, ASKED, DB)
  await world.send('relation-changed', requires(7, DB))
  await world.send('relation-changed', related(11, 'db', WEB, DB))
  expect(sourcesOf(policiesOf(world, 'db'))).toEqual(['shop/web'])
  return world
}

const sources = (world: World) => sourcesOf(policiesOf(world, 'db'))

describe('a config that is told before the relations that lost memories knew', () => {
  test.each([[['db', 'web']], [['db', 'web', 'beacon']]])(
    'a config that is told before the relations that lost memories knew takes access from no client that nobody ended: without the memories of %s',
    async (lost) => {
      const world = await createClient()
      for (const name of lost) loseMemory(world, name)
      const { messages } = await configure(world, ASKED, DB)
      expect(messages).toContainEqual(expect.stringContaining('waiting for a relation of endpoint db'))
      if (lost.includes('beacon')) {
        await configure(world, { mesh: {} })
        await world.send('relation-changed', requires(7, DB))
      }
      await world.send('resync', {})
      expect(sources(world)).toEqual(['shop/web'])
      expect(enrolled(world, 'db')).toMatchObject({ 'istio.io/dataplane-mode': 'ambient' })
    },
  )

  test('a config that is told before the relations that lost memories knew counts as it is once a relation of each endpoint is told', async () => {
    const world = await createClient()
    for (const name of ['db', 'web']) loseMemory(world, name)
    await configure(world, ASKED, DB)
    await world.send('relation-changed', related(12, 'db', { application: 'api' }, DB))
    expect(sources(world)).toEqual(['shop/api'])
    expect(await world.send('resync', DB)).toMatchObject({ status: 'unchanged', messages: [] })
  })

  test('a config that is told before the relations that lost memories knew counts as it is once the relation was told and ended', async () => {
    const world = await createClient()
    for (const name of ['db', 'web']) loseMemory(world, name)
    await configure(world, ASKED, DB)
    await world.send('relation-changed', related(11, 'db', WEB, DB))
    await world.send('relation-broken', { ...DB, relation: { id: 11, interface: 'http' } })
    expect(sources(world)).toEqual([])
  })

  test('a config that is told before the relations that lost memories knew is asked for endpoints that it names first, and not for those that a later one adds', async () => {
    const world = await createClient()
    for (const name of ['db', 'web']) loseMemory(world, name)
    await configure(world, ASKED, DB)
    await world.send('relation-changed', related(11, 'db', WEB, DB))
    const { messages } = await configure(
      world,
      { policies: [...ASKED.policies, { type: 'app', relation: 'admin', endpoints: [] }] },
      DB,
    )
    expect(messages.join()).not.toContain('waiting for a relation')
    expect(sources(world)).toEqual(['shop/web'])
  })

  test('a config that is told before the relations that lost memories knew does not make a new application wait', async () => {
    const world = createMesh(['db'])
    await configure(world, { mesh: {} })
    await world.send('relation-changed', requires(7, DB))
    expect((await configure(world, ASKED, DB)).messages.join()).not.toContain('waiting for a relation')
  })
})

describe('a beacon whose config is told first after its memory and that of a consumer were lost', () => {
  const viewOf = async ({ app }: World) => (await app.request('/applications/shop/beacon')).json()
  const END = { relation: requires(7, DB).relation, remote: BEACON }

  test.each<[string, (world: World) => Promise<unknown>, readonly string[]]>([
    [
      'the relation and the config of the consumer',
      async (world) => {
        await world.send('relation-changed', requires(7, DB))
        await configure(world, ASKED, DB)
        await world.send('relation-changed', related(11, 'db', WEB, DB))
      },
      ['shop/web'],
    ],
    ['the end of the relation, told to the consumer', (world) => world.send('relation-broken', { ...DB, ...END }), []],
    [
      'the end of the relation, told to the beacon',
      (world) =>
        world.send('relation-broken', {
          ...BEACON,
          relation: { ...(END.relation as object), role: 'provides' },
          remote: DB,
        }),
      [],
    ],
  ])(
    'a beacon whose config is told first after its memory and that of a consumer were lost leaves what guards the consumer until its relation is known: by %s',
    async (_, tell, left) => {
      const world = await createClient()
      for (const name of ['db', 'beacon']) loseMemory(world, name)
      await configure(world, { mesh: {} })
      expect(sources(world)).toEqual(['shop/web'])
      await tell(world)
      for (const name of ['db', 'beacon', 'db']) await world.send('resync', { application: name })
      expect(sources(world)).toEqual(left)
      expect(await viewOf(world)).toMatchObject({ status: { status: 'active' }, conditions: [] })
    },
  )
})

describe('a beacon that goes after its memory and that of a consumer were lost', () => {
  const resync = (world: World) => world.send('resync', { application: undefined })
  const seen = (world: World) => [
    objectsOf(world, 'Gateway').length,
    guardsIn(world),
    sources(world),
    enrolled(world, 'db'),
  ]
  const viewOf = async ({ app }: World) => (await app.request('/applications/shop/beacon')).json()
  const lintOf = async ({ app }: World) => (await app.request('/lint?namespace=shop')).json()
  const kept = { for: ['shop/db'], message: expect.stringContaining('waiting for shop/db') }

  test.each<[string, Record<string, unknown>, object, (world: World) => Promise<unknown>]>([
    ['its removal', ASKED, {}, (world) => world.send('application-removed', BEACON)],
    ['its removal, where nothing was asked of it', {}, {}, (world) => world.send('application-removed', BEACON)],
    [
      'a config without a mesh',
      ASKED,
      {},
      async (world) => {
        await configure(world, {})
        await resync(world)
      },
    ],
  ])(
    'a beacon that goes after its memory and that of a consumer were lost keeps what guards the consumer until that has left, and names it: %s',
    async (_, asked, mesh, go) => {
      const world = createMesh()
      const objects = ['db', 'web'].flatMap((name) => [workload('StatefulSet', name), service(name)])
      world.api.seed(objects, { manager: 'juju' })
      await configure(world, { mesh })
      await configure(world, asked, DB)
      await world.send('relation-changed', requires(7, DB))
      await world.send('relation-changed', related(11, 'db', WEB, DB))
      const before = seen(world)
      for (const name of ['db', 'beacon']) loseMemory(world, name)
      await go(world)
      expect(await world.send('resync', BEACON)).toMatchObject({ status: 'waiting', conditions: [kept] })
      await resync(world)
      expect(seen(world)).toEqual(before)
      expect(await viewOf(world)).toMatchObject({ status: { status: 'waiting' }, conditions: [kept] })
      expect(await lintOf(world)).toContainEqual({ rule: 'waiting', about: 'shop/beacon', message: kept.message })
      await world.send('relation-broken', { ...DB, relation: { id: 7, interface: 'service_mesh' }, remote: BEACON })
      await resync(world)
      expect(seen(world)).toEqual([0, [], [], {}])
      expect(JSON.stringify(await viewOf(world))).not.toContain('waiting for')
    },
  )
})

test.each([[['beacon']], [['beacon', 'db']]])(
  'a beacon whose memory is lost is named by a resync of the namespace and by lint until its config is told: without those of %s',
  async (lost) => {
    const world = await createClient()
    for (const name of lost) loseMemory(world, name)
    const message =
      'shop/beacon has no memory, though objects of it stand (Gateway, HorizontalPodAutoscaler): tell its config, or its removal'
    const resync = () => world.send('resync', { application: undefined })
    const lintOf = async () => (await world.app.request('/lint?namespace=shop')).json()
    expect(await resync()).toMatchObject({ status: 'waiting', messages: expect.arrayContaining([message]) })
    expect(await lintOf()).toContainEqual({ rule: 'memory-lost', about: 'shop/beacon', message })
    await configure(world, { mesh: {} })
    expect((await resync()).messages).not.toContain(message)
    expect(JSON.stringify(await lintOf())).not.toContain('memory-lost')
  },
)

test('a beacon whose memory is lost, and whose config has no mesh any more, is not active until a resync of the namespace has removed its Gateway', async () => {
  const world = createMesh()
  await configure(world, { mesh: {} })
  loseMemory(world, 'beacon')
  await configure(world, {})
  const viewOf = async () => (await world.app.request('/applications/shop/beacon')).json()
  const message =
    'objects of kind Gateway that shop/beacon wrote stand, and its memory, which was lost once, does not know them: a resync of shop removes them'
  expect(await viewOf()).toMatchObject({
    status: { status: 'waiting' },
    conditions: expect.arrayContaining([expect.objectContaining({ message })]),
  })
  const lint = await world.app.request('/lint?namespace=shop')
  expect(await lint.json()).toContainEqual(expect.objectContaining({ rule: 'waiting', message }))
  await world.send('resync', { application: undefined })
  expect(objectsOf(world, 'Gateway')).toEqual([])
  // nothing of it runs
  expect(await viewOf()).toMatchObject({ status: { status: 'waiting' }, conditions: [{ reason: 'NoUnits' }] })
})

test('an application that is told of a beacon which does not know of it is not active: its status names the beacon until that is told', async () => {
  const world = createMesh(['db'], false)
  await configure(world, { mesh: {} })
  await world.send('relation-changed', requires(7, DB))
  const viewOf = async () => (await world.app.request('/applications/shop/db')).json()
  const message =
    'relation 7 (service-mesh): waiting for shop/beacon, which does not know of the relation yet: its next event, or a resync of shop, tells it'
  expect(await viewOf()).toMatchObject({
    status: { status: 'waiting' },
    conditions: expect.arrayContaining([expect.objectContaining({ for: ['shop/beacon'], message })]),
  })
  await world.send('resync', BEACON)
  expect(JSON.stringify(await viewOf())).not.toContain('does not know of the relation')
})

test('an application whose memory was lost, and whose config nobody has told since, waits for its config', async () => {
  const world = await createClient()
  loseMemory(world, 'db')
  await world.send('relation-changed', related(11, 'db', WEB, DB))
  const answer = await world.app.request('/applications/shop/db')
  const view = (await answer.json()) as { status: unknown; conditions: { message: string }[] }
  expect(view.status).toMatchObject({ status: 'waiting' })
  const messages = view.conditions.map(({ message }) => message)
  expect(messages.filter((message) => message.includes('waiting for the config'))).not.toEqual([])
  expect(sources(world)).toEqual(['shop/web'])
})

test('a namespace stays on the mesh for an application that neither memory knows any more, until it carries labels of its own', async () => {
  const world = createMesh(['db', 'web'])
  await configure(world, { mesh: { modelOnMesh: true } })
  await configure(world, ASKED, DB)
  await world.send('relation-changed', requires(7, DB))
  await world.send('relation-changed', related(11, 'db', WEB, DB))
  const onMesh = () =>
    objectsOf(world, 'Namespace').find(({ metadata }) => metadata.name === 'shop')?.metadata.labels?.[
      'istio.io/dataplane-mode'
    ]
  expect([onMesh(), policiesOf(world, 'db').length > 0]).toEqual(['ambient', true])
  for (const name of ['db', 'beacon']) loseMemory(world, name)
  const { status, messages } = await configure(world, { mesh: {} })
  expect([onMesh(), status]).toEqual(['ambient', 'waiting'])
  expect(messages).toContainEqual(expect.stringContaining('waiting for shop/db'))
  await world.send('resync', DB)
  await world.send('resync', {})
  expect(onMesh()).toBe('ambient')
  await configure(world, ASKED, DB)
  await world.send('relation-changed', requires(7, DB))
  expect(enrolled(world, 'db')).toMatchObject({ 'istio.io/dataplane-mode': 'ambient' })
  await world.send('resync', {})
  expect(onMesh()).toBeUndefined()
})
