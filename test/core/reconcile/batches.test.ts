import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test, vi } from 'vitest'
import { createYieldTurn, type YieldTurn } from '../../../src/platform/base/yield-turn.ts'
import { APPLICATION, createWorld, event, isWrite, type World } from '../../helpers/world.ts'

const COUNT = 200

const related = (id: number, attributes: { id?: string } = {}) =>
  event(
    'relation-changed',
    {
      relation: { id, endpoint: 'details', interface: 'http', role: 'provides' },
      remote: { application: `remote-${id}`, data: {} },
    },
    attributes,
  )

/** One event is taken by itself, and those that wait for it meanwhile together. */
const sendAll = async (sink?: World['sink'], yieldTurn?: YieldTurn) => {
  const world = createWorld(undefined, { ...(yieldTurn && { yieldTurn }) })
  world.sink = sink
  const responses = await Promise.all(Array.from({ length: COUNT }, (_, index) => world.post(related(index + 1))))
  expect(responses.filter(({ status }) => status !== 200)).toEqual([])
  expect(Object.keys(world.memory()?.state.relations as object)).toHaveLength(COUNT)
  return world
}

test('many events of one application are saved together', async () => {
  const world = await sendAll()
  const memory = `/configmaps/juju-service-mesh-${APPLICATION}-labels`
  const saves = world.calls.filter((call) => isWrite(call) && (call.includes(memory) || call.includes('/configmaps?')))
  expect(saves.length).toBeLessThanOrEqual(6)
})

test('no entry of the memory is serialised for each event', async () => {
  const stringify = vi.spyOn(JSON, 'stringify')
  await sendAll()
  const large = stringify.mock.results.filter(({ value }) => typeof value === 'string' && value.length > 10_000)
  stringify.mockRestore()
  expect(large.length).toBeLessThan(40)
})

test('others have a turn while many events are taken', async () => {
  let turns = 0
  let isOver = false
  const count = (): void => {
    turns += 1
    if (!isOver) setImmediate(count)
  }
  setImmediate(count)
  await sendAll(
    undefined,
    createYieldTurn(() => 0),
  )
  isOver = true
  expect(turns).toBeGreaterThanOrEqual(Math.floor((COUNT - 1) / 32))
})

test('a remote application without a memory is sent the same once, however many steps are taken until it has it', async () => {
  const ids: string[] = []
  await sendAll(async ({ id }) => {
    ids.push(id)
    await sleep(1)
    return 202
  })
  expect(new Set(ids).size).toBe(COUNT)
  expect(ids).toHaveLength(COUNT)
})

test('one that was not taken is sent by the next step', async () => {
  const ids: string[] = []
  const world = createWorld()
  world.sink = async ({ id }) => (ids.push(id) === 1 ? 400 : 202)
  for (const _ of ['refused', 'taken', 'known']) await world.post(related(1, { id: 'same' }))
  expect(ids).toHaveLength(2)
  expect(new Set(ids).size).toBe(1)
})
