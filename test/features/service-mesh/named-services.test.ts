import { expect, test } from 'vitest'
import {
  BEACON,
  configure,
  createMesh,
  edit,
  policiesOf,
  related,
  requires,
  sourcesOf,
  wire,
  writes,
} from '../../helpers/beacon-world.ts'
import { service, type World } from '../../helpers/world.ts'

const DB = { application: 'db' }
const WEB = { application: 'web' }
const ASKED = { policies: [{ type: 'app', relation: 'db', service: 'db-rw', endpoints: [] }] }
/** The beacon lets `cart` use the Service db-rw. */
const WISH = wire({ source_app_name: 'cart', target_app_name: null, target_service: 'db-rw' })

/** `db` has a second Service db-rw, which it lets `web` use. */
const createShop = async (selected = 'db'): Promise<World> => {
  const world = createMesh(['db', 'web', 'cart'])
  const spec = { selector: { 'app.kubernetes.io/name': selected }, ports: [{ port: 80 }] }
  world.api.seed([{ ...service('db-rw'), spec }], { manager: 'juju' })
  await configure(world, ASKED, DB)
  await world.send('relation-changed', related(3, 'db', WEB, DB))
  return world
}

const ownersAndSources = (world: World) => {
  const policies = policiesOf(world, 'db-rw')
  return [policies.map(({ metadata }) => metadata.labels?.['meshstep.dev/application']), sourcesOf(policies)]
}

const resyncs = async (world: World): Promise<string[]> => {
  world.calls.length = 0
  for (const of of [BEACON, DB, BEACON, DB]) {
    const { conflicts } = await world.send('resync', of)
    expect(conflicts).toEqual([])
  }
  return writes(world)
}

test.each(['before', 'after'])(
  'a Service that a consumer asks for by another name has one policy of both wishes, where the beacon names it %s the consumer joins',
  async (when) => {
    const world = await createShop()
    const wishes = () => configure(world, { mesh: {}, meshPolicies: [WISH] })
    await (when === 'before' ? wishes() : configure(world, { mesh: {} }))
    await world.send('relation-changed', requires(7, DB))
    await wishes()
    expect(ownersAndSources(world)).toEqual([['db'], ['shop/cart', 'shop/web']])
    expect(await resyncs(world)).toEqual([])
    await configure(world, { mesh: {} })
    expect([ownersAndSources(world), await resyncs(world)]).toEqual([[['db'], ['shop/web']], []])
  },
)

test('a Service that comes to lead to the pods of a consumer passes to it, and what the beacon asks for stands meanwhile', async () => {
  const world = await createShop('cart')
  await configure(world, { mesh: {}, meshPolicies: [WISH] })
  await world.send('relation-changed', requires(7, DB))
  expect(ownersAndSources(world)).toEqual([['beacon'], ['shop/cart']])
  edit(world, '/api/v1/namespaces/shop/services/db-rw', { spec: { selector: { 'app.kubernetes.io/name': 'db' } } })
  const seen = new Set<boolean>()
  world.api.subscribe(() => seen.add(sourcesOf(policiesOf(world, 'db-rw')).includes('shop/cart')))
  for (const of of [BEACON, DB]) await world.send('resync', of)
  expect([ownersAndSources(world), await resyncs(world), [...seen]]).toEqual([
    [['db'], ['shop/cart', 'shop/web']],
    [],
    [true],
  ])
})

test('a Service that a consumer guards before anybody may use it lets in whom the beacon lets in', async () => {
  const world = await createShop()
  await world.send('relation-broken', { ...DB, relation: { id: 3 } })
  await configure(world, { mesh: {}, meshPolicies: [WISH] })
  await world.send('relation-changed', requires(7, DB))
  expect([ownersAndSources(world), await resyncs(world)]).toEqual([[['db'], ['shop/cart']], []])
})

test('a Service of other pods stays the beacon’s, whoever asks for it', async () => {
  const world = await createShop('cart')
  await configure(world, { mesh: {}, meshPolicies: [WISH] })
  await world.send('relation-changed', requires(7, DB))
  expect([ownersAndSources(world), await resyncs(world)]).toEqual([[['beacon'], ['shop/cart']], []])
})
