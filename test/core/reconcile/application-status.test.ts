import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { KubernetesObject } from '../../../src/platform/kubernetes/objects.ts'
import {
  createEmptyWorld,
  deployed,
  imageOf,
  podOf,
  podSpec,
  pods,
  remove,
  STATEFUL,
  scale,
  view,
} from '../../helpers/application.ts'
import { runs } from '../../helpers/runs.ts'
import { createWorld, type World, workload } from '../../helpers/world.ts'

type Status = 'error' | 'blocked' | 'maintenance' | 'waiting' | 'active'

const report = (world: World, pod: KubernetesObject, status: Status, message = '', attributes = {}) =>
  world.send('pod-restarted', { pod: podOf(pod), status: { status, message } }, attributes)

const podAt = (world: World, index: number): KubernetesObject => {
  const pod = pods(world)[index]
  if (pod === undefined) throw new Error(`no pod ${index}`)
  return pod
}

describe('the status of an application', () => {
  const stateful = async (replicas = 2) => {
    const world = createEmptyWorld()
    await world.send('config-changed', deployed({ ...STATEFUL, replicas }))
    return world
  }

  test('the status of an application is that of its units, the worst of them, in the outcome and in the answer to whoever asks', async () => {
    const world = await stateful()
    for (const index of [0, 1]) await report(world, podAt(world, index), 'active')
    for (const status of ['maintenance', 'waiting', 'blocked', 'error'] as const) {
      const outcome = await report(world, podAt(world, 1), status, 'why')
      const expected = { status, message: 'web/1: why' }
      expect(outcome.applicationStatus).toEqual(expected)
      expect((await view(world)).status).toEqual(expected)
    }
    expect(await report(world, podAt(world, 1), 'active')).not.toHaveProperty('applicationStatus')
  })

  test('the status of an application waits while the workload has no pods', async () => {
    const world = createEmptyWorld()
    await world.send('config-changed', deployed(STATEFUL))
    scale(world, 0, 'StatefulSet')
    const outcome = await world.send('resync', {})
    expect(outcome.applicationStatus).toEqual({ status: 'waiting', message: 'no unit is there yet' })
  })

  test('the status of an application is not blocked by a unit that is starting', async () => {
    const world = await stateful()
    await report(world, podAt(world, 0), 'active')
    expect(await report(world, podAt(world, 1), 'blocked', 'no database')).not.toHaveProperty('applicationStatus')
  })

  test('the status of an application is what a unit said last, however late what it said before is told', async () => {
    const world = await stateful(1)
    const at = (sequence: number) => ({ extensions: { sequence: String(sequence) } })
    await report(world, podAt(world, 0), 'active', '', at(1))
    await report(world, podAt(world, 0), 'blocked', 'no database', at(2))
    await report(world, podAt(world, 0), 'active', '', at(3))
    await report(world, podAt(world, 0), 'blocked', 'no database', at(2))
    expect((await view(world)).status.status).toBe('active')
  })

  test('the status of an application does not keep what a unit said once its pod is gone, also of a workload that somebody else deploys', async () => {
    const world = createWorld([workload('Deployment')])
    await world.send('config-changed', { config: {} })
    scale(world, 1)
    const pod = podAt(world, 0)
    await report(world, pod, 'active')
    await report(world, pod, 'blocked', 'I go')
    expect((await view(world)).status.status).toBe('blocked')
    remove(world, 'Pod', pod.metadata.name)
    await world.send('resync', {})
    expect((await view(world)).status.status).toBe('active')
  })

  test('the status of an application waits for a leader, and says for what', async () => {
    const world = await stateful()
    const outcome = await world.send('config-changed', { settings: {}, unit: 'web/1' })
    expect(outcome.applicationStatus?.message).toContain('no leader: what web/1 asked for')
  })
})

const MISSING = 'Please add relationship to sse endpoint'

/** The application with unit 2 alone: two specs have come and gone. */
const unitTwoAlone = async () => {
  const world = createEmptyWorld()
  for (const image of ['web:0', 'web:1', 'web:2'])
    await world.send('config-changed', deployed({ podSpec: podSpec(image) }))
  return world
}

type Entry = readonly [what: string, event: (world: World) => Promise<unknown>]

