import { describe, expect, test } from 'vitest'
import {
  ask,
  BEACON,
  configure,
  createMesh,
  enrolled,
  objectsOf,
  policiesIn,
  policiesOf,
  provides,
  related,
  requires,
  sourcesOf,
  wire,
} from '../../helpers/beacon-world.ts'
import { isWrite, type World, workload } from '../../helpers/world.ts'

const LABELS = {
  'istio.io/dataplane-mode': 'ambient',
  'istio.io/use-waypoint': 'shop-beacon-waypoint',
  'istio.io/use-waypoint-namespace': 'shop',
}

const db = { application: 'db' }
const web = { application: 'web' }

/** What the beacon told last, by the application it told. */
const told = (world: World) =>
  Object.fromEntries(
    world.published.map(({ subject, data }) => [subject, (data as { remote: { data: unknown } }).remote.data]),
  )

/** `db` and `web` are on the mesh, by the relations 7 and 8 with the beacon, and `web` may use `db`. */
const createShop = async (config: Record<string, unknown> = {}) => {
  const world = createMesh(['db', 'web'])
  await configure(world, { mesh: config })
  await configure(world, { policies: [{ type: 'app', relation: 'db', endpoints: [] }] }, db)
  await world.send('relation-changed', related(3, 'db', web, db))
  await world.send('relation-changed', requires(7, db))
  await world.send('relation-changed', requires(8, web))
  return world
}

describe('a beacon tells its consumers', () => {
  test('of the relation alone before it is configured', async () => {
    const world = createMesh([], false)
    expect(await ask(world, undefined)).toMatchObject({ status: 'saved' })
    expect(told(world)).toEqual({ 'shop/db': {} })
  })

  test.each([
    ['the labels to hold', {}, LABELS],
    ['no waypoint where it runs none', { waypoint: false }, { 'istio.io/dataplane-mode': 'ambient' }],
    ['no labels while all of its namespace is on the mesh', { modelOnMesh: true }, {}],
  ])('%s', async (_, mesh, labels) => {
    const world = createMesh([], false)
    await configure(world, { mesh })
    await ask(world, undefined)
    expect(world.published).toMatchObject([
      {
        type: 'dev.meshstep.relation-changed.v1',
        subject: 'shop/db',
        data: {
          relation: { id: 7, endpoint: 'service-mesh', interface: 'service_mesh', role: 'requires' },
          remote: { application: 'beacon', namespace: 'shop' },
        },
      },
    ])
    const { labels: text, ...others } = told(world)['shop/db'] as { labels: string }
    expect(JSON.parse(text)).toEqual(labels)
    expect(others).toMatchObject({ mesh_type: '"istio"', _supported_versions: '["v0", "v1"]' })
  })

  test('a beacon tells its consumers in events that are told apart', async () => {
    const world = createMesh([], false)
    await configure(world, { mesh: {} })
    for (const [id, of] of [
      [7, db],
      [8, web],
    ] as const)
      await world.send('relation-changed', provides(id, of, []))
    expect(world.published.map(({ subject }) => subject)).toEqual(['shop/db', 'shop/web'])
    expect(new Set(world.published.map(({ id }) => id)).size).toBe(2)
  })

  test('a beacon tells its consumers again when its config changes, and nothing when nothing does', async () => {
    const world = createMesh([], false)
    await configure(world, { mesh: {} })
    await ask(world, undefined)
    await configure(world, { mesh: { units: 1 } })
    expect(world.published).toHaveLength(1)
    await configure(world, { mesh: { waypoint: false } })
    expect(world.published).toHaveLength(2)
  })
})

