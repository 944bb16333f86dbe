import { expect, test } from 'vitest'
import type { World } from '../../helpers/world.ts'
import { BEACON_CONFIG, calm, createStarted, effects, isMemoryOf, WORKING } from './pair.ts'

/** Holds the next save of a memory from when it is sent until it is let through. */
const holdSave = (world: World, name: string) => {
  const [sent, letThrough] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  world.intercept = async ({ method, path }) => {
    if (method !== 'PUT' || !isMemoryOf(name, path)) return undefined
    world.intercept = undefined
    sent.resolve()
    await letThrough.promise
    return undefined
  }
  return { sent: sent.promise, letThrough: letThrough.resolve }
}

test.each([{}, { mesh: { modelOnMesh: true } }, { mesh: { waypoint: false } }])(
  'a beacon that is told %j and changes back tells a consumer again that takes what came in between',
  async (config) => {
    const world = await createStarted()
    expect(effects(world)).toEqual(WORKING)
    await world.send('config-changed', { application: 'beacon', config })
    const [told] = world.published.splice(0).filter(({ subject }) => subject === 'shop/details')
    if (told === undefined) throw new Error('details was not told')
    const save = holdSave(world, 'details')
    const taking = world.post(told)
    await save.sent
    await world.send('config-changed', { application: 'beacon', config: BEACON_CONFIG })
    save.letThrough()
    await taking
    await calm(world)
    expect(effects(world)).toEqual(WORKING)
  },
)