/** Tells of a unit's pod, there or not: what it says is told whatever became of it. */
const log = (two: KubernetesObject, three: (world: World) => KubernetesObject): Entry[] => {
  const says =
    (pod: () => KubernetesObject, status: Status, message = ''): Entry[1] =>
    (world) =>
      report(world, pod(), status, message)
  const third =
    (status: Status): Entry[1] =>
    (world) =>
      report(world, three(world), status, MISSING)
  const relation = { id: 4, endpoint: 'sse', interface: 'sse', role: 'requires' }
  return [
    [
      'web/2 relation-changed',
      (world) => world.send('relation-changed', { relation, remote: { application: 'sse', data: {} } }),
    ],
    [
      'web/2 sets the spec, with a warning that it does not lead',
      (world) => world.post({ ...specOf('web/2'), id: 'spec' }),
    ],
    ['web/2 status active', says(() => two, 'active')],
    [
      'web/3 is denied leadership, as web/2 has it',
      (world) => world.send('leader-elected', { unit: 'web/2', epoch: 1 }),
    ],
    ['web/3 start', third('blocked')],
    ['web/3 leader-settings-changed', (world) => world.send('resync', {})],
    ['web/3 config-changed', third('blocked')],
    ['web/2 relation-departed', says(() => two, 'blocked', MISSING)],
  ]
}

const specOf = (unit: string) => ({
  source: '/test',
  type: 'dev.meshstep.config-changed.v1',
  datacontenttype: 'application/json',
  extensions: {},
  data: {
    namespace: 'shop',
    application: 'web',
    ...deployed({ podSpec: podSpec('web:3'), revision: 'of unit 2' }),
    unit,
  },
})

describe('unit 2 sets a spec and goes, unit 3 comes', () => {
  const lastPod = (world: World) => podAt(world, pods(world).length - 1)

  test('the application is never blocked, though both units say so', async () => {
    const world = await unitTwoAlone()
    const two = podAt(world, 0)
    await report(world, two, 'active')
    const seen = []
    for (const [what, event] of log(two, lastPod)) {
      await event(world)
      seen.push([what, (await view(world)).status.status])
    }
    expect(seen.filter(([, status]) => status === 'blocked')).toEqual([])
    expect(imageOf(world)).toBe('web:3')
    expect((await view(world)).units.map(({ unit }) => unit)).toEqual(['web/3'])
    await report(world, lastPod(world), 'active')
    expect((await view(world)).status).toEqual({ status: 'active', message: '' })
  })

  test('the status is not blocked by the unit that takes over while two are there, as Juju deploys it', async () => {
    const world = createWorld([{ ...workload('Deployment'), spec: { ...workload('Deployment').spec, replicas: 1 } }])
    await world.send('config-changed', { config: {} })
    const two = podAt(world, 0)
    await world.send('pod-restarted', { unit: 'web/2', pod: podOf(two), status: { status: 'active', message: '' } })
    scale(world, 2)
    const three = pods(world).find(({ metadata }) => metadata.uid !== two.metadata.uid) ?? two
    await world.send('pod-restarted', { unit: 'web/3', pod: podOf(three) })
    const seen = []
    for (const [what, event] of log(two, () => three).filter(([name]) => !name.includes('sets the spec'))) {
      await event(world)
      seen.push([what, (await view(world)).status.status])
    }
    remove(world, 'Pod', two.metadata.name)
    await report(world, three, 'active')
    await report(world, two, 'blocked', 'late')
    expect((await view(world)).status).toEqual({ status: 'active', message: '' })
    expect(seen.filter(([, status]) => status === 'blocked')).toEqual([])
  })

  test('the status is not blocked by the unit that takes over, in any order in which the rest is told, and any of it twice', async () => {
    await fc.assert(
      fc.asyncProperty(fc.shuffledSubarray([0, 1, 2, 3, 4, 5, 6, 7, 4, 7], { minLength: 1 }), async (order) => {
        const world = await unitTwoAlone()
        const two = podAt(world, 0)
        await report(world, two, 'active')
        // the spec that unit 2 asked for is what makes unit 3
        await world.send('leader-elected', { unit: 'web/2', epoch: 1 })
        await world.post({ ...specOf('web/2'), id: 'spec' })
        const entries = log(two, lastPod)
        for (const index of order) {
          await entries[index]?.[1](world)
          expect((await view(world)).status.status).not.toBe('blocked')
        }
        expect(imageOf(world)).toBe('web:3')
      }),
      { numRuns: runs(40), seed: 9 },
    )
  })
})
