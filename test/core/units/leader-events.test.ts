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
  writesOf,
} from '../../helpers/application.ts'
import { createWorld, event, type World } from '../../helpers/world.ts'

const elect = (world: World, unit: string, epoch?: number) =>
  world.send('leader-elected', { unit, ...(epoch !== undefined && { epoch }) })

const answerTo = async (world: World, data: Record<string, unknown>, extensions: Record<string, string> = {}) => {
  const response = await world.post(event('config-changed', data, { extensions }))
  return { status: response.status, text: await response.text() }
}

/** A stateful application of two units, of which the first leads in epoch 1. */
const led = async () => {
  const world = createEmptyWorld()
  await world.send('config-changed', deployed(STATEFUL))
  scale(world, 2, 'StatefulSet')
  await elect(world, 'web/0', 1)
  return world
}

const spec = (image: string) => deployed({ ...STATEFUL, podSpec: podSpec(image) })

describe('application data', () => {
  test('of a unit that does not lead is refused before any effect, naming unit and leader', async () => {
    const world = await led()
    const before = world.api.objects()
    const writes = await writesOf(world, async () => {
      const { status, text } = await answerTo(world, { ...spec('web:2'), unit: 'web/1' })
      expect(status).toBe(403)
      expect(text).toContain('web/1 does not lead: the leader of web is web/0')
    })
    expect(writes).toEqual([])
    expect(world.api.objects()).toEqual(before)
  })

  test('of a leader that was deposed is refused, by the epoch even if it is elected again', async () => {
    const world = await led()
    await elect(world, 'web/1', 2)
    expect((await answerTo(world, { ...spec('web:2'), unit: 'web/0', epoch: 1 })).text).toContain(
      'web/0 led in epoch 1, it is epoch 2 now: the leader of web is web/1',
    )
    await elect(world, 'web/0', 3)
    expect((await answerTo(world, { ...spec('web:2'), unit: 'web/0', epoch: 1 })).status).toBe(403)
    expect(imageOf(world)).toBe('web:1')
  })

  test('of the leader counts', async () => {
    const world = await led()
    await world.send('config-changed', { ...spec('web:2'), unit: 'web/0', epoch: 1 })
    expect(imageOf(world)).toBe('web:2')
  })

  test('of a pod that is gone is refused, though its successor has the same number', async () => {
    const world = await led()
    const uid = pods(world)[0]?.metadata.uid
    remove(world, 'Pod', 'web-0')
    await world.send('resync', {})
    const { status, text } = await answerTo(world, { ...spec('web:2'), unit: 'web/0', uid })
    expect([status, text]).toEqual([403, expect.stringContaining('web/0 is gone')])
  })

  test('of the pod after it, which nobody has told of yet, counts without another event', async () => {
    const world = await led()
    scale(world, 0, 'StatefulSet')
    await world.send('resync', {})
    scale(world, 1, 'StatefulSet')
    const uid = pods(world)[0]?.metadata.uid
    await world.send('config-changed', { ...spec('web:2'), unit: 'web/0', uid })
    expect(imageOf(world)).toBe('web:2')
  })
})

describe('an epoch only grows', () => {
  test('a lower one changes nothing, whenever it comes', async () => {
    const world = await led()
    await elect(world, 'web/1', 5)
    expect(await elect(world, 'web/0', 4)).toMatchObject({ status: 'stale' })
    expect((await view(world)).leader).toEqual({ unit: 'web/1', epoch: 5 })
  })

  test('an election without one keeps it', async () => {
    const world = await led()
    await elect(world, 'web/1')
    expect((await view(world)).leader).toEqual({ unit: 'web/1', epoch: 1 })
  })
})

