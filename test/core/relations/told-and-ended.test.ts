import { setImmediate as turn } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import type { Event } from '../../../src/platform/cloudevents/cloud-event.ts'
import { some } from '../../helpers/runs.ts'
import type { World } from '../../helpers/world.ts'
import {
  BEACON_CONFIG,
  calm,
  configure,
  createPair,
  createStarted,
  DELIVERIES,
  DETAILS_CONFIG,
  effects,
  endRelation,
  isOffMesh,
  MESH,
  OFF,
  principalsAt,
  resync,
  say,
  tellRelation,
  toldTo,
  USE,
  WORKING,
  word,
} from './pair.ts'

type Attributes = Partial<Event>

/** How a platform orders its events: the attributes of the one that comes after so many others. */
const ORDERINGS: readonly (readonly [name: string, attributesOf: (index: number) => Attributes])[] = [
  ['time', (index) => ({ time: new Date(Date.parse('2026-01-01T00:00:00Z') + index * 1_000).toISOString() })],
  ['sequence', (index) => ({ extensions: { sequence: String(9 + index) } })],
  ['neither', () => ({})],
]

const SIDES = [
  ['details', 'beacon'],
  ['beacon', 'details'],
  ['details', 'details'],
  ['beacon', 'beacon'],
] as const

const HISTORIES = DELIVERIES.flatMap((delivery) =>
  ORDERINGS.flatMap(([order, attributesOf]) =>
    SIDES.map(([teller, ender]) => ({ delivery, order, attributesOf, teller, ender })),
  ),
)

const resyncBoth = async (world: World): Promise<void> => {
  for (const name of ['details', 'beacon', 'details']) await resync(world, name)
}

describe('histories of a relation', () => {
  test.each(some(HISTORIES, 5))(
    'a relation told to $teller, ended at $ender and told to $teller again works, ordered by $order, delivered by: $delivery',
    async ({ delivery, attributesOf, teller, ender }) => {
      const world = await createStarted(delivery, { sides: [] })
      await tellRelation(world, teller, MESH, attributesOf(0))
      expect(effects(world)).toEqual(WORKING)
      await endRelation(world, ender, MESH, attributesOf(1))
      expect(effects(world)).toEqual(OFF)
      await tellRelation(world, teller, MESH, attributesOf(2))
      expect(effects(world)).toEqual(WORKING)
      await endRelation(world, ender, MESH, attributesOf(3))
      await resyncBoth(world)
      expect(effects(world)).toEqual(OFF)
    },
  )

  test.each(DELIVERIES.flatMap((delivery) => ['details', 'beacon'].map((ender) => ({ delivery, ender }))))(
    'a relation told to both sides and ended at $ender alone is over for both, delivered by: $delivery',
    async ({ delivery, ender }) => {
      const world = await createStarted(delivery, { sides: ['details', 'beacon'] })
      expect(effects(world)).toEqual(WORKING)
      await endRelation(world, ender, MESH)
      expect(effects(world)).toEqual(OFF)
      await resyncBoth(world)
      expect(effects(world)).toEqual(OFF)
    },
  )

  test.each(['details', 'beacon'])('a relation ended at both sides, then told to %s again, works', async (teller) => {
    const world = await createStarted('broker', { sides: ['details', 'beacon'] })
    for (const side of ['beacon', 'details']) await endRelation(world, side, MESH)
    await tellRelation(world, teller, MESH)
    expect(effects(world)).toEqual(WORKING)
  })

  test.each(['details', 'beacon'])(
    'a relation that %s hears of again under another id is that one alone',
    async (side) => {
      const world = await createStarted()
      await tellRelation(world, side, { ...MESH, id: 5 })
      await endRelation(world, 'details', MESH)
      expect(effects(world)).toEqual(WORKING)
      await endRelation(world, side, { ...MESH, id: 5 })
      expect(effects(world)).toEqual(OFF)
    },
  )

  test('a relation whose id is used again for another application lets in that one alone', async () => {
    const world = await createStarted('broker', { others: ['reviews'] })
    await endRelation(world, 'details', USE)
    await tellRelation(world, 'details', { ...USE, requirer: 'reviews' })
    expect(principalsAt(world, 'details')).toEqual(['shop/reviews'])
    await resync(world, 'productpage')
    await resync(world, 'details')
    expect(principalsAt(world, 'details')).toEqual(['shop/reviews'])
  })

  test('a relation whose id names another beacon is that of the first one until its end is told', async () => {
    const world = await createStarted()
    await configure(world, 'other', BEACON_CONFIG)
    await tellRelation(world, 'details', { ...MESH, provider: 'other' })
    const waypoint = () => world.labels('details').template['istio.io/use-waypoint']
    const owners = () => {
      const policies = world.api.objects().filter(({ kind }) => kind === 'AuthorizationPolicy')
      return [...new Set(policies.map(({ metadata }) => metadata.name.split('-')[0]))]
    }
    for (const name of ['beacon', 'other', 'details']) await resync(world, name)
    expect([waypoint(), owners()]).toEqual(['shop-beacon-waypoint', ['beacon']])
    await endRelation(world, 'beacon', MESH)
    expect([waypoint(), owners()]).toEqual(['shop-other-waypoint', ['other']])
    for (const name of ['beacon', 'other', 'details']) await resync(world, name)
    expect([waypoint(), owners()]).toEqual(['shop-other-waypoint', ['other']])
  })
})

