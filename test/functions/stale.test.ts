import { describe, expect, test } from 'vitest'
import { relationsById } from '../helpers/relations.ts'
import { createWorld, isWrite, meshRelation, type World } from '../helpers/world.ts'

const at = (sequence: string, source = '/test') => ({ source, extensions: { sequence } })

describe('an event that was overtaken', () => {
  test.each([
    ['a change of a relation', 'relation-changed', meshRelation({ old: '1' })],
    ['the end of a relation', 'relation-broken', { relation: { id: 7 } }],
  ])('%s is stale and leaves no trace', async (_, type, data) => {
    const world = createWorld()
    await world.send('relation-changed', meshRelation({ 'istio.io/use-waypoint': 'on' }), at('5'))
    world.calls.length = 0
    const outcome = await world.send(type, data, at('4'))
    expect(outcome).toMatchObject({ status: 'stale', written: [], messages: [expect.stringContaining('moved on')] })
    expect(world.calls.filter(isWrite)).toEqual([])
    expect(world.labels().template['istio.io/use-waypoint']).toBe('on')
  })

  test('config is stale by its own order', async () => {
    const world = createWorld()
    await world.send('config-changed', { config: { labels: { a: '2' } } }, at('2'))
    expect((await world.send('config-changed', { config: { labels: { a: '1' } } }, at('1'))).status).toBe('stale')
    expect(world.labels().template.a).toBe('2')
  })

  test('a deposed leader is named with the one who leads', async () => {
    const world = createWorld()
    await world.send('leader-elected', { unit: 'web/1', epoch: 2 })
    const outcome = await world.send('leader-elected', { unit: 'web/0', epoch: 1 })
    expect(outcome).toMatchObject({
      status: 'stale',
      messages: ['web/0 was leader in epoch 1, it is epoch 2 now, led by web/1'],
    })
    expect(world.memory()?.state.leader).toEqual({ unit: 'web/1', epoch: 2 })
  })

  test('without a sequence the time decides, to the microsecond', async () => {
    const world = createWorld()
    world.clock.advance(1_000)
    await world.send('relation-changed', meshRelation({ 'istio.io/use-waypoint': 'new' }), {
      time: '2026-01-01T00:00:00.000002Z',
    })
    expect(
      (
        await world.send('relation-changed', meshRelation({ 'istio.io/use-waypoint': 'old' }), {
          time: '2026-01-01T00:00:00.000001Z',
        })
      ).status,
    ).toBe('stale')
    expect(world.labels().template['istio.io/use-waypoint']).toBe('new')
  })

  test('an event with neither a sequence nor a time is taken as it comes', async () => {
    const world = createWorld()
    await world.send('relation-changed', meshRelation({ 'istio.io/use-waypoint': 'new' }), at('5'))
    expect((await world.send('relation-changed', meshRelation({ 'istio.io/use-waypoint': 'any' }))).status).toBe(
      'changed',
    )
  })

  test('an event that was overtaken still repairs drift: it runs the step like any other', async () => {
    const world = createWorld()
    await world.send('relation-changed', meshRelation({ 'istio.io/use-waypoint': 'on' }), at('5'))
    world.api.handle({
      method: 'PATCH',
      path: '/api/v1/namespaces/shop/services/web?fieldManager=x',
      headers: { 'content-type': 'application/merge-patch+json' },
      body: '{"metadata":{"labels":{"istio.io/use-waypoint":null}}}',
    })
    expect(
      await world.send('relation-changed', meshRelation({ 'istio.io/use-waypoint': 'off' }), at('4')),
    ).toMatchObject({
      status: 'stale',
      written: ['ConfigMap shop/juju-service-mesh-web-labels', 'Service shop/web'],
    })
    expect(world.labels().service['istio.io/use-waypoint']).toBe('on')
  })
})