describe('while nobody leads', () => {
  /** The leader's pod is gone. */
  const gap = async () => {
    const world = createEmptyWorld()
    await world.send('config-changed', deployed({ replicas: 2 }))
    await elect(world, 'web/0', 1)
    const leader = (await view(world)).units[0]?.pod ?? ''
    remove(world, 'Pod', leader)
    await world.send('resync', {})
    return world
  }

  const asked = (image: string) => deployed({ podSpec: podSpec(image), replicas: 2 })

  test('no leader is told', async () => {
    expect(await view(await gap())).not.toHaveProperty('leader')
  })

  test('what a unit asks for waits, and is done once that unit is elected, without another event', async () => {
    const world = await gap()
    const waiting = await world.send('config-changed', { ...asked('web:2'), unit: 'web/1' })
    expect(waiting.applicationStatus).toEqual({
      status: 'waiting',
      message: 'no leader: what web/1 asked for is applied once web/1 is elected',
    })
    expect(imageOf(world)).toBe('web:1')
    await elect(world, 'web/1', 2)
    expect(imageOf(world)).toBe('web:2')
  })

  test('what a unit asks for is dropped, with a message, when another one is elected', async () => {
    const world = await gap()
    await world.send('config-changed', { ...asked('web:2'), unit: 'web/1' })
    const { messages } = await elect(world, 'web/2', 2)
    expect(messages).toEqual([
      'web/1 does not lead: the leader of web is web/2; the data that it sent before a leader was elected are dropped',
    ])
    expect([imageOf(world), (await view(world)).status]).toEqual(['web:1', { status: 'active', message: '' }])
    await elect(world, 'web/1', 3)
    expect(imageOf(world)).toBe('web:1')
  })

  test('what a unit asks for that never was is never done, where nobody was elected before', async () => {
    const world = createEmptyWorld()
    await world.send('config-changed', deployed({ replicas: 2 }))
    await world.send('config-changed', { ...asked('evil:1'), unit: 'web/77' })
    await world.send('config-changed', { ...asked('web:2'), unit: 'web/0' })
    const { messages } = await elect(world, 'web/0', 1)
    expect(messages).toEqual([
      'web/77 does not lead: the leader of web is web/0; the data that it sent before a leader was elected are dropped',
    ])
    expect(imageOf(world)).toBe('web:2')
  })

  test('of what several units ask for that of the elected one is done, config and settings', async () => {
    const world = await gap()
    await world.send('config-changed', { ...asked('web:2'), unit: 'web/1' })
    await world.send('config-changed', { ...asked('web:3'), settings: { colour: 'red' }, unit: 'web/2' })
    await world.send('config-changed', { settings: { colour: 'blue' }, unit: 'web/1' })
    await elect(world, 'web/1', 2)
    expect([imageOf(world), (await view(world)).settings]).toEqual(['web:2', { colour: 'blue' }])
  })

  test('what a person says meanwhile is later than that', async () => {
    const world = await gap()
    await world.send('config-changed', { ...asked('web:2'), settings: { colour: 'blue' }, unit: 'web/1' })
    await world.send('config-changed', asked('web:1'))
    await elect(world, 'web/1', 2)
    expect([imageOf(world), (await view(world)).settings]).toEqual(['web:1', { colour: 'blue' }])
  })

  test('what a leader asks for whose election comes late is done with the election, whatever the former one says', async () => {
    const world = await led()
    await world.send('config-changed', { ...spec('web:2'), unit: 'web/1', epoch: 2 })
    await world.send('config-changed', { ...spec('web:3'), unit: 'web/0', epoch: 1 })
    expect(imageOf(world)).toBe('web:3')
    await elect(world, 'web/1', 2)
    // the second change by units within ten seconds
    expect(imageOf(world)).toBe('web:3')
    world.clock.advance(10_000)
    await world.send('resync', {})
    expect(imageOf(world)).toBe('web:2')
  })

  test('what another than the elected one claimed is never done', async () => {
    const world = await led()
    await world.send('config-changed', { ...spec('web:2'), unit: 'web/1', epoch: 2 })
    await elect(world, 'web/0', 2)
    expect(imageOf(world)).toBe('web:1')
    expect((await view(world)).status).toEqual({ status: 'active', message: '' })
  })
})

describe('a unit that nobody elected', () => {
  /** An application that others deploy with so many pods, of which an event has told one. */
  const toldOfOne = async (replicas: number) => {
    const world = createWorld()
    await world.send('config-changed', { config: { labels: { tier: 'a' } } })
    scale(world, replicas, 'StatefulSet')
    await world.send('pod-restarted', { pod: podOf(pods(world)[0] as KubernetesObject) })
    return world
  }
  const claim = { config: { labels: { tier: 'b' } }, unit: 'web/0' }

  test('a unit that nobody elected does not lead where other pods run, though no event has told of them yet', async () => {
    const world = await toldOfOne(3)
    expect((await world.send('config-changed', claim)).applicationStatus).toEqual({
      status: 'waiting',
      message: 'no leader: what web/0 asked for is applied once web/0 is elected',
    })
    expect(world.labels().template).toMatchObject({ tier: 'a' })
    await elect(world, 'web/0', 1)
    expect(world.labels().template).toMatchObject({ tier: 'b' })
  })

  test('a unit that nobody elected leads where it is the only pod that runs', async () => {
    const world = await toldOfOne(1)
    await world.send('config-changed', claim)
    expect(world.labels().template).toMatchObject({ tier: 'b' })
  })
})

describe('leader settings', () => {
  test('leader settings are written by the leader alone, and read by everybody, also once their writer is gone', async () => {
    const world = await led()
    await world.send('config-changed', { settings: { key: 'a' }, unit: 'web/0' })
    expect((await answerTo(world, { settings: { key: 'b' }, unit: 'web/1' })).status).toBe(403)
    remove(world, 'Pod', 'web-0')
    await world.send('resync', {})
    expect((await view(world)).settings).toEqual({ key: 'a' })
  })

  test('leader settings do not overtake a config that comes late from the same sender, nor the other way round', async () => {
    const world = createEmptyWorld()
    await world.send('config-changed', { settings: { key: 'a' } }, { extensions: { sequence: '2' } })
    await world.send('config-changed', deployed(), { extensions: { sequence: '1' } })
    expect([imageOf(world), (await view(world)).settings]).toEqual(['web:1', { key: 'a' }])
    const late = { ...deployed({ podSpec: podSpec('web:0') }), settings: { key: 'late' } }
    expect(await world.send('config-changed', late, { extensions: { sequence: '0' } })).toMatchObject({
      status: 'stale',
    })
    expect([imageOf(world), (await view(world)).settings]).toEqual(['web:1', { key: 'a' }])
  })

  test('leader settings survive a removal of the application that came late, and no other', async () => {
    const world = createEmptyWorld()
    await world.send('config-changed', deployed(), { extensions: { sequence: '1' } })
    await world.send('config-changed', { settings: { key: 'a' } }, { extensions: { sequence: '3' } })
    await world.send('application-removed', {}, { extensions: { sequence: '2' } })
    expect((await view(world)).settings).toEqual({ key: 'a' })
    await world.send('application-removed', {}, { extensions: { sequence: '4' } })
    expect((await view(world)).settings).toEqual({})
  })
})
