import { describe, expect, test } from 'vitest'
import {
  BEACON,
  configure,
  createMesh,
  edit,
  enrolled,
  objectsOf,
  provides,
  requires,
  waypoint,
} from '../../helpers/beacon-world.ts'
import { FORBIDDEN, service, type World, workload } from '../../helpers/world.ts'

type Labels = Record<string, string>

const MANAGED_BY = 'charms.canonical.com/istio.io.waypoint.managed-by'
const USE = { 'istio.io/use-waypoint': 'shop-beacon-waypoint' }
const AMBIENT = { 'istio.io/dataplane-mode': 'ambient' }
const OURS = { [MANAGED_BY]: 'shop.beacon' }
const THEIRS = { [MANAGED_BY]: 'other.beacon' }
const FOREIGN = { 'istio.io/use-waypoint': 'other-waypoint' }
const ALL = { ...USE, ...AMBIENT, ...OURS }
const NAMESPACE = '/api/v1/namespaces/shop'

const label = (world: World, labels: Record<string, string | null>) => edit(world, NAMESPACE, { metadata: { labels } })

/** The labels of the namespace, but for those that every namespace has. */
const labelsOf = (world: World): Labels => {
  const namespace = objectsOf(world, 'Namespace').find(({ metadata }) => metadata.name === 'shop')
  const { 'kubernetes.io/metadata.name': _, ...labels } = namespace?.metadata.labels ?? {}
  return labels
}

const createNamespace = (labels: Labels) => {
  const world = createMesh()
  label(world, labels)
  return world
}

describe('a namespace that somebody else has put on the mesh', () => {
  test.each<[string, Labels, Labels, string]>([
    ['by hand', FOREIGN, { key: 'istio.io/use-waypoint', manager: 'unknown' }, 'other-waypoint'],
    [
      'by hand, to where the beacon would',
      USE,
      { key: 'istio.io/use-waypoint', manager: 'unknown' },
      USE['istio.io/use-waypoint'],
    ],
    ['without a waypoint', AMBIENT, { key: 'istio.io/dataplane-mode', manager: 'unknown' }, 'ambient'],
    [
      'by another beacon',
      { ...FOREIGN, ...THEIRS },
      { key: 'istio.io/use-waypoint', manager: 'other.beacon' },
      'other-waypoint',
    ],
    ['by another beacon, not yet', THEIRS, { key: MANAGED_BY, manager: 'other.beacon' }, 'other.beacon'],
  ])('%s: is a conflict and stays as it is', async (_, labels, conflict, value) => {
    const world = createNamespace({ foo: 'bar', ...labels })
    expect(await configure(world, { mesh: { modelOnMesh: true } })).toMatchObject({
      status: 'conflict',
      conflicts: [{ object: 'Namespace shop', ...conflict, value }],
    })
    expect(labelsOf(world)).toEqual({ foo: 'bar', ...labels })
  })

  test.each<[string, Labels]>([
    ['by hand', { ...AMBIENT, ...FOREIGN }],
    ['by another beacon', { ...ALL, ...THEIRS }],
  ])('%s: is not taken off it', async (_, labels) => {
    const world = createNamespace(labels)
    expect(await configure(world, { mesh: {} })).toMatchObject({ conflicts: [] })
    await world.send('application-removed', BEACON)
    expect(labelsOf(world)).toEqual(labels)
  })

  test('a namespace that somebody else has put on the mesh is said so at each event, and taken once it is free', async () => {
    const world = createNamespace(FOREIGN)
    await configure(world, { mesh: { modelOnMesh: true } })
    expect((await world.send('resync', BEACON)).status).toBe('conflict')
    label(world, { 'istio.io/use-waypoint': null })
    expect((await world.send('resync', BEACON)).status).toBe('changed')
    expect(labelsOf(world)).toEqual(ALL)
  })
})

