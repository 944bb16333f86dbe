import { describe, expect, test } from 'vitest'
import { beginnings, isDatedAnew, waitsOf } from '../../../src/core/reconcile/record/waits.ts'
import { emptyState } from '../../../src/core/state/state.ts'
import { describeCondition, waitFor } from '../../../src/platform/base/condition.ts'
import { application as page } from '../../../src/serve/page/views/application.ts'
import { writesOf } from '../../helpers/application.ts'
import { configure, createMesh, requires, writes } from '../../helpers/beacon-world.ts'
import { lintOf, viewOf } from '../answers.ts'

const NOW = new Date('2026-01-01T00:00:00Z')
const SINCE = NOW.toISOString()
const wait = (object: string, more = {}) => ({
  ...waitFor(['shop/db'], 'NotReady', object, `${object} waits`),
  ...more,
})

describe('what is waited for is told alike', () => {
  test('a wait is in the outcome, the status, the questions, lint and the page, with its beginning', async () => {
    const world = createMesh(['db'])
    await configure(world, { mesh: { waypoint: true } })
    await configure(world, { labels: { team: 'blue' } }, { application: 'db' })
    const outcome = await world.send('relation-changed', {
      application: 'db',
      relation: { id: 3, endpoint: 'cache', interface: 'k8s-service', role: 'requires' },
      remote: { application: 'redis', data: {} },
    })
    const told = {
      object: 'relation 3 (cache)',
      for: ['shop/redis'],
      since: expect.any(String),
      message: 'relation 3 (cache): waiting for service-name and service-port',
    }
    expect(outcome.conditions).toMatchObject([told])
    const { message, since } = outcome.conditions?.[0] ?? { message: '' }
    expect(outcome.messages).toEqual([message])
    expect(outcome.applicationStatus).toEqual({ status: 'waiting', message, since })
    const view = await viewOf(world, 'db')
    expect(view).toMatchObject({ conditions: outcome.conditions, status: outcome.applicationStatus })
    const sentence = `${message} (since ${since})`
    expect(await lintOf(world)).toContainEqual({ rule: 'waiting', about: 'shop/db', message: sentence })
    expect(String(await page(view))).toContain(sentence)
  })

  test('what the plan waits for is told to whoever asks', async () => {
    const world = createMesh(['db'], false)
    const next = async (application: string) => await world.send('resync', { application })
    await configure(world, { mesh: { modelOnMesh: true } })
    await world.send('relation-changed', requires(7, { application: 'db' }))
    for (const name of ['beacon', 'db', 'beacon']) await next(name)
    const { conditions } = await configure(world, { mesh: {} })
    expect(conditions).toMatchObject([{ object: 'Namespace shop', for: ['shop/db'], since: expect.any(String) }])
    const view = await viewOf(world, 'beacon')
    expect(view).toMatchObject({ conditions, status: { status: 'waiting', since: conditions?.[0]?.since } })
    for (const name of ['db', 'beacon']) await next(name)
    expect((await viewOf(world, 'beacon')).conditions).toEqual([])
  })

  test('a quiet step writes nothing while something is waited for', async () => {
    const world = createMesh()
    world.api.handle({
      method: 'DELETE',
      path: '/apis/apps/v1/namespaces/shop/deployments/shop-beacon-waypoint',
      headers: {},
    })
    const first = await configure(world, { mesh: {} })
    expect(first.conditions).toMatchObject([{ object: 'the waypoint', since: expect.any(String) }])
    world.clock.sleep(60_000)
    let again: typeof first | undefined
    const writes = await writesOf(world, async () => {
      again = await world.send('resync', { application: 'beacon' })
    })
    expect(writes).toEqual([])
    expect(again?.conditions).toEqual(first.conditions)
  })
})

describe('the beginning of a wait', () => {
  test('a wait that goes on keeps its beginning, a new one begins now, and one that ended has none', () => {
    const known = { 'NotReady a': '2025-12-31T00:00:00.000Z', 'NotReady b': '2025-12-30T00:00:00.000Z' }
    expect(beginnings([wait('a'), wait('c')], known, NOW)).toEqual({
      'NotReady a': known['NotReady a'],
      'NotReady c': SINCE,
    })
    const isSaved = (...held: string[]) =>
      isDatedAnew(
        beginnings(
          held.map((one) => wait(one)),
          known,
          NOW,
        ),
        { waitingSince: known },
      )
    expect([isSaved('a'), isSaved('a', 'b', 'c'), isSaved('a', 'b')]).toEqual([true, true, false])
    expect(beginnings([], known, NOW)).toBeUndefined()
  })

  test('a wait that an object dates is not dated by the memory', () => {
    expect(beginnings([wait('a', { since: '2025-12-31T00:00:00Z' })], undefined, NOW)).toBeUndefined()
  })

  test('the memory dates no more than a hundred waits', () => {
    const waits = Array.from({ length: 150 }, (_, index) => wait(`relation ${index}`))
    const dates = beginnings(waits, undefined, NOW) ?? {}
    expect(Object.keys(dates)).toHaveLength(100)
    // whatever their order: a step that finds the same waits writes nothing
    expect(isDatedAnew(beginnings(waits.toReversed(), dates, NOW), { waitingSince: dates })).toBe(false)
  })

  test('a sentence ends with the beginning where that is known', () => {
    expect(describeCondition(wait('a'))).toBe('a waits')
    expect(describeCondition(wait('a', { since: SINCE }))).toBe(`a waits (since ${SINCE})`)
  })
})

