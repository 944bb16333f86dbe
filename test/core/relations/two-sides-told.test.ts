import { describe, expect, test } from 'vitest'
import type { Event } from '../../../src/platform/cloudevents/cloud-event.ts'
import type { World } from '../../helpers/world.ts'
import {
  calm,
  configure,
  createPair,
  createStarted,
  deliver,
  effects,
  loseMemory,
  MESH,
  now,
  OFF,
  principalsAt,
  type Related,
  resync,
  say,
  toldTo,
  USE,
  WORKING,
  word,
} from './pair.ts'

/** `USE`, where each side has its own name for its endpoint. */
const ENDPOINTS: Readonly<Record<string, string>> = { details: 'details', productpage: 'back' }

const told = (name: string, related: Related, data: Record<string, unknown> = {}): Record<string, unknown> => {
  const { relation, remote } = toldTo(name, related) as { relation: object; remote: object }
  const endpoint = related.interface === USE.interface ? { endpoint: ENDPOINTS[name] } : {}
  return { application: name, relation: { ...relation, ...endpoint }, remote: { ...remote, data } }
}

const change = (name: string, related: Related, attributes: Partial<Event>, data?: Record<string, unknown>): Event =>
  word('relation-changed', told(name, related, data), attributes)

const orders = <T>([one, other]: readonly [T, T]): [T, T][] => [
  [one, other],
  [other, one],
]

/** All is as it was told, to whoever of both sides a resync is sent. */
const settled = async (world: World, names: readonly string[]): Promise<void> => {
  for (const name of names) await resync(world, name)
}

describe('what is told to one side follows the last word to that side', () => {
  const sides = ['details', 'productpage'] as const
  const histories = orders<(typeof sides)[number]>(['details', 'productpage']).flatMap((times) =>
    orders<(typeof sides)[number]>(['details', 'productpage']).map((delivered) => ({ times, delivered })),
  )

  test.each(histories)(
    '$times.0 was told before $times.1, and $delivered.0 heard it first',
    async ({ times, delivered }) => {
      const world = createPair()
      await configure(world, 'beacon', { mesh: {} })
      await configure(world, 'details', {
        policies: [{ type: 'app', relation: 'details', endpoints: [{ ports: [9080] }] }],
      })
      await deliver(world, [change('details', MESH, {})])
      const at = Object.fromEntries(times.map((name) => [name, now(world)]))
      await deliver(
        world,
        delivered.map((name) => change(name, USE, at[name] ?? {})),
      )
      await settled(world, delivered)
      expect(effects(world)).toEqual(WORKING)
      expect(sides.map((name) => endpointAt(world, name))).toEqual(['details', 'back'])
    },
  )

  test.each(orders(['details', 'productpage']))(
    'data that were emptied are gone, though the other side was told later, %s hears first',
    async (...delivered) => {
      const world = await startScraped()
      expect(principalsAt(world, 'details')).toEqual(['shop/productpage'])
      const words = {
        details: change('details', SCRAPE, now(world)),
        productpage: change('productpage', SCRAPE, now(world)),
      }
      await deliver(
        world,
        delivered.map((name) => words[name as keyof typeof words]),
      )
      await settled(world, delivered)
      expect(world.memory('details')?.state.relations).toMatchObject({
        '9/requires/prometheus_scrape/productpage': { remote: { data: {} } },
      })
    },
  )
})

/** `details` scrapes what `productpage` offers. */
const SCRAPE: Related = {
  id: 9,
  requirer: 'details',
  provider: 'productpage',
  endpoint: 'scrape',
  interface: 'prometheus_scrape',
}

const startScraped = async (): Promise<World> => {
  const world = await createStarted()
  const data = { scrape_jobs: '[{"static_configs":[{"targets":["*:9113"]}]}]' }
  await deliver(world, [change('details', SCRAPE, now(world), data)])
  return world
}