describe('modelOnMesh', () => {
  test.each<[string, Labels]>([
    ['no labels', {}],
    ['labels of others', { foo: 'bar' }],
    ['ours in part', { ...OURS, ...AMBIENT }],
    ['all of ours, as the charm library leaves them', ALL],
    ['ours, of another waypoint', { ...ALL, ...FOREIGN }],
  ])('modelOnMesh labels a namespace with %s', async (_, labels) => {
    const world = createNamespace(labels)
    expect(await configure(world, { mesh: { modelOnMesh: true } })).toMatchObject({ conflicts: [] })
    expect(labelsOf(world)).toEqual({ ...labels, ...ALL })
    world.calls.length = 0
    expect((await world.send('resync', BEACON)).status).toBe('unchanged')
  })

  test.each<[string, Labels]>([
    ['all of ours', ALL],
    ['ours in part', OURS],
    ['labels of others', {}],
  ])('modelOnMesh takes its labels off a namespace with %s, and no others', async (_, labels) => {
    const world = createNamespace({ foo: 'bar', ...labels })
    await configure(world, { mesh: {} })
    expect(labelsOf(world)).toEqual({ foo: 'bar' })
  })

  test.each<[string, (world: World) => Promise<unknown>]>([
    ['is switched off', (world) => configure(world, { mesh: {} })],
    ['goes with the beacon', (world) => world.send('application-removed', BEACON)],
    ['goes with the mesh', (world) => configure(world, {})],
  ])('%s: the namespace is as before', async (_, end) => {
    const world = createNamespace({ foo: 'bar' })
    await configure(world, { mesh: { modelOnMesh: true } })
    await end(world)
    expect(labelsOf(world)).toEqual({ foo: 'bar' })
  })

  test('modelOnMesh names no waypoint where none is run', async () => {
    const world = createNamespace({})
    await configure(world, { mesh: { modelOnMesh: true, waypoint: false } })
    expect(labelsOf(world)).toEqual({ ...AMBIENT, ...OURS })
  })

  test.each<[string, Record<string, string | null>]>([
    ['that was removed by hand', { 'istio.io/dataplane-mode': null }],
    ['that was changed by hand', FOREIGN],
    ['that says whose they are', { [MANAGED_BY]: null }],
  ])('modelOnMesh brings back a label %s, and takes none off for it', async (_, labels) => {
    const world = createNamespace({})
    await configure(world, { mesh: { modelOnMesh: true } })
    label(world, labels)
    const seen: Labels[] = []
    world.api.subscribe(({ object }) => {
      if (object.kind === 'Namespace') seen.push(object.metadata.labels ?? {})
    })
    await world.send('resync', BEACON)
    expect(labelsOf(world)).toEqual(ALL)
    expect(seen.at(-1)).toMatchObject(ALL)
    if (!('istio.io/dataplane-mode' in labels)) for (const one of seen) expect(one).toMatchObject(AMBIENT)
  })

  test('modelOnMesh puts applications on the mesh with their namespace, in place of their own labels, and back', async () => {
    const world = createMesh(['db'])
    await configure(world, { mesh: {} })
    await world.send('relation-changed', requires(7, { application: 'db' }))
    expect(enrolled(world, 'db')).toMatchObject(AMBIENT)
    await configure(world, { mesh: { modelOnMesh: true } })
    expect([enrolled(world, 'db'), labelsOf(world)]).toEqual([{}, ALL])
    await configure(world, { mesh: {} })
    expect([enrolled(world, 'db'), labelsOf(world)]).toEqual([
      { ...AMBIENT, ...USE, 'istio.io/use-waypoint-namespace': 'shop' },
      {},
    ])
  })

  const OWN = { ...AMBIENT, ...USE, 'istio.io/use-waypoint-namespace': 'shop' }

  const refusing = (world: World): void => {
    world.intercept = ({ method, path }) =>
      method === 'PATCH' && path.startsWith(`${NAMESPACE}?`) ? FORBIDDEN : undefined
  }

  const HINDRANCES: [string, (world: World) => void, (world: World) => void][] = [
    ['may not be labelled', refusing, (world) => Object.assign(world, { intercept: undefined })],
    [
      'is kept off the mesh by somebody else',
      (world) => label(world, { 'istio.io/dataplane-mode': 'none' }),
      (world) => label(world, { 'istio.io/dataplane-mode': null }),
    ],
    [
      'leads to the waypoint of somebody else',
      (world) => label(world, { ...AMBIENT, ...FOREIGN }),
      (world) => label(world, { 'istio.io/dataplane-mode': null, 'istio.io/use-waypoint': null }),
    ],
    [
      'was put on the mesh by somebody else, past the waypoint',
      (world) => label(world, AMBIENT),
      (world) => label(world, { 'istio.io/dataplane-mode': null }),
    ],
  ]

  test.each(HINDRANCES)(
    'modelOnMesh leaves applications their own labels while their namespace %s',
    async (_, hinder, free) => {
      const world = createMesh(['db'])
      await configure(world, { mesh: {} })
      await world.send('relation-changed', requires(7, { application: 'db' }))
      hinder(world)
      const { messages } = await configure(world, { mesh: { modelOnMesh: true } })
      expect(messages).toContainEqual(
        'shop/db stays on the mesh by labels of its own until Namespace shop has those of the mesh',
      )
      expect(enrolled(world, 'db')).toEqual(OWN)
      await world.send('resync', {})
      expect(enrolled(world, 'db')).toEqual(OWN)
      free(world)
      await world.send('resync', BEACON)
      expect([enrolled(world, 'db'), labelsOf(world)]).toEqual([{}, ALL])
    },
  )

  test.each(HINDRANCES)(
    'modelOnMesh gives a new application labels of its own while its namespace %s',
    async (_, hinder, free) => {
      const world = createMesh(['db'])
      hinder(world)
      await configure(world, { mesh: { modelOnMesh: true } })
      await world.send('relation-changed', requires(7, { application: 'db' }))
      expect(enrolled(world, 'db')).toEqual(OWN)
      free(world)
      await world.send('resync', BEACON)
      expect([enrolled(world, 'db'), labelsOf(world)]).toEqual([{}, ALL])
    },
  )

  test.each<[string, (world: World, beacon: { application: string }) => Promise<unknown>]>([
    ['is switched off', (world, beacon) => configure(world, { mesh: {} }, beacon)],
    ['is removed', (world, beacon) => world.send('application-removed', beacon)],
  ])('modelOnMesh keeps applications on the mesh when another beacon, whose namespace it is, %s', async (_, end) => {
    const world = createMesh(['db'])
    world.api.seed([{ ...waypoint(), metadata: { ...waypoint().metadata, name: 'shop-other-waypoint' } }], {
      manager: 'istio',
    })
    const other = { application: 'other' }
    await configure(world, { mesh: { modelOnMesh: true } }, other)
    await configure(world, { mesh: { modelOnMesh: true } })
    await world.send('relation-changed', requires(7, { application: 'db' }))
    expect([enrolled(world, 'db'), labelsOf(world)[MANAGED_BY]]).toEqual([OWN, 'shop.other'])
    await end(world, other)
    expect([enrolled(world, 'db'), labelsOf(world)]).toEqual([OWN, {}])
    await world.send('resync', BEACON)
    expect([enrolled(world, 'db'), labelsOf(world)]).toEqual([{}, ALL])
  })

  test('modelOnMesh gives applications of other namespaces labels of their own', async () => {
    const world = createMesh()
    const [far, farService] = [workload('StatefulSet', 'far'), service('far')]
    for (const object of [far, farService])
      world.api.seed([{ ...object, metadata: { ...object.metadata, namespace: 'other' } }], { manager: 'juju' })
    await configure(world, { mesh: { modelOnMesh: true } })
    await world.send('relation-changed', provides(7, { namespace: 'other', application: 'far' }, undefined))
    const { state } = world.memory('beacon') ?? {}
    expect(JSON.stringify(state)).toContain('use-waypoint-namespace')
  })
})
