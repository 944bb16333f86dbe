import { describe, expect, test } from 'vitest'
import {
  BEACON,
  configure,
  createMesh,
  enrolled,
  type Of,
  policiesOf,
  related,
  remove,
  requires,
  sourcesOf,
  wire,
} from '../../helpers/beacon-world.ts'
import { createWorld, service, type World, workload } from '../../helpers/world.ts'

const DB = { application: 'db' }
const APP = { type: 'app', relation: 'db', endpoints: [{ ports: [5432], methods: ['GET'] }] }
const UNIT = { type: 'unit', relation: 'metrics', ports: [9187] }

/** The relation by which a source of another model tells its name, with what it told. */
const identity = (data: Record<string, unknown>, remote: Of = { application: 'alias' }, of: Of = DB) => ({
  ...related(20, 'provide-cmr-mesh', remote, of, { interface: 'cross_model_mesh' }),
  remote: { ...remote, data },
})

const WEB = { cmr_data: '{"app_name": "web", "juju_model_name": "clients"}' }

/** What `db` published to its beacon last. */
const published = (world: World): unknown[] => {
  const [last] = world.published.filter(({ subject }) => subject === 'shop/beacon').slice(-1)
  const { data } = (last?.data as { remote: { data: { policies?: string } } } | undefined)?.remote ?? {}
  return JSON.parse(data?.policies ?? '[]')
}

const sources = (world: World) =>
  (published(world) as { source_namespace: string; source_app_name: string }[]).map(
    ({ source_namespace, source_app_name }) => `${source_namespace}/${source_app_name}`,
  )

const createDb = async (config: Record<string, unknown> = { policies: [APP] }) => {
  const world = createMesh(['db'], false)
  await configure(world, config, DB)
  await world.send('relation-changed', requires(7, DB))
  return world
}

describe('a relation with another model', () => {
  const crossModel = related(3, 'db', { application: 'alias', namespace: 'clients' }, DB)

  test.each<[string, Record<string, unknown> | undefined, RegExp]>([
    ['nothing', undefined, /^relation 3 \(db\): alias is in another model; waiting for its cmr_data/],
    ['no name', {}, /^relation 3 \(db\): alias is in another model; waiting for its cmr_data/],
    ['broken JSON', { cmr_data: '{' }, /^relation 20 \(provide-cmr-mesh\): cmr_data: .*; treated as absent/],
    ['half a name', { cmr_data: { app_name: 'web' } }, /^relation 20 .*cmr_data: .*treated as absent/],
    [
      'the name of a third one',
      { cmr_data: { app_name: 'web', juju_model_name: 'evil' } },
      /^relation 3 .*alias is in clients, its cmr_data says evil/,
    ],
    [
      'a wildcard for a name',
      { cmr_data: { app_name: '*', juju_model_name: 'clients' } },
      /^relation 3 \(db\): source_app_name: expected .*it gets no policy/,
    ],
  ])(
    'a relation with another model that has told %s: no policy, and it is said what is missing',
    async (_, data, message) => {
      const world = await createDb()
      await world.send('relation-changed', crossModel)
      if (data) await world.send('relation-changed', identity(data, { application: 'alias', namespace: 'clients' }))
      const outcome = await world.send('resync', DB)
      expect(outcome.messages).toContainEqual(expect.stringMatching(message))
      expect(published(world)).toEqual([])
    },
  )

  test('a relation with another model is waited for, and gets its policy once its name is known, whichever comes first', async () => {
    for (const order of [
      [0, 1],
      [1, 0],
    ]) {
      const world = await createDb()
      const events = [crossModel, identity(WEB)]
      for (const index of order) await world.send('relation-changed', events[index] ?? {})
      expect(await world.send('resync', DB)).toMatchObject({ status: 'unchanged', messages: [] })
      expect(sources(world)).toEqual(['clients/web'])
    }
  })

  test('a relation with another model that is known by its cross_model_mesh alone is not taken for a local application of that name', async () => {
    const world = await createDb()
    await world.send('relation-changed', identity({}, { application: 'web' }))
    expect(await world.send('relation-changed', related(3, 'db', { application: 'web' }, DB))).toMatchObject({
      status: 'waiting',
    })
    expect(published(world)).toEqual([])
    await world.send('relation-broken', { ...DB, relation: { id: 20 } })
    expect(sources(world)).toEqual(['shop/web'])
  })

  test('whose name cannot be read any more keeps its policy, and this is said', async () => {
    const world = await createDb()
    await world.send('relation-changed', crossModel)
    await world.send('relation-changed', identity(WEB))
    expect((await world.send('relation-changed', identity({ cmr_data: '{' }))).messages).toEqual([
      expect.stringMatching(/^relation 20 .*the last readable data stays in effect/),
    ])
    expect(sources(world)).toEqual(['clients/web'])
  })

  test('a relation with another model loses its policy with its name, and that is published', async () => {
    const world = await createDb()
    await world.send('relation-changed', crossModel)
    await world.send('relation-changed', identity(WEB))
    expect((await world.send('relation-broken', { ...DB, relation: { id: 20 } })).status).toBe('waiting')
    expect(published(world)).toEqual([])
  })

  test('a relation with another model is told its name by the side that requires it', async () => {
    const world = createMesh(['db'], false)
    await world.send(
      'relation-changed',
      related(9, 'require-cmr-mesh', { application: 'remote-db', namespace: 'servers' }, DB, {
        interface: 'cross_model_mesh',
        role: 'requires',
      }),
    )
    expect(world.published.map(({ subject, data }) => [subject, data])).toMatchObject([
      [
        'servers/remote-db',
        {
          relation: { endpoint: 'provide-cmr-mesh', interface: 'cross_model_mesh', role: 'provides' },
          remote: {
            application: 'db',
            namespace: 'shop',
            data: { cmr_data: '{"app_name": "db", "juju_model_name": "shop"}' },
          },
        },
      ],
    ])
  })
})