const endpointAt = (world: World, name: string): unknown =>
  Object.values((world.memory(name)?.state.relations ?? {}) as Record<string, { id: number; endpoint: string }>).find(
    ({ id }) => id === USE.id,
  )?.endpoint

describe('an application that its platform speaks of again after its removal is back', () => {
  const remove = async (world: World): Promise<void> => {
    await say(world, 'application-removed', { application: 'details' }, now(world))
    expect(effects(world)).toEqual(OFF)
  }

  const AGAIN: Related = { ...MESH, id: 11 }
  const USED: Related = { ...USE, id: 12 }

  test.each([['details'], ['beacon'], ['details', 'beacon'], ['beacon', 'details']])(
    'the mesh is told to %s, %s',
    async (...names) => {
      const world = await createStarted()
      await remove(world)
      for (const name of names) await deliver(world, [change(name, AGAIN, now(world))])
      await settled(world, ['details', 'beacon'])
      expect(effects(world).mesh).toBe('on')
    },
  )

  test('a new relation is told to the other side alone', async () => {
    const world = await createStarted()
    await remove(world)
    await deliver(world, [change('details', AGAIN, now(world)), change('productpage', USED, now(world))])
    await settled(world, ['details', 'productpage'])
    expect(world.memory('details')?.state.relations).toMatchObject({
      '12/provides/http/productpage': { status: 'established' },
    })
  })

  test.each(orders(['details', 'beacon']))(
    'both are told, and %s hears the later word first',
    async (first, second) => {
      const world = await createStarted()
      await remove(world)
      const early = now(world)
      const late = now(world)
      await deliver(world, [change(first, AGAIN, late), change(second, AGAIN, early)])
      await settled(world, ['details', 'beacon'])
      expect(effects(world).mesh).toBe('on')
    },
  )

  test.each(['details', 'beacon'])(
    'a word to %s that was sent before the removal brings nothing back',
    async (name) => {
      const world = await createStarted()
      const before = now(world)
      await remove(world)
      await deliver(world, [change(name, AGAIN, before)])
      await settled(world, ['details', 'beacon'])
      await calm(world)
      expect(effects(world)).toEqual(OFF)
    },
  )

  test('an end that was sent before the removal counts, though the application hears it last and was never told of the relation', async () => {
    const world = await createStarted('broker', { sides: ['beacon'] })
    const broken = word('relation-broken', { application: 'details', relation: { id: MESH.id } }, now(world))
    const removed = word('application-removed', { application: 'details' }, now(world))
    const configured = word('config-changed', { application: 'details', config: {} }, now(world))
    await deliver(world, [removed, configured, broken])
    await settled(world, ['details', 'beacon'])
    expect(effects(world).mesh).toBe('off')
  })

  test('a relation is over by the removal of an application that was told of it before, whatever it hears last', async () => {
    const world = await createStarted()
    const ended = word('relation-broken', { application: 'productpage', relation: { id: USE.id } }, now(world))
    const here = change('details', { ...USE, id: 12 }, now(world))
    const there = change('productpage', { ...USE, id: 12 }, now(world))
    const removed = word('application-removed', { application: 'details' }, now(world))
    await deliver(world, [removed, ended, here, there])
    await settled(world, ['details', 'productpage'])
    expect(world.memory('details')?.state.relations).toMatchObject({
      '12/provides/http/productpage': { status: 'ended' },
    })
  })
})

test('what an event says of a side is known again after the memory was lost, though the peer has remembered the event', async () => {
  const world = await createStarted()
  const [here, there] = [
    change('details', { ...USE, id: 12 }, now(world)),
    change('productpage', { ...USE, id: 12 }, now(world)),
  ]
  await deliver(world, [here, there])
  loseMemory(world, 'details')
  await deliver(world, [change('details', MESH, now(world)), here])
  await settled(world, ['details', 'productpage'])
  const { relations = {} } = world.memory('details')?.state ?? {}
  expect(relations).toMatchObject({ '12/provides/http/productpage': { endpoint: 'details' } })
})
