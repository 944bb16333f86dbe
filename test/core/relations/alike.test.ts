import { describe, expect, test } from 'vitest'
import { some } from '../../helpers/runs.ts'
import { service, type World } from '../../helpers/world.ts'
import {
  CONFIGS,
  configure,
  createPair,
  createStarted,
  DETAILS_CONFIG,
  effects,
  endRelation,
  MESH,
  principalsAt,
  type Related,
  resync,
  tellRelation,
  USE,
  WORKING,
} from './pair.ts'

const RW: Related = { id: 1, requirer: 'web', provider: 'db', endpoint: 'db-rw', interface: 'k8s-service' }
const RO: Related = { ...RW, id: 2, endpoint: 'db-ro' }

const createDatabase = async (): Promise<World> => {
  const world = createPair('broker', ['db', 'web'])
  world.api.seed(['db-rw', 'db-ro', 'primary'].map(service), { manager: 'juju' })
  const services = { 'db-rw': { name: 'db-rw', port: 5432 }, 'db-ro': { name: 'db-ro', port: 5433 } }
  await configure(world, 'db', { services })
  return world
}

type Service = { relation: number | string; host: string; port: number }

/** The Services that web is offered, by relation. */
const offered = async (world: World): Promise<string[]> => {
  const response = await world.app.request('/applications/shop/web')
  if (response.status === 404) return []
  const { services } = (await response.json()) as { services: Service[] }
  return services.map(({ host, port }) => `${host.split('.')[0]}:${port}`).toSorted()
}

const TOLD = [['db'], ['web'], ['db', 'web'], ['web', 'db']].map((told) => ({ told }))

describe('parallel relations', () => {
  test.each(TOLD)(
    'two relations of one interface between the same two applications offer a Service each, told to $told',
    async ({ told }) => {
      const world = await createDatabase()
      for (const side of told) for (const relation of [RW, RO]) await tellRelation(world, side, relation)
      expect(await offered(world)).toEqual(['db-ro:5433', 'db-rw:5432'])
    },
  )

  test.each(
    some(
      TOLD.flatMap(({ told }) => [RW, RO].flatMap((gone) => ['db', 'web'].map((ender) => ({ told, gone, ender })))),
      3,
    ),
  )(
    'two relations of one interface between the same two applications told to $told leave the other one when $gone.endpoint is broken at $ender',
    async ({ told, gone, ender }) => {
      const world = await createDatabase()
      for (const side of told) for (const relation of [RW, RO]) await tellRelation(world, side, relation)
      await endRelation(world, ender, gone)
      const left = gone === RW ? ['db-ro:5433'] : ['db-rw:5432']
      expect(await offered(world)).toEqual(left)
      for (const name of ['db', 'web']) await resync(world, name)
      expect(await offered(world)).toEqual(left)
    },
  )

  test('two relations of one interface between the same two applications tell their changes to the one that they concern', async () => {
    const world = await createDatabase()
    for (const relation of [RW, RO]) await tellRelation(world, 'db', relation)
    await configure(world, 'db', { services: { 'db-rw': { name: 'primary', port: 1 } } })
    expect(await offered(world)).toEqual(['primary:1'])
  })

  test.each(['details', 'productpage'])(
    'two relations of one interface between the same two applications that policies name are two, told to %s',
    async (side) => {
      const world = await createStarted()
      const { policies } = DETAILS_CONFIG
      const admin: Related = { ...USE, id: 3, endpoint: 'admin' }
      await configure(world, 'details', { policies: [...policies, { type: 'app', relation: 'admin', endpoints: [] }] })
      await tellRelation(world, side, admin)
      await endRelation(world, side, USE)
      expect(principalsAt(world, 'details')).toEqual(['shop/productpage'])
      await endRelation(world, side, admin)
      expect(principalsAt(world, 'details')).toEqual([])
    },
  )

  test.each(['details', 'productpage'])(
    'two relations of one interface between the same two applications and one endpoint are two, told to %s',
    async (side) => {
      const world = await createStarted()
      const again: Related = { ...USE, id: 3 }
      await tellRelation(world, side, again)
      await endRelation(world, 'details', USE)
      expect(principalsAt(world, 'details')).toEqual(['shop/productpage'])
      await endRelation(world, side, again)
      expect(principalsAt(world, 'details')).toEqual([])
    },
  )
})

describe('replaced relations', () => {
  test.each([
    ['details', 'before the first one ends', [5, -1]],
    ['beacon', 'before the first one ends', [5, -1]],
    ['details', 'after the first one ended', [-1, 5]],
    ['beacon', 'after the first one ended', [-1, 5]],
  ])('a relation that replaces another one with the beacon works, told to %s %s', async (side, _, steps) => {
    const world = await createStarted()
    for (const id of steps) {
      if (id > 0) await tellRelation(world, side, { ...MESH, id })
      else await endRelation(world, side, MESH)
    }
    expect(effects(world)).toEqual(WORKING)
    for (const name of ['details', 'beacon']) await configure(world, name, CONFIGS[name] ?? {})
    expect(effects(world)).toEqual(WORKING)
    await configure(world, 'details', {})
    expect(principalsAt(world, 'details')).toEqual([])
  })
})
