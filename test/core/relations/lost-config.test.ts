import { describe, expect, test } from 'vitest'
import { remove } from '../../helpers/application.ts'
import { COORDINATOR, configure as configureCluster, meshOf, PART_OF, startedCluster } from '../../helpers/cluster.ts'
import { application, ON_MESH } from '../../helpers/mesh.ts'
import { relationsById } from '../../helpers/relations.ts'
import { NAMESPACE, type World } from '../../helpers/world.ts'
import {
  atEveryWrite,
  BEACON_CONFIG,
  configure,
  createPair,
  endRelation,
  isOffMesh,
  isOnMesh,
  loseMemory,
  MESH,
  resync,
  say,
  tellRelation,
} from './pair.ts'

type Data = Record<string, unknown>

const NAMES = ['details', 'other']

/** The labels on all that may be enrolled: workloads, Services and pods. */
const labelled = (world: World) => ({
  ...Object.fromEntries(NAMES.map((name) => [name, world.labels(name)])),
  pods: world.api
    .objects()
    .filter(({ kind }) => kind === 'Pod')
    .map(({ metadata: { name, labels } }) => [name, labels]),
})

/** `details` is on the mesh by a relation, with this config told by an event. */
const meshWorld = async (config: Data | undefined): Promise<World> => {
  const world = createPair('broker', ['other'])
  await configure(world, 'beacon', BEACON_CONFIG)
  if (config) await configure(world, 'details', config)
  await tellRelation(world, 'details', MESH)
  return world
}

const CONFIGS: readonly (readonly [what: string, config: Data])[] = [
  ['labels of its own', { labels: { tier: 'gold' } }],
]

const EVENTS: readonly (readonly [what: string, speak: (world: World) => Promise<unknown>])[] = [
  ['a resync of the namespace', (world) => resync(world, undefined)],
  ['a resync of its own', (world) => resync(world, 'details')],
  ['an event of its beacon', (world) => configure(world, 'beacon', BEACON_CONFIG)],
  ['its relation', (world) => tellRelation(world, 'details', MESH)],
]

describe.each(CONFIGS)('a config with %s that was lost with the memory', (_, config) => {
  test.each(EVENTS)(
    'a config that was lost with the memory changes no label with %s, nor when it is told again',
    async (_, speak) => {
      const world = await meshWorld(config)
      loseMemory(world, 'details')
      const seen = atEveryWrite(world, () => labelled(world))
      await speak(world)
      await resync(world, undefined)
      await resync(world, 'details')
      expect(relationsById(world.memory('details')?.state)).toHaveProperty('1')
      await configure(world, 'details', config)
      expect(seen).toHaveLength(1)
    },
  )
})

test('labels that a lost config asked for stay where the application leaves the mesh', async () => {
  const world = await meshWorld({ labels: { tier: 'gold' } })
  loseMemory(world, 'details')
  await resync(world, undefined)
  await endRelation(world, 'details', MESH)
  expect(isOffMesh(world, 'details')).toBe(true)
  expect(world.labels('details').template).toMatchObject({ tier: 'gold' })
  expect((await resync(world, 'details')).conditions).toContainEqual(
    expect.objectContaining({ object: 'what the config of shop/details may have asked for', for: ['shop/details'] }),
  )
  await say(world, 'application-removed', { application: 'details' })
  expect(world.labels('details').template).not.toHaveProperty('tier')
})

test('an application on the mesh elsewhere leaves it with its relation, though its config is lost', async () => {
  const world = await meshWorld({ workload: { kind: 'StatefulSet', name: 'other' } })
  loseMemory(world, 'details')
  await resync(world, undefined)
  await endRelation(world, 'details', MESH)
  await resync(world, undefined)
  expect([isOffMesh(world, 'details'), isOffMesh(world, 'other')]).toEqual([true, true])
})

test('an application on the mesh elsewhere stays there while its relation stands, whichever other one is over', async () => {
  const world = await meshWorld({ workload: { kind: 'StatefulSet', name: 'other' } })
  loseMemory(world, 'details')
  await resync(world, undefined)
  const seen = atEveryWrite(world, () => labelled(world))
  await say(world, 'relation-broken', {
    application: 'details',
    relation: { id: 9, interface: 'service_mesh' },
    remote: { application: 'another' },
  })
  await resync(world, undefined)
  expect(seen).toHaveLength(1)
})

describe('an application that never had a config', () => {
  test('an application that never had a config leaves the mesh and joins it again after its memory was lost', async () => {
    const world = await meshWorld(undefined)
    loseMemory(world, 'details')
    await resync(world, undefined)
    expect(isOnMesh(world, 'details')).toBe(true)
    await endRelation(world, 'details', MESH)
    expect(isOffMesh(world, 'details')).toBe(true)
    await tellRelation(world, 'details', { ...MESH, id: 5 })
    expect(isOnMesh(world, 'details')).toBe(true)
  })

  test('an application that never had a config puts a workload that was made anew on the mesh, though its memory was lost meanwhile', async () => {
    const world = await meshWorld(undefined)
    loseMemory(world, 'details')
    remove(world, 'StatefulSet', 'details')
    world.api.seed(application('details', { labels: {} }).slice(0, 1), { manager: 'juju' })
    await resync(world, undefined)
    expect(isOnMesh(world, 'details')).toBe(true)
  })
})

describe('a coordinator on a mesh that lost its memory', () => {
  const lostCluster = async (config: Data = {}): Promise<World> => {
    const world = await startedCluster(config)
    await world.send('relation-changed', { application: COORDINATOR, ...meshOf() })
    expect(world.labels(COORDINATOR).template).toMatchObject({ ...PART_OF, ...ON_MESH })
    loseMemory(world, COORDINATOR)
    return world
  }
  const template = (world: World) => world.object('StatefulSet', COORDINATOR)?.spec?.template

  test.each([[{}], [{ reload: true }]])(
    'a coordinator on a mesh that lost its memory keeps the pods of its cluster as they are, with %o',
    async (config) => {
      const world = await lostCluster(config)
      const seen = atEveryWrite(world, () => [template(world), world.labels(COORDINATOR).service])
      for (const about of [{}, { application: COORDINATOR }, {}]) await world.send('resync', about)
      await configureCluster(world, config)
      expect(seen).toHaveLength(1)
    },
  )

  test('a coordinator on a mesh that lost its memory belongs to its cluster no more once it is told to be none', async () => {
    const world = await lostCluster()
    await world.send('resync', {})
    await world.send('config-changed', { application: COORDINATOR, config: {} })
    expect(world.labels(COORDINATOR).template).not.toHaveProperty('app.kubernetes.io/part-of')
  })
})

test('a worker that lost its memory leaves its cluster with their relation', async () => {
  const world = await startedCluster()
  loseMemory(world, 'querier')
  await world.send('resync', { namespace: NAMESPACE })
  expect(world.labels('querier').template).toMatchObject(PART_OF)
  await world.send('relation-broken', { application: 'querier', relation: { id: 1 } })
  expect(world.labels('querier').template).not.toHaveProperty('app.kubernetes.io/part-of')
})