test('an application whose beacon has a config without a mesh waits until that has one, and is not active before', async () => {
  const world = createMesh(['db'])
  const db = { application: 'db' }
  await configure(world, {})
  await configure(world, {}, db)
  // the beacon hears of it
  await world.send('relation-changed', requires(7, db))
  const { conditions, applicationStatus } = await world.send('resync', db)
  const told = {
    ...{ object: 'relation 7 (service-mesh)', for: ['shop/beacon'] },
    since: expect.any(String),
    message:
      'relation 7 (service-mesh): waiting for the labels of shop/beacon, which asks for none: a beacon of meshstep does once its config has mesh',
  }
  expect(conditions).toMatchObject([told])
  expect(applicationStatus).toMatchObject({ status: 'waiting', message: told.message })
  expect(await viewOf(world, 'db')).toMatchObject({ conditions: [told], status: applicationStatus })
  await configure(world, { mesh: {} })
  expect(await viewOf(world, 'db')).toMatchObject({ conditions: [] })
})

test('an object that a person has deleted is waited for by whoever asks, until a step has made it again', async () => {
  const world = createMesh(['db'])
  await configure(world, { mesh: {} })
  expect(await viewOf(world, 'beacon')).toMatchObject({ status: { status: 'active' }, conditions: [] })
  const path = '/apis/gateway.networking.k8s.io/v1/namespaces/shop/gateways/shop-beacon-waypoint'
  world.api.handle({ method: 'DELETE', path, headers: {} })
  const told = {
    ...{ object: 'Gateway shop/shop-beacon-waypoint', for: ['shop/beacon'] },
    message: 'Gateway shop/shop-beacon-waypoint is not there: the next event of shop/beacon, or a resync, mends it',
  }
  expect(await viewOf(world, 'beacon')).toMatchObject({
    status: { status: 'waiting', message: told.message },
    conditions: [told],
  })
  expect(await lintOf(world)).toContainEqual({ rule: 'waiting', about: 'shop/beacon', message: told.message })
  await world.send('resync', { application: 'beacon' })
  expect(await viewOf(world, 'beacon')).toMatchObject({ status: { status: 'active' }, conditions: [] })
})

test('labels that a person has taken off are waited for by whoever asks, until a step has set them again', async () => {
  const world = createMesh(['db'])
  const db = { application: 'db' }
  await configure(world, { mesh: {} })
  await configure(world, {}, db)
  await world.send('relation-changed', requires(7, db))
  expect(await viewOf(world, 'db')).toMatchObject({ status: { status: 'active' }, conditions: [] })
  world.api.handle({
    ...{ method: 'PATCH', path: '/apis/apps/v1/namespaces/shop/statefulsets/db' },
    headers: { 'content-type': 'application/merge-patch+json' },
    body: JSON.stringify({ spec: { template: { metadata: { labels: { 'istio.io/dataplane-mode': null } } } } }),
  })
  const told = {
    ...{ object: 'StatefulSet shop/db', for: ['shop/db'] },
    message: 'the labels of StatefulSet shop/db are not as desired: the next event of shop/db, or a resync, mends it',
  }
  expect(await viewOf(world, 'db')).toMatchObject({
    status: { status: 'waiting', message: told.message },
    conditions: [told],
  })
  await world.send('resync', db)
  expect(await viewOf(world, 'db')).toMatchObject({ status: { status: 'active' }, conditions: [] })
})

test('a wait that begins where nothing else changes has a beginning, which costs one write', async () => {
  const world = createMesh(['db'])
  await configure(world, { labels: { team: 'blue' } }, { application: 'db' })
  world.api.handle({ method: 'DELETE', path: '/api/v1/namespaces/shop/services/db', headers: {} })
  const first = await world.send('resync', { application: 'db' })
  expect(first.conditions).toMatchObject([{ object: 'the labels of Service shop/db', since: expect.any(String) }])
  world.clock.advance(60_000)
  world.calls.length = 0
  const again = await world.send('resync', { application: 'db' })
  expect(again.conditions).toEqual(first.conditions)
  expect(writes(world)).toEqual([])
})

test('all sources of waits are listed, each with its beginning', () => {
  const state = { ...emptyState(), waitingSince: { 'NotReady plan': SINCE } }
  const listed = waitsOf({
    mesh: {
      enrolment: { key: 'mesh', value: 'on' },
      capture: () => ({ is: 'off', because: 'network', why: 'they run there' }),
    },
    subject: { namespace: 'shop', application: 'db' },
    state,
    resolved: { state, blocked: [], problems: [], waiting: [wait('relation')], leaving: {} } as never,
    peers: new Map(),
    desired: {
      waiting: [wait('desired')],
      labels: { labels: { mesh: 'on' }, unknown: [], messages: [], required: true },
    },
    plan: { waiting: [wait('plan')], conflicts: [] },
    unenforced: [],
    waitForPods: wait('pods'),
    running: { pods: [{ apiVersion: 'v1', kind: 'Pod', metadata: { name: 'db-0' }, spec: { hostNetwork: true } }] },
    missing: [{ kind: 'Service', name: 'db' }],
  })
  expect(listed.map(({ object, since }) => [object, since])).toEqual([
    ['the labels of Service shop/db', undefined],
    ['relation', undefined],
    ['desired', undefined],
    ['plan', SINCE],
    ['pods', undefined],
    ['Pod db-0', undefined],
    ['shop/db', undefined],
  ])
})
