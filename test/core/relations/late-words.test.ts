import { describe, expect, test } from 'vitest'
import type { Event } from '../../../src/platform/cloudevents/cloud-event.ts'
import type { World } from '../../helpers/world.ts'
import {
  BEACON_CONFIG,
  calm,
  configure,
  createStarted,
  DELIVERIES,
  DETAILS_CONFIG,
  effects,
  endRelation,
  MESH,
  now,
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

const FAR = '2036-01-01T00:00:00Z'
const numbered = (sequence: number): Partial<Event> => ({ extensions: { sequence: String(sequence) } })

/** Delivers an event once more, as it was: its id, source, time and sequence too. */
const again = async (world: World, event: Event): Promise<void> => {
  await world.post(event)
  await calm(world)
}

describe('repeated events', () => {
  test.each(['details', 'beacon'])(
    'an event without time and sequence that is delivered again after the relation ended, told to %s, brings nothing back',
    async (side) => {
      const world = await createStarted('broker', { sides: [] })
      const told = word('relation-changed', toldTo(side, MESH))
      await again(world, told)
      expect(effects(world)).toEqual(WORKING)
      await endRelation(world, side, MESH)
      await again(world, told)
      expect(effects(world)).toEqual(OFF)
      await resync(world, 'details')
      await resync(world, 'beacon')
      expect(effects(world)).toEqual(OFF)
    },
  )

  test('an event without time and sequence that is delivered again after the relation was told again does not end it', async () => {
    const world = await createStarted()
    const ended = word('relation-broken', { application: 'details', relation: { id: MESH.id } })
    await again(world, ended)
    await tellRelation(world, 'details', MESH)
    await again(world, ended)
    expect(effects(world)).toEqual(WORKING)
  })

  test('an event without time and sequence that is delivered again of the same id from another source counts', async () => {
    const world = await createStarted('broker', { sides: [] })
    const told = word('relation-changed', toldTo('details', MESH))
    await again(world, told)
    await endRelation(world, 'details', MESH)
    await again(world, { ...told, source: '/another' })
    expect(effects(world)).toEqual(WORKING)
  })
})

describe('events of the future', () => {
  test('an event of the year 2036 about a config lets later ones of now count', async () => {
    const world = await createStarted()
    await configure(world, 'details', {}, { time: FAR })
    expect(principalsAt(world, 'details')).toEqual([])
    await configure(world, 'details', DETAILS_CONFIG, now(world))
    expect(principalsAt(world, 'details')).toEqual(['shop/productpage'])
    await configure(world, 'details', {}, now(world))
    expect(principalsAt(world, 'details')).toEqual([])
  })

  test.each(['details', 'beacon'])(
    'an event of the year 2036 about a relation, told to %s, lets its end of now count',
    async (side) => {
      const world = await createStarted('broker', { sides: [] })
      await tellRelation(world, side, MESH, { time: FAR })
      expect(effects(world)).toEqual(WORKING)
      await endRelation(world, side, MESH, now(world))
      expect(effects(world)).toEqual(OFF)
      await tellRelation(world, side, MESH, now(world))
      expect(effects(world)).toEqual(WORKING)
    },
  )

  test('an event of the year 2036 that removes a beacon lets its config of now count', async () => {
    const world = await createStarted()
    await say(world, 'application-removed', { application: 'beacon' }, { time: FAR })
    await configure(world, 'beacon', BEACON_CONFIG, now(world))
    await tellRelation(world, 'details', MESH, now(world))
    expect(effects(world)).toEqual(WORKING)
  })
})

describe('ordered events', () => {
  test.each(['details', 'beacon'])(
    'events with a sequence are taken in its order, whatever the order they come in, told to %s',
    async (side) => {
      const world = await createStarted('broker', { sides: [] })
      await endRelation(world, side, MESH, numbered(10))
      await tellRelation(world, side, MESH, numbered(9))
      expect(effects(world)).toEqual(OFF)
      await tellRelation(world, side, MESH, numbered(11))
      await endRelation(world, side, MESH, numbered(10))
      expect(effects(world)).toEqual(WORKING)
    },
  )

  test('events with a sequence are taken in its order about the config', async () => {
    const world = await createStarted()
    await configure(world, 'details', {}, numbered(10))
    await configure(world, 'details', DETAILS_CONFIG, numbered(9))
    expect(principalsAt(world, 'details')).toEqual([])
  })

  test('events with a sequence end a relation that one side was told of by an earlier one, told to the other side', async () => {
    const world = await createStarted('broker', { sides: [] })
    await tellRelation(world, 'details', MESH, numbered(20))
    await endRelation(world, 'beacon', MESH, numbered(21))
    expect(effects(world)).toEqual(OFF)
    await tellRelation(world, 'details', MESH, numbered(20))
    await resync(world, 'details')
    expect(effects(world)).toEqual(OFF)
  })
})

describe.each(DELIVERIES)('with the delivery: %s', (delivery) => {
  test.each(['at once', 'later'])(
    'a beacon that is removed and configured again %s works under the same relation ids',
    async (when) => {
      const world = await createStarted(delivery)
      await say(world, 'application-removed', { application: 'beacon' }, now(world))
      expect(effects(world)).toEqual(OFF)
      if (when === 'later') world.clock.advance(60_000)
      await configure(world, 'beacon', BEACON_CONFIG, now(world))
      for (const relation of [MESH, USE]) await tellRelation(world, 'details', relation, now(world))
      expect(effects(world)).toEqual(WORKING)
    },
  )

  test('a beacon that is removed and configured again works for relations that were told to the other side, once that is resynced', async () => {
    const world = await createStarted(delivery)
    await say(world, 'application-removed', { application: 'beacon' })
    await configure(world, 'beacon', BEACON_CONFIG)
    await resync(world, 'details')
    expect(effects(world)).toEqual(WORKING)
  })

  test('a beacon that is removed and configured again works for relations that it is told itself', async () => {
    const world = await createStarted(delivery, { sides: ['beacon'] })
    await say(world, 'application-removed', { application: 'beacon' })
    expect(effects(world)).toEqual(OFF)
    await configure(world, 'beacon', BEACON_CONFIG)
    await tellRelation(world, 'beacon', MESH)
    expect(effects(world)).toEqual(WORKING)
  })
})
