import { describe, expect, test } from 'vitest'
import { configure, createMesh, objectsOf, provides, remove, requires, WAYPOINT } from '../../helpers/beacon-world.ts'
import { type World, workload } from '../../helpers/world.ts'

const API = { application: 'api' }
const RELATION = { id: 11, endpoint: 'service-mesh', interface: 'service_mesh', role: 'provides' }

/** A beacon in whose relation nothing was granted yet when it ended: its consumer has not looked, and carries a label of its own. */
const endedAtOnce = async (): Promise<World> => {
  const world = createMesh(['api'], false)
  await configure(world, { labels: { team: 'blue' } }, API)
  await configure(world, { mesh: { hardened: true } })
  await world.send('relation-changed', provides(11, API, undefined))
  await world.send('relation-broken', { application: 'beacon', relation: RELATION, remote: API })
  return world
}

const objectsLeft = (world: World): string[] =>
  ['AuthorizationPolicy', 'Gateway', 'HorizontalPodAutoscaler'].flatMap((kind) =>
    objectsOf(world, kind).map(({ metadata: { name } }) => `${kind} ${name}`),
  )

const templateLabels = (world: World): Record<string, string> => world.labels('api').template

test('a workload that was made anew waits for its grant, though it carries a label of its own by now', async () => {
  const world = createMesh(['api'], false)
  const config = { labels: { team: 'blue' } }
  await configure(world, { mesh: {} })
  await configure(world, config, API)
  await world.send('relation-changed', requires(11, API))
  for (const application of ['beacon', 'api', 'beacon']) await world.send('resync', { application })
  expect(templateLabels(world)).toMatchObject({ 'istio.io/dataplane-mode': 'ambient', team: 'blue' })
  await configure(world, { ...config, policies: [{ type: 'unit', relation: 'api', ports: [80] }] }, API)
  remove(world, '/apis/apps/v1/namespaces/shop/statefulsets/api')
  world.api.seed([workload('StatefulSet', 'api')])
  for (let times = 0; times < 3; times += 1) await world.send('resync', API)
  expect(templateLabels(world)).toMatchObject({ team: 'blue' })
  expect(templateLabels(world)).not.toHaveProperty('istio.io/dataplane-mode')
})

describe('nothing that was never granted is waited for', () => {
  test('a removed beacon takes its objects along, though its consumer carries a label of its own', async () => {
    const world = await endedAtOnce()
    await world.send('application-removed', { application: 'beacon' })
    await world.send('resync', { application: 'beacon' })
    expect(objectsLeft(world)).toEqual([])
  })

  test('a mesh that is taken out of the config goes, though its consumer carries a label of its own', async () => {
    const world = await endedAtOnce()
    await configure(world, {})
    await world.send('resync', { application: 'beacon' })
    expect(objectsLeft(world)).toEqual([])
  })

  test('a waypoint that is switched off goes, though its consumer carries a label of its own', async () => {
    const world = await endedAtOnce()
    await configure(world, { mesh: { waypoint: false } })
    await world.send('resync', { application: 'beacon' })
    expect(objectsLeft(world).filter((name) => name.endsWith(WAYPOINT))).toEqual([])
  })
})

describe('a memory that awaits others or owns objects is not forgotten', () => {
  test.each([2, 5])(
    'a removed beacon whose consumer still carries its labels after %d days keeps its objects, and says so',
    async (days) => {
      const world = createMesh(['api'], false)
      await configure(world, { mesh: {} })
      await world.send('relation-changed', requires(11, API))
      for (const application of ['beacon', 'api', 'beacon']) await world.send('resync', { application })
      await world.send('application-removed', { application: 'beacon' })
      for (let day = 0; day < days; day += 1) {
        await world.clock.sleep(25 * 60 * 60 * 1_000)
        const { messages, waiting } = await world.send('resync', { application: 'beacon' })
        expect(waiting).toContainEqual(expect.objectContaining({ for: ['shop/api'], since: expect.any(String) }))
        expect(messages.join()).toContain('waiting for shop/api')
      }
      expect(objectsLeft(world)).not.toEqual([])
      for (const application of ['api', 'beacon']) await world.send('resync', { application })
      expect(objectsLeft(world)).toEqual([])
    },
  )
})