describe('a consumer asks', () => {
  test('a consumer asks for nothing where it has no policies', async () => {
    const world = await createDb({})
    await world.send('relation-changed', related(3, 'db', { application: 'web' }, DB))
    expect(published(world)).toEqual([])
    expect(world.published.map(({ subject }) => subject)).toEqual(['shop/beacon', 'shop/web'])
  })

  test('a consumer asks for each of its policies and relations, in their order, in the library’s form', async () => {
    const world = await createDb({ policies: [UNIT, APP, { ...APP, service: 'db-read' }] })
    for (const [id, endpoint, application] of [
      [9, 'db', 'cart'],
      [3, 'db', 'web'],
      [5, 'metrics', 'prometheus'],
      [6, 'other', 'x'],
    ] as const)
      await world.send('relation-changed', related(id, endpoint, { application }, DB))
    const endpoint = { hosts: null, ports: [5432], methods: ['GET'], paths: null }
    const app = { endpoints: [endpoint] }
    expect(published(world)).toEqual([
      wire({
        source_app_name: 'prometheus',
        target_type: 'unit',
        endpoints: [{ hosts: null, ports: [9187], methods: null, paths: null }],
      }),
      ...['web', 'cart'].map((source) => wire({ source_app_name: source, ...app })),
      ...['web', 'cart'].map((source) => wire({ source_app_name: source, target_service: 'db-read', ...app })),
    ])
  })

  test('a consumer asks for itself in a peer relation', async () => {
    const world = await createDb({ policies: [{ ...UNIT, relation: 'peers' }] })
    await world.send('relation-changed', related(1, 'peers', { application: 'db' }, DB, { role: 'peers' }))
    expect(sources(world)).toEqual(['shop/db'])
  })

  test('a consumer asks again whenever the answer is another: a relation, the config, a relation that breaks', async () => {
    const world = await createDb()
    const seen: string[][] = []
    const look = async (sending: Promise<unknown>) => {
      await sending
      seen.push(sources(world))
    }
    await look(world.send('relation-changed', related(3, 'db', { application: 'web' }, DB)))
    await look(world.send('relation-changed', related(4, 'db', { application: 'cart' }, DB)))
    await look(world.send('leader-elected', { ...DB, unit: 'db/1' }))
    await look(world.send('relation-broken', { ...DB, relation: { id: 3 } }))
    await look(configure(world, {}, DB))
    expect(seen).toEqual([['shop/web'], ['shop/web', 'shop/cart'], ['shop/web', 'shop/cart'], ['shop/cart'], []])
    // what of that they have been told says nothing of policies to the applications that use it
    expect(world.published.filter(({ subject }) => subject === 'shop/beacon')).toHaveLength(5)
  })
})

test.each<[string, Record<string, unknown>]>([
  ['is broken', { labels: '{' }],
  ['is of another version', { _supported_versions: '["v7"]' }],
])('a consumer whose databag %s, and which lost its memory, keeps its labels', async (_, data) => {
  const world = createMesh(['db'], false)
  const joins = requires(7, DB)
  await world.send('relation-changed', {
    ...joins,
    remote: { ...BEACON, data: { labels: { 'istio.io/use-waypoint': 'on' } } },
  })
  remove(world, '/api/v1/namespaces/shop/configmaps/juju-service-mesh-db-labels')
  await world.send('relation-changed', { ...joins, remote: { ...BEACON, data } })
  expect([
    world.labels('db').template['istio.io/use-waypoint'],
    world.labels('db').service['istio.io/use-waypoint'],
  ]).toEqual(['on', 'on'])
})

test('a story across namespaces: clients/web uses shop/db, each on the mesh of its own beacon', async () => {
  const inClients = (object: ReturnType<typeof service>) => ({
    ...object,
    metadata: { ...object.metadata, namespace: 'clients' },
  })
  const world = createWorld(
    [
      workload('StatefulSet', 'db'),
      service('db'),
      inClients(workload('StatefulSet', 'web')),
      inClients(service('web')),
    ],
    { isOwnSink: true },
  )
  const web = { namespace: 'clients', application: 'web' }
  const other = { namespace: 'clients', application: 'beacon' }
  for (const of of [BEACON, other]) await configure(world, { mesh: {} }, of)
  await configure(world, { policies: [APP] }, DB)
  await world.send('relation-changed', requires(7, DB))
  await world.send('relation-changed', requires(7, web, { application: 'beacon' }))
  await world.send('relation-changed', related(3, 'db', web, DB))
  expect(policiesOf(world, 'db')).toEqual([])
  const named = { interface: 'cross_model_mesh', role: 'requires' }
  await world.send('relation-changed', related(30, 'require-cmr-mesh', { ...DB, namespace: 'shop' }, web, named))
  await world.send('relation-changed', identity({}, web))
  expect(sourcesOf(policiesOf(world, 'db'))).toEqual(['clients/web'])
  expect(enrolled(world, 'db')['istio.io/use-waypoint']).toBe('shop-beacon-waypoint')
  const clients = world.api
    .objects()
    .find(({ kind, metadata }) => kind === 'Service' && metadata.namespace === 'clients')
  expect(clients?.metadata.labels?.['istio.io/use-waypoint']).toBe('clients-beacon-waypoint')
  await world.send('application-removed', web)
  expect(policiesOf(world, 'db')).toEqual([])
})
