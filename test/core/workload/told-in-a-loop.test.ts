import { expect, test } from 'vitest'
import { createEmptyWorld, deployed, view } from '../../helpers/application.ts'
import { event } from '../../helpers/world.ts'

test('settings that a unit makes new at each run are held back, told, and count when it is time', async () => {
  const world = createEmptyWorld()
  await world.send(
    'config-changed',
    deployed({ deployment: { type: 'stateful' } }, { churn: { changes: 2, minutes: 30 } }),
  )
  await world.send('resync', {})
  const tell = (key: string) => world.send('config-changed', { settings: { key }, unit: 'web/0' })
  for (const key of ['a', 'b']) await tell(key)
  expect(await tell('c')).toMatchObject({
    messages: [expect.stringMatching(/^settings\.key: units changed it 2 times within 30 minutes/)],
    applicationStatus: { status: 'blocked', message: 'settings.key: units keep changing it' },
  })
  expect((await view(world)).settings).toEqual({ key: 'b' })
  await world.clock.sleep(31 * 60_000)
  await world.send('resync', {})
  expect([(await view(world)).settings, (await view(world)).status.status]).toEqual([{ key: 'c' }, 'active'])
})

test('two applications that answer each other through their databags come to rest', async () => {
  const world = createEmptyWorld()
  await world.send('config-changed', deployed({ deployment: { type: 'stateful' } }))
  await world.send('resync', {})
  for (let run = 0; run < 20; run += 1)
    await world.send('config-changed', { databag: { peer: { count: String(run) } }, unit: 'web/0' })
  expect(world.memory()?.state).toMatchObject({ databag: { peer: { count: '4' } } })
  const answer = await world.post(event('config-changed', { databag: { peer: { count: 'x' } } }))
  expect([answer.status, world.memory()?.state.databag]).toEqual([200, { peer: { count: 'x' } }])
})

test('a unit that makes its own databag new at each run is held back, and told', async () => {
  const world = createEmptyWorld()
  await world.send(
    'config-changed',
    deployed({ deployment: { type: 'stateful' } }, { churn: { changes: 2, minutes: 30 } }),
  )
  await world.send('resync', {})
  const pod = { name: 'web-0', uid: world.object('Pod', 'web-0')?.metadata.uid }
  const tell = (host: string) => world.send('pod-restarted', { pod, unit: 'web/0', databag: { website: { host } } })
  for (const host of ['a', 'b']) await tell(host)
  expect(await tell('c')).toMatchObject({
    messages: [expect.stringMatching(/^databag\.website\.host of pod web-0: units changed it 2 times/)],
  })
  expect(world.memory()?.state.units).toMatchObject({
    present: { [String(pod.uid)]: { databag: { website: { host: 'b' } } } },
  })
})
