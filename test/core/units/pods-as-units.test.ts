import { describe, expect, test } from 'vitest'
import {
  createEmptyWorld,
  deployed,
  podOf,
  podSpec,
  pods,
  remove,
  STATEFUL,
  scale,
  unitsOf,
  view,
} from '../../helpers/application.ts'
import { createWorld, workload } from '../../helpers/world.ts'

const stateless = async (replicas = 1) => {
  const world = createEmptyWorld()
  await world.send('config-changed', deployed())
  scale(world, replicas)
  await world.send('resync', {})
  return world
}

const stateful = async (replicas = 2) => {
  const world = createEmptyWorld()
  await world.send('config-changed', deployed(STATEFUL))
  scale(world, replicas, 'StatefulSet')
  await world.send('resync', {})
  return world
}

describe('the units of a stateless application', () => {
  test('a pod that is replaced is a new unit, and the number of the former is never given again', async () => {
    const world = await stateless(2)
    expect(await unitsOf(world)).toEqual(['web/0', 'web/1'])
    const [first] = pods(world)
    remove(world, 'Pod', first?.metadata.name ?? '')
    await world.send('resync', {})
    expect(await unitsOf(world)).toEqual([expect.stringMatching(/^web\/[01]$/), 'web/2'])
  })

  test('a new spec replaces all of them', async () => {
    const world = await stateless(2)
    await world.send('config-changed', deployed({ podSpec: podSpec('web:2') }))
    expect(await unitsOf(world)).toEqual(['web/2', 'web/3'])
  })

  test('none is left when it is scaled to none, and the next one has a new number', async () => {
    const world = await stateless(2)
    scale(world, 0)
    await world.send('resync', {})
    expect(await unitsOf(world)).toEqual([])
    scale(world, 1)
    await world.send('resync', {})
    expect(await unitsOf(world)).toEqual(['web/2'])
  })

  test('the number that whoever tells of a pod gives out is kept, unless a pod had it', async () => {
    const world = createWorld([workload('Deployment')])
    await world.send('config-changed', { config: {} })
    await world.send('pod-restarted', { unit: 'web/7', pod: { name: 'web-a', uid: 'a' } })
    await world.send('pod-restarted', { unit: 'web/7', pod: { name: 'web-b', uid: 'b' } })
    expect(await unitsOf(world)).toEqual(['web/7', 'web/8'])
  })
})

describe('the units of a stateful application', () => {
  test('a pod that is replaced is the same unit, with another uid', async () => {
    const world = await stateful()
    const before = (await view(world)).units
    remove(world, 'Pod', 'web-1')
    await world.send('resync', {})
    const after = (await view(world)).units
    expect(after.map(({ unit, pod }) => [unit, pod])).toEqual([
      ['web/0', 'web-0'],
      ['web/1', 'web-1'],
    ])
    expect(after[0]).toEqual(before[0])
    expect(after[1]?.uid).not.toBe(before[1]?.uid)
  })

  test('a new spec keeps them all', async () => {
    const world = await stateful()
    await world.send('config-changed', deployed({ ...STATEFUL, podSpec: podSpec('web:2') }))
    expect(await unitsOf(world)).toEqual(['web/0', 'web/1'])
  })

  test('a unit that is scaled away and comes back has its number', async () => {
    const world = await stateful()
    for (const replicas of [1, 2]) {
      scale(world, replicas, 'StatefulSet')
      await world.send('resync', {})
    }
    expect(await unitsOf(world)).toEqual(['web/0', 'web/1'])
  })
})

describe('an application that changes between the two', () => {
  test('an application that changes between the two has the numbers of its pods while it is stateful, and new ones each time it is not', async () => {
    const world = await stateless(2)
    await world.send('config-changed', deployed({ ...STATEFUL, replicas: 2 }))
    expect((await view(world)).units.map(({ unit, pod }) => [unit, pod])).toEqual([
      ['web/0', 'web-0'],
      ['web/1', 'web-1'],
    ])
    await world.send('config-changed', deployed({ replicas: 2 }))
    expect(await unitsOf(world)).toEqual(['web/2', 'web/3'])
  })

  test('an application that changes between the two has no units any more once it has no workload', async () => {
    const world = await stateless(2)
    await world.send('config-changed', { config: {} })
    expect(pods(world)).toEqual([])
    expect(await unitsOf(world)).toEqual([])
  })
})

describe('what is told of pods', () => {
  test('what is told of pods late, of one that was replaced, changes neither the units nor the cluster', async () => {
    const world = await stateful()
    const [former] = pods(world)
    remove(world, 'Pod', former?.metadata.name ?? '')
    await world.send('resync', {})
    const before = await view(world)
    if (former === undefined) throw new Error('no pod')
    await world.send('pod-restarted', {
      unit: 'web/0',
      pod: podOf(former),
      status: { status: 'blocked', message: 'late' },
    })
    expect(await view(world)).toEqual(before)
  })

  test('what is told of pods makes no unit of a pod that is not there, whatever it says', async () => {
    const world = await stateless()
    await world.send('pod-restarted', {
      pod: { name: 'web-x', uid: 'x' },
      status: { status: 'error', message: 'who am I' },
    })
    expect(await view(world)).toMatchObject({ units: [{ unit: 'web/0' }], status: { status: 'active' } })
  })

  test('what is told of pods holds under labels of the running pods, too, when a new spec replaces these', async () => {
    const world = createEmptyWorld()
    const config = { labels: { team: 'blue' }, enrolment: 'in-place' }
    await world.send('config-changed', deployed({}, config))
    await world.send('config-changed', deployed({ podSpec: podSpec('web:2') }, config))
    expect(pods(world).map(({ metadata }) => metadata.labels?.team)).toEqual(['blue'])
    expect((await view(world)).units.map(({ uid }) => uid)).toEqual(pods(world).map(({ metadata }) => metadata.uid))
  })
})
