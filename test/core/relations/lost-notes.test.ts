import { describe, expect, test } from 'vitest'
import type { Event } from '../../../src/platform/cloudevents/cloud-event.ts'
import { createWorld, isWrite, meshRelation, type World } from '../../helpers/world.ts'

/** What the application asks its beacon for, which has no memory. */
const configOf = (port: number) => ({ config: { policies: [{ type: 'unit', relation: 'db', ports: [port] }] } })

const CLIENT = {
  relation: { id: 3, endpoint: 'db', interface: 'db', role: 'provides' },
  remote: { application: 'client', data: {} },
}

/** An application that the beacon knows of, and of its first config. */
const createTold = async (): Promise<World> => {
  const world = createWorld()
  await world.send('relation-changed', CLIENT)
  await world.send('config-changed', configOf(1))
  await world.send('relation-changed', meshRelation())
  return world
}

const toBeacon = (world: World): Event[] => world.published.filter(({ subject }) => subject === 'shop/beacon')

/** The last word that the beacon was sent: the ports asked for, or the end. */
const lastWord = (world: World): unknown => {
  const { type, data } = toBeacon(world).at(-1) ?? {}
  if (type === 'dev.meshstep.relation-broken.v1') return 'ended'
  return (JSON.stringify(data).match(/ports\D+(\d+)/) ?? [])[1]
}

/** Sends an event whose process dies once others were told of it: nothing is written after that. */
const sendAndDie = async (world: World, type: string, data: Record<string, unknown>): Promise<void> => {
  const before = toBeacon(world).length
  world.intercept = async ({ method, path }) =>
    toBeacon(world).length > before && isWrite(`${method} ${path}`)
      ? { status: 503, headers: {}, body: '{}' }
      : undefined
  await world.send(type, data).catch(() => undefined)
  world.intercept = undefined
  expect(toBeacon(world).length).toBeGreaterThan(before)
}

describe('who has no memory, told by a process that died before it noted that', () => {
  test('of something else, is told again what was said before', async () => {
    const world = await createTold()
    await sendAndDie(world, 'config-changed', configOf(2))
    expect(lastWord(world)).toBe('2')
    await world.send('config-changed', configOf(1))
    expect(lastWord(world)).toBe('1')
  })

  test('of a relation, is told of its end', async () => {
    const world = createWorld()
    await sendAndDie(world, 'relation-changed', meshRelation())
    await world.send('relation-broken', { relation: { id: 7 } })
    expect(lastWord(world)).toBe('ended')
  })

  test('an application without a memory, told by a process that died before it noted that, is told the same once more by whatever comes next, and then no more', async () => {
    const world = await createTold()
    await sendAndDie(world, 'config-changed', configOf(2))
    world.published.length = 0
    for (const _ of [1, 2]) await world.send('pod-restarted', { pod: { name: 'web-0', uid: 'u' } })
    expect(lastWord(world)).toBe('2')
    expect(toBeacon(world)).toHaveLength(1)
  })
})