describe('what is gone stays gone', () => {
  test('a relation is not brought back by a late change, nor by a redelivery', async () => {
    const world = createWorld()
    const first = { ...at('1'), id: 'first' }
    await world.send('relation-changed', meshRelation({ 'istio.io/use-waypoint': 'on' }), first)
    await world.send('relation-broken', { relation: { id: 7 } }, at('2'))
    expect(
      (await world.send('relation-changed', meshRelation({ 'istio.io/use-waypoint': 'on' }), at('1'))).status,
    ).toBe('stale')
    expect((await world.send('relation-changed', meshRelation({ 'istio.io/use-waypoint': 'on' }), first)).status).toBe(
      'unchanged',
    )
    expect(world.labels().template['istio.io/use-waypoint']).toBeUndefined()
    expect(
      (await world.send('relation-changed', meshRelation({ 'istio.io/use-waypoint': 'on' }), at('3'))).status,
    ).toBe('changed')
  })

  test('an application is not brought back by what came before its removal', async () => {
    const world = createWorld()
    const removal = { ...at('3'), id: 'removal' }
    await world.send('relation-changed', meshRelation({ 'istio.io/use-waypoint': 'on' }), at('1'))
    await world.send('application-removed', {}, removal)
    expect(
      (await world.send('relation-changed', meshRelation({ 'istio.io/use-waypoint': 'on' }, 8), at('2'))).status,
    ).toBe('stale')
    expect((await world.send('config-changed', { config: {} }, at('2'))).status).toBe('stale')
    expect(
      (await world.send('relation-changed', meshRelation({ 'istio.io/use-waypoint': 'on' }, 8), at('4'))).status,
    ).toBe('changed')
    expect((await world.send('application-removed', {}, removal)).status).toBe('unchanged')
    expect(world.labels().template['istio.io/use-waypoint']).toBe('on')
  })

  test('its tombstone goes at a resync a day later, and the memory with it', async () => {
    const world = createWorld()
    await world.send('relation-changed', meshRelation(), at('1'))
    await world.send('relation-broken', { relation: { id: 7 } }, at('2'))
    world.clock.advance(23 * 60 * 60 * 1_000)
    await world.send('resync', {})
    expect(relationsById(world.memory()?.state)).toMatchObject({ 7: { status: 'ended' } })
    world.clock.advance(2 * 60 * 60 * 1_000)
    await world.send('resync', {})
    expect(world.memory()).toBeUndefined()
  })

  test.each([{}, { remote: { application: 'beacon' } }])(
    'what is gone stays gone, so does the tombstone of a relation that nobody here knew %o',
    async (remote) => {
      const world = createWorld()
      await world.send('relation-broken', { relation: { id: 7 }, ...remote }, at('2'))
      world.clock.advance(23 * 60 * 60 * 1_000)
      await world.send('resync', {})
      expect(Object.values(world.memory()?.state.tombstones ?? {})).toHaveLength(1)
      world.clock.advance(2 * 60 * 60 * 1_000)
      await world.send('resync', {})
      expect(world.memory()).toBeUndefined()
    },
  )
})

