import { expect, test } from 'vitest'
import { createWorld, FORBIDDEN, workload } from '../../helpers/world.ts'
import { createStarted, resync } from '../relations/pair.ts'

const CONFIG = { config: { policies: [{ type: 'app', relation: 'db', endpoints: [] }] } }
const RELATION = { id: 9, endpoint: 'db', interface: 'sql', role: 'provides' }
const ALONE = { relation: RELATION, remote: { application: 'api', data: { user: 'me' } } }

test('a step is saved if something that was told changed in the memory alone, and unchanged if nothing did', async () => {
  const world = createWorld([workload('StatefulSet')])
  const told: readonly (readonly [string, Record<string, unknown>, string])[] = [
    ['config-changed', CONFIG, 'saved'],
    ['config-changed', CONFIG, 'unchanged'],
    ['relation-changed', ALONE, 'saved'],
    ['relation-changed', ALONE, 'unchanged'],
    ['relation-changed', { ...ALONE, remote: { application: 'api', data: { user: 'you' } } }, 'saved'],
    ['pod-restarted', { pod: { name: 'web-0', uid: 'u' } }, 'unchanged'],
    ['pod-restarted', { pod: { name: 'web-0', uid: 'u' }, status: { status: 'active', message: '' } }, 'saved'],
    ['leader-elected', { unit: 'web/0' }, 'saved'],
    ['leader-elected', { unit: 'web/0' }, 'unchanged'],
    ['resync', {}, 'unchanged'],
    ['relation-broken', { relation: { id: 9 } }, 'saved'],
    ['relation-broken', { relation: { id: 9 } }, 'unchanged'],
    ['relation-broken', { relation: { id: 8 } }, 'saved'],
  ]
  for (const [type, data, status] of told)
    expect([type, data, (await world.send(type, data)).status]).toEqual([type, data, status])
})

test('an offer that changed is claimed by the first step that may write, and by none before', async () => {
  const world = await createStarted()
  const claims = () => Object.values(world.memory('details')?.state.relations ?? {}).flatMap(({ claim }) => claim ?? [])
  const before = claims()
  await world.send('config-changed', { application: 'beacon', config: { mesh: { hardened: true } } })
  world.intercept = ({ path }) => (path.includes('/authorizationpolicies') ? FORBIDDEN : undefined)
  await resync(world, 'details')
  expect(claims()).toEqual(before)
  world.intercept = undefined
  await resync(world, 'details')
  expect(claims()).toEqual([{ version: expect.not.stringMatching(before[0]?.version ?? ''), phase: 'applied' }])
})

test('an offer that follows from what a step has written is published by the same step', async () => {
  const world = await createStarted('own sink')
  const offer = () => Object.values(world.memory('beacon')?.state.published ?? {})
  const before = offer()
  await world.send('config-changed', { application: 'beacon', config: { mesh: { modelOnMesh: true } } })
  expect(offer()).not.toEqual(before)
  const view = await world.app.request('/applications/shop/beacon')
  expect(await view.json()).toMatchObject({ status: { status: 'active' }, conditions: [] })
})
