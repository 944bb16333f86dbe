import { describe, expect, test } from 'vitest'
import { createWorld, isWrite, meshRelation } from '../helpers/world.ts'

const at = (sequence: string, source = '/test') => ({ source, extensions: { sequence } })

describe('an event that was overtaken', () => {
  test.each([
    ['a change of a relation', 'relation-changed', meshRelation({ old: '1' })],
    ['the end of a relation', 'relation-broken', { relation: { id: 7 } }],
    ['the removal of the application', 'application-removed', {}],
  ])('%s is stale and leaves no trace', async (_, type, data) => {
    const world = createWorld()
    await world.send('relation-changed', meshRelation({ mesh: 'on' }), at('5'))
    world.calls.length = 0
    const outcome = await world.send(type, data, at('4'))
    expect(outcome).toMatchObject({ status: 'stale', written: [], messages: [expect.stringContaining('moved on')] })
    expect(world.calls.filter(isWrite)).toEqual([])
    expect(world.labels().template.mesh).toBe('on')
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

  test('without a sequence the time decides, to the nanosecond', async () => {
    const world = createWorld()
    await world.send('relation-changed', meshRelation({ mesh: 'new' }), { time: '2026-01-01T00:00:00.000000002Z' })
    expect(
      (await world.send('relation-changed', meshRelation({ mesh: 'old' }), { time: '2026-01-01T00:00:00.000000001Z' }))
        .status,
    ).toBe('stale')
    expect(world.labels().template.mesh).toBe('new')
  })

  test('with neither it is taken as it comes', async () => {
    const world = createWorld()
    await world.send('relation-changed', meshRelation({ mesh: 'new' }), at('5'))
    expect((await world.send('relation-changed', meshRelation({ mesh: 'any' }))).status).toBe('changed')
  })

  test('still repairs drift: it runs the step like any other', async () => {
    const world = createWorld()
    await world.send('relation-changed', meshRelation({ mesh: 'on' }), at('5'))
    world.api.handle({
      method: 'PATCH',
      path: '/api/v1/namespaces/shop/services/web?fieldManager=x',
      headers: { 'content-type': 'application/merge-patch+json' },
      body: '{"metadata":{"labels":{"mesh":null}}}',
    })
    expect(await world.send('relation-changed', meshRelation({ mesh: 'off' }), at('4'))).toMatchObject({
      status: 'stale',
      written: ['Service shop/web'],
    })
    expect(world.labels().service.mesh).toBe('on')
  })
})

describe('what is gone stays gone', () => {
  test('a relation is not brought back by a late change, nor by a repeat', async () => {
    const world = createWorld()
    await world.send('relation-changed', meshRelation({ mesh: 'on' }), at('1'))
    await world.send('relation-broken', { relation: { id: 7 } }, at('2'))
    for (const sequence of ['1', '2'])
      expect((await world.send('relation-changed', meshRelation({ mesh: 'on' }), at(sequence))).status).toBe('stale')
    expect(world.labels().template.mesh).toBeUndefined()
    expect((await world.send('relation-changed', meshRelation({ mesh: 'on' }), at('3'))).status).toBe('changed')
  })

  test('an application is not brought back by what came before its removal', async () => {
    const world = createWorld()
    await world.send('relation-changed', meshRelation({ mesh: 'on' }), at('1'))
    await world.send('application-removed', {}, at('3'))
    expect((await world.send('relation-changed', meshRelation({ mesh: 'on' }, 8), at('2'))).status).toBe('stale')
    expect((await world.send('config-changed', { config: {} }, at('2'))).status).toBe('stale')
    expect((await world.send('relation-changed', meshRelation({ mesh: 'on' }, 8), at('4'))).status).toBe('changed')
    expect((await world.send('application-removed', {}, at('3'))).status).toBe('stale')
    expect(world.labels().template.mesh).toBe('on')
  })

  test('its tombstone goes at a resync a day later, and the memory with it', async () => {
    const world = createWorld()
    await world.send('relation-changed', meshRelation(), at('1'))
    await world.send('relation-broken', { relation: { id: 7 } }, at('2'))
    world.clock.advance(23 * 60 * 60 * 1_000)
    await world.send('resync', {})
    expect(world.memory()?.state.accepted).toHaveProperty('relation/7')
    world.clock.advance(2 * 60 * 60 * 1_000)
    await world.send('resync', {})
    expect(world.memory()).toBeUndefined()
  })
})

describe('pods', () => {
  test('are remembered by uid, one for each name', async () => {
    const world = createWorld()
    await world.send('relation-changed', meshRelation())
    await world.send('pod-restarted', { unit: 'web/0', pod: { name: 'web-0', uid: 'a' } })
    await world.send('pod-restarted', { pod: { name: 'web-1', uid: 'b' } })
    await world.send('pod-restarted', { unit: 'web/0', pod: { name: 'web-0', uid: 'c' } })
    expect(world.memory()?.state.units).toEqual({ b: { pod: 'web-1' }, c: { pod: 'web-0', unit: 'web/0' } })
  })

  test('do not fill the memory', async () => {
    const world = createWorld()
    await world.send('relation-changed', meshRelation())
    for (let index = 0; index < 510; index += 1)
      await world.send('pod-restarted', { pod: { name: `web-${index}`, uid: `u${index}` } })
    const units = Object.keys(world.memory()?.state.units as object)
    expect([units.length, units[0], units.at(-1)]).toEqual([500, 'u10', 'u509'])
  })
})
