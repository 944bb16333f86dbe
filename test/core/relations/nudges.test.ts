import { describe, expect, test } from 'vitest'
import type { Event } from '../../../src/platform/cloudevents/cloud-event.ts'
import { isWrite, type World } from '../../helpers/world.ts'
import {
  calm,
  configure,
  createStarted,
  DELIVERIES,
  DETAILS_CONFIG,
  effects,
  endRelation,
  joinProcess,
  MESH,
  OFF,
  resync,
  tellRelation,
  toldTo,
  USE,
  WORKING,
  word,
} from './pair.ts'

/** More than this is taken for a ring, and ended. */
const MOST = 40

/** A broker that answers when its subscriber has; the subscriber is another process, whose sink is the same broker. */
const connectWithWaiting = (world: World, other: World): Event[] => {
  const sent: Event[] = []
  const via = (subscriber: World) => async (event: Event) => {
    sent.push(event)
    return sent.length > MOST ? 202 : (await subscriber.post(event)).status
  }
  world.sink = via(other)
  other.sink = via(world)
  return sent
}

describe('a waiting broker', () => {
  test.each([
    ['details', 'another process'],
    ['beacon', 'another process'],
    ['details', 'the same process'],
    ['beacon', 'the same process'],
  ])(
    'a broker that waits for its subscriber carries at most 8 events for one relation told to %s, subscribed by %s',
    async (side, subscriber) => {
      const world = await createStarted('broker', { sides: [] })
      const sent = connectWithWaiting(world, subscriber === 'the same process' ? world : joinProcess(world))
      await tellRelation(world, side, MESH)
      expect(sent.length).toBeLessThanOrEqual(8)
      expect(effects(world)).toEqual(WORKING)
      sent.length = 0
      await endRelation(world, side, MESH)
      expect(sent.length).toBeLessThanOrEqual(8)
      expect(effects(world)).toEqual(OFF)
    },
    20_000,
  )

  test('a broker that waits for its subscriber carries nothing when a step finds all as it should be', async () => {
    const world = await createStarted()
    const sent = connectWithWaiting(world, joinProcess(world))
    await configure(world, 'details', DETAILS_CONFIG)
    world.calls.length = 0
    await world.post(word('pod-restarted', { application: 'beacon', pod: { name: 'beacon-0', uid: 'u' } }))
    await world.post(word('config-changed', { application: 'details', config: DETAILS_CONFIG }))
    expect(sent.filter(({ subject }) => subject === 'shop/beacon' || subject === 'shop/details')).toEqual([])
  }, 20_000)
})

describe('economy', () => {
  test.each(['details', 'beacon'])(
    'a relation that is told to one side is done after at most two events for each side, told to %s',
    async (side) => {
      const world = await createStarted('broker', { sides: [] })
      const received: (string | undefined)[] = [`shop/${side}`]
      world.sink = async (event) => {
        if (event.type.startsWith('dev.meshstep.relation-')) received.push(event.subject)
        world.published.push(event)
        return 202
      }
      await tellRelation(world, side, MESH)
      expect(effects(world)).toEqual(WORKING)
      const events = (name: string) => received.filter((subject) => subject === `shop/${name}`).length
      expect(events('details')).toBeLessThanOrEqual(2)
      expect(events('beacon')).toBeLessThanOrEqual(2)
    },
  )

  test.each(DELIVERIES)(
    'a relation that is told to one side leaves nothing to write for either side, with the delivery: %s',
    async (delivery) => {
      const world = await createStarted(delivery)
      world.calls.length = 0
      for (const name of ['details', 'beacon', 'productpage', 'details']) await resync(world, name)
      expect(world.calls.filter(isWrite)).toEqual([])
    },
  )
})

type Loss = readonly [name: string, transform: (events: Event[]) => Event[]]

const LOSSES: readonly Loss[] = [
  ['lost', () => []],
  ['doubled', (events) => [...events, ...events]],
  ['turned round', (events) => events.toReversed()],
]

describe.each(LOSSES)('events between applications that are %s', (how, transform) => {
  const pass = async (world: World): Promise<void> => {
    for (let round = 0; round < 5 && world.published.length > 0; round += 1) {
      for (const event of transform(world.published.splice(0))) await world.post(event)
    }
    world.published.length = 0
  }

  const HISTORY: readonly (readonly [string, string, Record<string, unknown>])[] = [
    ['details', 'relation-changed', toldTo('details', MESH)],
    ['details', 'relation-broken', { application: 'details', relation: { id: MESH.id } }],
    ['beacon', 'relation-changed', toldTo('beacon', MESH)],
  ]

  test.each(['details', 'beacon'])(
    `a relation whose events between applications are ${how} is right after a resync of %s`,
    async (name) => {
      const world = await createStarted('broker', { sides: [] })
      for (const [index, [, type, data]] of HISTORY.entries()) {
        await world.post(word(type, data))
        await pass(world)
        if (index === 0) continue
        await resync(world, name)
        expect([index, effects(world)]).toEqual([index, index === 1 ? OFF : WORKING])
      }
    },
  )

  test.each(['details', 'beacon'])(
    `a relation whose events between applications are ${how} is right after the next events of %s`,
    async (name) => {
      const world = await createStarted('broker', { sides: [] })
      await world.post(word('relation-changed', toldTo('details', MESH)))
      await pass(world)
      await world.post(word('pod-restarted', { application: name, pod: { name: `${name}-0`, uid: 'u' } }))
      await calm(world)
      if (name === 'details') expect(effects(world)).toEqual(WORKING)
      await resync(world, name)
      expect(effects(world)).toEqual(WORKING)
    },
  )

  test(`a new user whose events between applications are ${how} is let in after a resync`, async () => {
    const world = await createStarted('broker', { others: ['reviews'] })
    await world.post(word('relation-changed', toldTo('details', { ...USE, id: 9, requirer: 'reviews' })))
    await pass(world)
    await resync(world, 'details')
    expect(effects(world).principals).toEqual(['shop/productpage', 'shop/reviews'])
  })
})

describe('a forgetful sink', () => {
  test('an event that a sink accepts and drops is sent again after the next event, whatever that is about', async () => {
    const world = await createStarted('broker', { sides: [] })
    await world.send('relation-changed', toldTo('details', MESH), { id: 'one', source: '/platform' })
    expect(world.published.splice(0)).not.toEqual([])
    await world.send(
      'leader-elected',
      { application: 'details', unit: 'details/0' },
      { id: 'two', source: '/platform' },
    )
    expect(world.published.map(({ subject }) => subject)).toContain('shop/beacon')
    await calm(world)
    expect(effects(world)).toEqual(WORKING)
  })
})
