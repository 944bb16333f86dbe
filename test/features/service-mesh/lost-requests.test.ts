import { describe, expect, test } from 'vitest'
import {
  configure,
  createMesh,
  edit,
  enrolled,
  guardsIn,
  policiesOf,
  provides,
  related,
  remove,
  requires,
  sourcesOf,
} from '../../helpers/beacon-world.ts'
import type { World } from '../../helpers/world.ts'

const DB = { application: 'db' }
const FIRST = { application: 'first' }
const SECOND = { application: 'second' }
const ASKED = { policies: [{ type: 'app', relation: 'db', endpoints: [{ ports: [80] }] }] }
const AMBIENT = { 'istio.io/dataplane-mode': 'ambient' }

const loseMemory = (world: World, { application }: { application: string }) =>
  remove(world, `/api/v1/namespaces/shop/configmaps/juju-service-mesh-${application}-labels`)

/** `cart` may reach `db`, by the mesh of the first of two beacons. */
const createBeacons = async (): Promise<World> => {
  const world = createMesh(['db', 'cart'])
  for (const beacon of [FIRST, SECOND]) await configure(world, { mesh: {} }, beacon)
  await configure(world, ASKED, DB)
  await world.send('relation-changed', requires(12, DB, FIRST))
  await world.send('relation-changed', related(3, 'db', { application: 'cart' }, DB))
  return world
}

const endFirst = { ...DB, relation: { id: 12, interface: 'service_mesh' }, remote: FIRST }

const provided = {
  ...SECOND,
  relation: { id: 32, endpoint: 'mesh', interface: 'service_mesh', role: 'provides' },
  remote: { ...DB, endpoint: 'service-mesh', data: {} },
}

describe('a consumer that lost its memory and changes its beacon', () => {
  test.each<[string, { application: string }, (world: World, beacon: { application: string }) => Promise<unknown>]>([
    ['another one', SECOND, (world, beacon) => world.send('relation-changed', requires(32, DB, beacon))],
    ['another one, which alone is told so', SECOND, (world) => world.send('relation-changed', provided)],
    ['the same in a new relation', FIRST, (world, beacon) => world.send('relation-changed', requires(32, DB, beacon))],
  ])(
    'a consumer that lost its memory and changes its beacon stays on its mesh as it was until its config is known: to %s',
    async (_, beacon, relate) => {
      const world = await createBeacons()
      const before = [enrolled(world, 'db'), guardsIn(world), sourcesOf(policiesOf(world, 'db'))]
      const now = () => [enrolled(world, 'db'), guardsIn(world), sourcesOf(policiesOf(world, 'db'))]
      loseMemory(world, DB)
      await relate(world, beacon)
      expect(now()).toEqual(before)
      const { messages } = await world.send('relation-broken', endFirst)
      expect(messages).toContainEqual(expect.stringContaining('waiting for the config of shop/db, {} if it has none'))
      expect(now()).toEqual(before)
      for (const data of [{}, DB]) {
        await world.send('resync', data)
        expect(now()).toEqual(before)
      }
      await configure(world, ASKED, DB)
      await world.send('resync', {})
      const [, ...guarded] = before
      expect(now()).toEqual([expect.objectContaining(AMBIENT), ...guarded])
      expect(enrolled(world, 'db')['istio.io/use-waypoint']).toBe(beacon === FIRST ? 'shop-first-waypoint' : undefined)
      expect(await world.send('resync', {})).toMatchObject({ status: 'unchanged' })
    },
  )
})

test('what is granted to a consumer that leaves stays until it has left, though both lose their memory', async () => {
  const world = await createBeacons()
  const before = [guardsIn(world), sourcesOf(policiesOf(world, 'db'))]
  edit(world, '/apis/apps/v1/namespaces/shop/statefulsets/db', {
    spec: { updateStrategy: { type: 'OnDelete', rollingUpdate: null } },
  })
  await world.send('relation-broken', endFirst)
  for (const lost of [DB, FIRST]) {
    loseMemory(world, lost)
    for (const data of [{}, DB, FIRST]) await world.send('resync', data)
  }
  await configure(world, { mesh: {} }, FIRST)
  await world.send('resync', {})
  expect([guardsIn(world), sourcesOf(policiesOf(world, 'db'))]).toEqual(before)
  for (const pod of ['db-0', 'db-1']) remove(world, `/api/v1/namespaces/shop/pods/${pod}`)
  await configure(world, ASKED, DB)
  await world.send('relation-broken', endFirst)
  await world.send('resync', {})
  expect([guardsIn(world), policiesOf(world, 'db'), enrolled(world, 'db')]).toEqual([[], [], {}])
})

test('what a beacon granted goes with its relation, whatever it forgot of it, where the consumer is on the mesh of another', async () => {
  const world = await createBeacons()
  await world.send('relation-changed', requires(32, DB, SECOND))
  loseMemory(world, FIRST)
  await world.send('relation-broken', endFirst)
  await configure(world, { mesh: {} }, FIRST)
  for (const data of [{}, DB, FIRST]) await world.send('resync', data)
  expect(sourcesOf(policiesOf(world, 'db'))).toEqual(['shop/cart'])
  await world.send('relation-broken', { ...DB, relation: { id: 3 } })
  expect([enrolled(world, 'db'), sourcesOf(policiesOf(world, 'db'))]).toEqual([expect.objectContaining(AMBIENT), []])
})

test('what is granted to a consumer whose memory is lost stays, though another one has been heard by the same id', async () => {
  const world = await createBeacons()
  const before = sourcesOf(policiesOf(world, 'db'))
  for (const lost of [DB, FIRST]) loseMemory(world, lost)
  await world.send('relation-changed', provides(12, { application: 'cart' }, [], FIRST))
  await configure(world, { mesh: {} }, FIRST)
  await world.send('resync', FIRST)
  expect([before, sourcesOf(policiesOf(world, 'db'))]).toEqual([['shop/cart'], ['shop/cart']])
})