describe('late publications', () => {
  test.each(['details', 'beacon'])(
    'a relation broken without time or sequence at %s stays broken though what the other side was sent is delivered afterwards',
    async (ender) => {
      const world = await createStarted('broker', { sides: [] })
      await world.send('relation-changed', toldTo('details', MESH), fresh())
      const late = world.published.splice(0)
      await world.send('relation-broken', { application: ender, relation: { id: MESH.id } }, fresh())
      world.published.push(...late)
      await calm(world)
      await resyncBoth(world)
      expect(effects(world)).toEqual(OFF)
    },
  )

  test('a relation broken without time or sequence at details stays broken though all that was ever sent is delivered again', async () => {
    const world = await createStarted('broker', { sides: [] })
    const sent: Event[] = []
    world.sink = async (event) => {
      sent.push(event)
      world.published.push(event)
      return 202
    }
    await tellRelation(world, 'details', MESH)
    expect(effects(world)).toEqual(WORKING)
    await resync(world, 'beacon')
    await endRelation(world, 'details', MESH)
    for (const one of [...sent]) await world.post(one)
    await calm(world)
    expect(isOffMesh(world, 'details')).toBe(true)
    await resyncBoth(world)
    expect(effects(world)).toEqual(OFF)
  })
})

const fresh = (): Attributes => {
  const { id, source } = word('any', {})
  return { id, source }
}

test.each(['details', 'beacon'])(
  'a relation that comes back, told to %s, while its end is being sent works',
  async (back) => {
    const world = await createStarted()
    let open: () => void = () => undefined
    const opened = new Promise<void>((resolve) => {
      open = resolve
    })
    const isSending = new Promise<void>((resolve) => {
      world.sink = async (event) => {
        resolve()
        await opened
        world.published.push(event)
        return 202
      }
    })
    const ending = endRelation(world, 'details', MESH)
    await isSending
    const telling = tellRelation(world, back, MESH)
    await turn()
    open()
    await Promise.all([ending, telling])
    await calm(world)
    expect(effects(world)).toEqual(WORKING)
  },
)

test('a relation that is told while its end waits for its turn works', async () => {
  const world = await createStarted()
  await Promise.all([endRelation(world, 'details', MESH), tellRelation(world, 'details', MESH)])
  expect(effects(world)).toEqual(WORKING)
})

test('an application that is told of its relations before its config, and of the config again, works', async () => {
  const world = createPair()
  await tellRelation(world, 'details', MESH)
  await tellRelation(world, 'details', USE)
  await configure(world, 'details', DETAILS_CONFIG)
  await configure(world, 'beacon', BEACON_CONFIG)
  await say(world, 'config-changed', { application: 'details', config: DETAILS_CONFIG })
  expect(effects(world)).toEqual(WORKING)
})
