import { describe, expect, test } from 'vitest'
import {
  atEveryWrite,
  calm,
  createPair,
  effects,
  MESH,
  resync,
  startPair,
  tellRelation,
  toldTo,
  WORKING,
  word,
} from './pair.ts'

const OTHER = { ...MESH, requirer: 'reviews' }

describe('an id that goes to another relation at the beacon', () => {
  test('ends the one before in order: un-enrolled first, then shut out', async () => {
    const world = await startPair(createPair('broker', ['reviews']))
    const seen = atEveryWrite(world, () => effects(world))
    await tellRelation(world, 'beacon', OTHER)
    expect(effects(world)).toEqual({ mesh: 'off', principals: [] })
    expect(seen.filter(({ mesh, principals }) => mesh !== 'off' && principals.length === 0)).toEqual([])
  })

  test.each(['details', 'beacon'])('is made up for by a resync of %s when the one nudge is lost', async (name) => {
    const world = await startPair(createPair('broker', ['reviews']))
    await world.post(word('relation-changed', toldTo('beacon', OTHER)))
    world.published.length = 0
    expect(effects(world)).toEqual(WORKING)
    await resync(world, name)
    expect(effects(world)).toEqual({ mesh: 'off', principals: [] })
  })

  test('with another interface to the same application leaves nobody waiting', async () => {
    const world = await startPair(createPair('broker'))
    await tellRelation(world, 'details', { ...MESH, endpoint: 'x', interface: 'http' })
    await calm(world)
    for (const name of ['details', 'beacon']) {
      const { messages } = await resync(world, name)
      expect(messages.filter((message) => message.includes('waiting for the data'))).toEqual([])
    }
    expect(effects(world)).toEqual({ mesh: 'off', principals: [] })
  })
})