describe('consumers', () => {
  test('consumers are enrolled, and let in whom they ask for', async () => {
    const world = await createShop()
    expect([enrolled(world, 'db'), enrolled(world, 'web')]).toEqual([LABELS, LABELS])
    expect(sourcesOf(policiesOf(world, 'db'))).toEqual(['shop/web'])
  })

  test('consumers are let in before they are enrolled, and un-enrolled before that is revoked', async () => {
    const world = createMesh(['db', 'web'])
    await configure(world, { mesh: {} })
    await configure(world, { policies: [{ type: 'app', relation: 'db', endpoints: [] }] }, db)
    await world.send('relation-changed', related(3, 'db', web, db))
    const events: string[] = []
    world.api.subscribe(({ type, object: { kind } }) => {
      if (['AuthorizationPolicy', 'StatefulSet', 'Service'].includes(kind)) events.push(`${type} ${kind}`)
    })
    await world.send('relation-changed', requires(7, db))
    await world.send('relation-broken', { ...db, relation: { id: 7 } })
    // the policy of the Service, and then the one of the pods, which accept the waypoint alone
    const joins = ['ADDED AuthorizationPolicy', 'MODIFIED Service', 'ADDED AuthorizationPolicy']
    const pods = ['MODIFIED StatefulSet', 'MODIFIED StatefulSet']
    const leaves = ['DELETED AuthorizationPolicy', 'MODIFIED Service', 'DELETED AuthorizationPolicy']
    expect(events).toEqual([...joins, ...pods, ...pods, ...leaves])
  })

  test('of one beacon are no business of another of the same name', async () => {
    const world = await createShop()
    const other = { namespace: 'bank', application: 'beacon' }
    world.api.seed([{ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'bank' } }])
    await configure(world, { mesh: {} }, other)
    await world.send('application-removed', other)
    expect([enrolled(world, 'db'), enrolled(world, 'web')]).toEqual([LABELS, LABELS])
    expect(sourcesOf(policiesOf(world, 'db'))).toEqual(['shop/web'])
    expect((await world.send('resync', BEACON)).status).toBe('unchanged')
  })

  test('consumers that turn to another beacon are on its mesh, and guarded by its policies alone', async () => {
    const world = await createShop()
    const other = { application: 'other' }
    await configure(world, { mesh: {} }, other)
    await world.send('relation-changed', requires(17, db, other))
    await world.send('relation-broken', { ...db, relation: { id: 7 } })
    expect(enrolled(world, 'db')).toEqual({ 'istio.io/dataplane-mode': 'ambient' })
    world.api.seed([workload('Deployment', 'shop-other-waypoint')])
    await world.send('resync', other)
    expect(enrolled(world, 'db')['istio.io/use-waypoint']).toBe('shop-other-waypoint')
    expect(policiesOf(world, 'db').map(({ metadata }) => metadata.name.split('-')[0])).toEqual(['other'])
    world.calls.length = 0
    await world.send('resync', db)
    expect(world.calls.filter(isWrite)).toEqual([])
  })

  test('consumers are enrolled again when the config has a mesh again', async () => {
    const world = await createShop()
    await configure(world, {})
    await configure(world, { mesh: {} })
    expect([enrolled(world, 'db'), enrolled(world, 'web')]).toEqual([LABELS, LABELS])
    expect(sourcesOf(policiesOf(world, 'db'))).toEqual(['shop/web'])
  })

  test('consumers that something else runs are not spoken for: what the platform says they ask for stays', async () => {
    const world = createMesh(['db'])
    await configure(world, { mesh: {} })
    await ask(world, [wire()])
    expect(enrolled(world, 'db')).toEqual(LABELS)
    expect(sourcesOf(policiesOf(world, 'db'))).toEqual(['shop/web'])
    await configure(world, {}, db)
    expect(sourcesOf(policiesOf(world, 'db'))).toEqual(['shop/web'])
  })

  test('consumers that have asked themselves are believed when they ask for nothing any more', async () => {
    const world = createMesh(['db'])
    await configure(world, { mesh: {} })
    await ask(world, [wire()])
    await configure(world, { policies: [{ type: 'unit', relation: 'peers' }] }, db)
    await world.send('relation-changed', {
      ...db,
      relation: { id: 8, endpoint: 'peers', interface: 'peers', role: 'peers' },
      remote: { application: 'db', data: {} },
    })
    expect(sourcesOf(policiesOf(world, 'db'))).toEqual(['shop/db'])
    await configure(world, {}, db)
    expect(policiesOf(world, 'db')).toEqual([])
  })

  test.each([
    ['the beacon is removed', (world: World) => world.send('application-removed', BEACON)],
    ['its config has no mesh any more', (world: World) => configure(world, {})],
  ])('consumers are un-enrolled when %s, and nothing of it is left', async (_, end) => {
    const world = await createShop({ hardened: true })
    await end(world)
    expect([enrolled(world, 'db'), enrolled(world, 'web')]).toEqual([{}, {}])
    expect([
      ...policiesIn(world),
      ...objectsOf(world, 'Gateway'),
      ...objectsOf(world, 'HorizontalPodAutoscaler'),
    ]).toEqual([])
    expect(
      objectsOf(world, 'Namespace').filter(({ metadata }) => metadata.labels?.['istio.io/dataplane-mode']),
    ).toEqual([])
    world.calls.length = 0
    expect((await world.send('resync', BEACON)).status).toBe('unchanged')
  })
})