describe('a removal', () => {
  type Sent = [type: string, sequence: string, data: Record<string, unknown>]
  const config: Sent = ['config-changed', '1', { config: { labels: { a: '1' } } }]
  const related: Sent = ['relation-changed', '2', meshRelation({ 'istio.io/use-waypoint': 'on' })]
  const removed: Sent = ['application-removed', '3', {}]
  const broken: Sent = ['relation-broken', '4', { relation: { id: 7 } }]
  const again: Sent = ['config-changed', '4', { config: { labels: { b: '1' } } }]

  const endOf = async (events: readonly Sent[]) => {
    const world = createWorld()
    for (const [type, sequence, data] of events) await world.send(type, data, at(sequence))
    return [world.labels(), world.memory()?.labels]
  }

  test('a removal is not undone by a later end of a relation that came first', async () => {
    const [labels] = await endOf([config, related, broken, removed])
    expect(labels).toEqual((await endOf([config, related, removed, broken]))[0])
    expect(labels).toEqual((await endOf([]))[0])
  })

  test.each([
    ['first', [related, again, removed]],
    ['last', [related, removed, again]],
  ])('a removal leaves what the same source said after it, when that comes %s', async (_, events) => {
    const [labels, memory] = await endOf(events as Sent[])
    expect(labels).toMatchObject({ template: { b: '1' } })
    expect(memory).toEqual({ b: '1' })
  })

  test('a removal that comes late leaves a relation that the same source told after it, whatever the config', async () => {
    const [labels, memory] = await endOf([
      ['relation-changed', '4', meshRelation({ 'istio.io/use-waypoint': 'on' })],
      removed,
    ])
    expect(labels).toMatchObject({ template: { 'istio.io/use-waypoint': 'on' } })
    expect(memory).toEqual({ 'istio.io/use-waypoint': 'on' })
  })

  test('a removal delivered again is no write, and its tombstone does not get younger', async () => {
    const world = createWorld()
    const removal = { ...at('2'), id: 'removal' }
    await world.send('relation-changed', meshRelation(), at('1'))
    await world.send('application-removed', {}, removal)
    world.clock.advance(60_000)
    world.calls.length = 0
    expect((await world.send('application-removed', {}, removal)).status).toBe('unchanged')
    expect(world.calls.filter(isWrite)).toEqual([])
  })

  test('a removal delivered again leaves what another source has said since', async () => {
    const world = createWorld()
    const removal = { ...at('3'), id: 'removal' }
    await world.send('application-removed', {}, removal)
    await world.send('relation-changed', meshRelation({ 'istio.io/use-waypoint': 'on' }), at('1', '/other'))
    expect((await world.send('application-removed', {}, removal)).status).toBe('unchanged')
    expect(world.labels().template['istio.io/use-waypoint']).toBe('on')
  })

  test('a removal is not brought back by the Lease that its last pod renews', async () => {
    const world = createWorld()
    await world.send('relation-changed', meshRelation(), at('1'))
    await world.send('application-removed', {}, at('2'))
    expect((await world.send('leader-elected', { unit: 'web/0', epoch: 1 })).status).toBe('stale')
    expect(world.memory()?.state.leader).toBeUndefined()
  })
})

test('the end of a relation, delivered again after a failure, is not stale', async () => {
  const world = createWorld()
  const end = { ...at('2'), id: 'end' }
  await world.send('relation-changed', meshRelation(), at('1'))
  world.intercept = async ({ method, path }) =>
    method === 'PATCH' && path.includes('services') ? { status: 500, headers: {}, body: '' } : undefined
  await expect(world.send('relation-broken', { relation: { id: 7 } }, end)).rejects.toThrow(/503/)
  world.intercept = undefined
  expect((await world.send('relation-broken', { relation: { id: 7 } }, end)).status).toBe('changed')
  world.calls.length = 0
  expect((await world.send('relation-broken', { relation: { id: 7 } }, end)).status).toBe('unchanged')
  expect(world.calls.filter(isWrite)).toEqual([])
})

test('an election without an epoch does not undo a later one with an epoch', async () => {
  const world = createWorld()
  world.clock.advance(60_000)
  const source = '/test'
  await world.send('leader-elected', { unit: 'web/1', epoch: 2 }, { source, time: '2026-01-01T00:00:09Z' })
  expect((await world.send('leader-elected', { unit: 'web/0' }, { source, time: '2026-01-01T00:00:03Z' })).status).toBe(
    'stale',
  )
  expect(world.memory()?.state.leader).toEqual({ unit: 'web/1', epoch: 2 })
})

describe('pods', () => {
  const units = (world: World) =>
    world.memory()?.state.units as { present: Record<string, unknown>; departed: readonly { uid: string }[] }

  test('pods are remembered by uid, one for each number', async () => {
    const world = createWorld()
    await world.send('relation-changed', meshRelation())
    await world.send('pod-restarted', { unit: 'web/0', pod: { name: 'web-0', uid: 'a' } })
    await world.send('pod-restarted', { pod: { name: 'web-1', uid: 'b' } })
    await world.send('pod-restarted', { unit: 'web/0', pod: { name: 'web-0', uid: 'c' } })
    expect(units(world)).toMatchObject({
      present: { b: { pod: 'web-1', number: 1 }, c: { pod: 'web-0', number: 0 } },
      departed: [{ uid: 'a', pod: 'web-0', number: 0 }],
    })
  })
})
