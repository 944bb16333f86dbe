import { describe, expect, test } from 'vitest'
import type { ApplicationView } from '../../../src/serve/http/applications.ts'
import { createPlace } from '../../ask/preview/planned.ts'
import { remove } from '../../helpers/beacon-world.ts'
import { createWorld, event, meshRelation, service } from '../../helpers/world.ts'

const SQL = { id: 9, endpoint: 'db', interface: 'sql', role: 'provides' }

const at = (sequence: string) => ({ source: '/juju', extensions: { sequence } })

describe('an application that nobody has introduced', () => {
  test.each([
    ['application-removed', {}],
    ['relation-broken', { relation: { id: 7 } }],
    ['relation-broken', { relation: SQL, remote: { application: 'api' } }],
  ])('gets no memory by its end: %s %j', async (type, data) => {
    const world = createWorld([service('other')])
    expect(await world.send(type, data)).toMatchObject({
      status: 'unchanged',
      written: [],
      messages: ['shop/web is not known: nothing is remembered of it'],
    })
    expect(world.memory()).toBeUndefined()
  })

  test('is unchanged by a resync, where no other application speaks of it either', async () => {
    const world = createWorld([service('other')])
    expect(await world.send('resync', {})).toMatchObject({ status: 'unchanged', written: [], messages: [] })
    expect(world.memory()).toBeUndefined()
  })

  test('remembers the end of a relation that a peer knows', async () => {
    const world = createWorld([service('other')])
    const remote = { application: 'web', data: {} }
    await world.send('relation-changed', { application: 'api', relation: { ...SQL, role: 'requires' }, remote })
    await world.send('relation-broken', { relation: { id: 9 } })
    expect(Object.values(world.memory()?.state.relations ?? {})).toMatchObject([{ status: 'ended' }])
  })

  test('remembers the end of a relation with an application that is known, as the beginning may be told to that one yet', async () => {
    const world = createWorld([service('other')])
    await world.send('config-changed', { application: 'api', config: {} })
    const [first, last] = [{ time: '2026-01-01T00:00:01Z' }, { time: '2026-01-01T00:00:02Z' }]
    await world.send('relation-broken', { relation: SQL, remote: { application: 'api' } }, last)
    const remote = { application: 'web', data: {} }
    const told = { application: 'api', relation: { ...SQL, role: 'requires' }, remote }
    expect((await world.send('relation-changed', told, first)).status).toBe('stale')
    expect(Object.values(world.memory('api')?.state.relations ?? {})).toMatchObject([{ status: 'ended' }])
  })

  test('remembers the end of a relation while objects of its own stand, as its memory was lost', async () => {
    const world = createWorld([service('other')])
    await world.send('config-changed', { application: 'beacon', config: { mesh: {}, workload: null, service: null } })
    remove(world, '/api/v1/namespaces/shop/configmaps/juju-service-mesh-beacon-labels')
    await world.send('relation-broken', { application: 'beacon', relation: { id: 7 } })
    expect(Object.keys(world.memory('beacon')?.state.tombstones ?? {})).toEqual(['7'])
  })

  test('remembers its end while a workload of its name runs', async () => {
    const world = createWorld()
    await world.send('relation-broken', { relation: { id: 7 } }, at('2'))
    expect(Object.keys(world.memory()?.state.tombstones ?? {})).toEqual(['7'])
    expect((await world.send('relation-changed', meshRelation({}, 7), at('1'))).status).toBe('stale')
  })
})

test('an application is active while it runs, waits while nothing of it does, and is removed when nothing is told of it either', async () => {
  const place = createPlace(['db', 'web'])
  const viewOf = async (application: string) =>
    (await (await place.app.request(`/applications/shop/${application}`)).json()) as ApplicationView
  const stateOf = async (application: string) => {
    const { status, runs } = await viewOf(application)
    return [status.status, runs]
  }
  const about = (application: string) => ({ application, remote: { application: 'web', data: {} }, relation: SQL })
  await place.happen(event('config-changed', { application: 'beacon', config: { mesh: {} } }))
  await place.happen(event('relation-changed', about('db')))
  await place.happen(event('relation-changed', { ...about('bd'), relation: { ...SQL, id: 10 } }))
  expect([await stateOf('db'), await stateOf('bd')]).toEqual([
    ['active', true],
    ['waiting', false],
  ])
  expect((await viewOf('bd')).status.message).toBe('no unit is there yet')
  await place.happen(event('relation-broken', { application: 'bd', relation: { id: 10 } }))
  await place.happen(event('application-removed', { application: 'db' }))
  expect([await stateOf('db'), await stateOf('bd')]).toEqual([
    ['removed', true],
    ['removed', false],
  ])
})
