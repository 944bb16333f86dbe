import { describe, expect, test } from 'vitest'
import { istioConfig } from '../../../src/embedded/demo/example.ts'
import { createPlace } from '../../ask/preview/planned.ts'
import * as pair from '../../core/relations/pair.ts'
import {
  configure,
  createMesh,
  edit,
  enrolled,
  guardsIn,
  policiesIn,
  policiesOf,
  related,
  remove,
  requires,
  sourcesOf,
} from '../../helpers/beacon-world.ts'
import { event, service, type World } from '../../helpers/world.ts'

const DB = { application: 'db' }
const WEB = { application: 'web' }
const CART = { application: 'cart' }
const PROMETHEUS = { application: 'prometheus' }
const CLOSED = ['Service db: nobody', 'pods db: waypoint']
const USE = related(3, 'db', WEB, DB)
const NOBODY = 'by its relations nobody may reach shop/db: no relation in which it provides something'

/** `db` is on the mesh, with this config and that of its beacon. */
const createShop = async (config: Record<string, unknown> | undefined, mesh: Record<string, unknown> = {}) => {
  const world = createMesh(['db', 'web', 'cart', 'prometheus'])
  world.api.seed([istioConfig])
  await configure(world, { mesh })
  if (config) await configure(world, config, DB)
  await world.send('relation-changed', requires(7, DB))
  return world
}

const createRelated = () => createShop({ policies: 'related' })

const lose = (world: World, name: string) =>
  remove(world, `/api/v1/namespaces/shop/configmaps/juju-service-mesh-${name}-labels`)

const resync = (world: World) => world.send('resync', DB)

/** Who may use the Service, and who may reach the pods, on which ports. */
const admitted = (world: World) => ({
  service: sourcesOf(policiesOf(world, 'db').filter(({ spec }) => spec.targetRefs)),
  pods: policiesOf(world, 'db')
    .filter(({ spec }) => spec.selector)
    .flatMap((policy) => sourcesOf([policy]).map((source) => `${source} ${portsOf(policy, source)}`)),
})

const portsOf = ({ spec: { rules = [] } }: ReturnType<typeof policiesIn>[number], source: string): string =>
  rules
    .filter(({ from = [] }) => JSON.stringify(from).includes(`/sa/${source.split('/')[1]}"`))
    .flatMap(({ to = [{}] }) => to.map(({ operation }) => operation?.ports?.join() ?? 'all'))
    .join(' ')

/** `productpage` uses `details` in a cluster where Istio runs. */
const createServing = async (by = 'config'): Promise<World> => {
  const world = pair.createPair()
  world.api.seed([istioConfig])
  await pair.configure(world, 'beacon', { mesh: by === 'beacon' ? { policies: 'related' } : {} })
  if (by === 'config') await pair.configure(world, 'details', { policies: 'related' })
  await pair.tellRelation(world, 'details', pair.USE)
  await pair.tellRelation(world, 'details', pair.MESH)
  await pair.tellRelation(world, 'productpage', { ...pair.MESH, id: 3, requirer: 'productpage' })
  return world
}

const explain = async (world: World, port: number): Promise<{ allowed: boolean; sentence: string }> => {
  const query = `from=shop/productpage&to=shop/details&port=${port}&autoAllowWaypoint=false`
  return (await (await world.app.request(`/explain?${query}`)).json()) as never
}

describe('policies: related', () => {
  test('the Service of an application with related policies is guarded before anybody is related, and says that nobody may reach it', async () => {
    const world = await createRelated()
    expect([guardsIn(world), policiesIn(world)]).toEqual([CLOSED, []])
    expect((await resync(world)).messages).toEqual([NOBODY])
    expect((await world.send('resync', { application: 'beacon' })).messages).toEqual([])
  })

  test('each relation in which the application provides lets its requirer use the Service, and nobody else', async () => {
    const world = await createRelated()
    await world.send('relation-changed', USE)
    await world.send('relation-changed', related(4, 'admin', CART, DB, { interface: 'sql' }))
    expect(admitted(world)).toEqual({ service: ['shop/cart', 'shop/web'], pods: [] })
    await world.send('relation-broken', { ...DB, relation: { id: 3 } })
    expect(admitted(world)).toEqual({ service: ['shop/cart'], pods: [] })
    await world.send('relation-broken', { ...DB, relation: { id: 4 } })
    expect([guardsIn(world), policiesIn(world), (await resync(world)).messages]).toEqual([CLOSED, [], [NOBODY]])
  })

  test('a relation in which the application requires lets nobody in, also at an endpoint of the same name', async () => {
    const world = await createRelated()
    await world.send('relation-changed', USE)
    await world.send('relation-changed', related(4, 'db', CART, DB, { role: 'requires' }))
    await world.send('relation-changed', related(5, 'ask', PROMETHEUS, DB, { role: 'requires' }))
    expect(admitted(world)).toEqual({ service: ['shop/web'], pods: [] })
  })

  test('a relation of the mesh itself lets nobody in', async () => {
    const world = await createShop({ mesh: {}, policies: 'related' })
    await world.send('relation-changed', { ...requires(8, WEB, DB) })
    await world.send('relation-changed', related(9, 'names', CART, DB, { interface: 'cross_model_mesh' }))
    expect(admitted(world)).toEqual({ service: [], pods: [] })
  })

  test('the labels of an application wait for the grant of what follows from its relations', async () => {
    const world = createMesh(['db', 'web'])
    await configure(world, { policies: 'related' }, DB)
    await world.send('relation-changed', USE)
    const refused: string[] = []
    world.api.subscribe(({ object: { kind } }) => {
      const isOnMesh = world.labels('db').template['istio.io/dataplane-mode'] !== undefined
      if (isOnMesh && admitted(world).service.length === 0) refused.push(kind)
    })
    await configure(world, { mesh: {} })
    await world.send('relation-changed', requires(7, DB))
    expect([refused, enrolled(world, 'db')['istio.io/dataplane-mode']]).toEqual([[], 'ambient'])
  })

  test('the ports that follow from a relation are those of the Service, also when they change', async () => {
    const world = await createServing()
    const ports = async () => await Promise.all([9080, 8080].map(async (port) => (await explain(world, port)).allowed))
    expect(await ports()).toEqual([true, false])
    edit(world, '/api/v1/namespaces/shop/services/details', { spec: { ports: [{ port: 8080 }] } })
    await pair.resync(world, 'details')
    expect(await ports()).toEqual([false, true])
  })

  test.each(['config', 'beacon'])(
    'an answer names the relation that lets a client in, asked for by the %s',
    async (by) => {
      const world = await createServing(by)
      expect((await explain(world, 9080)).sentence).toMatch(/asked for by relation 2 \(details\) of shop\/details/)
    },
  )

  test('units with a peer relation may reach each other', async () => {
    const world = await createRelated()
    await world.send('relation-changed', related(1, 'peers', DB, DB, { role: 'peers', interface: 'db_peers' }))
    expect(admitted(world)).toEqual({ service: [], pods: ['shop/db all'] })
  })

  test('a plan shows who loses access by policies that follow from relations, and who keeps it', async () => {
    const place = createPlace(['db', 'web', 'cart'])
    place.api.seed([istioConfig])
    for (const [id, application] of ['db', 'web', 'cart'].entries())
      await place.happen(event('relation-changed', requires(id + 1, { application })))
    await place.happen(event('relation-changed', related(7, 'db', WEB, DB)))
    await place.happen(event('config-changed', { application: 'beacon', config: { mesh: {} } }))
    const { access } = await place.plan({
      events: [event('config-changed', { ...DB, config: { policies: 'related' } })],
    })
    const lost = access.filter(({ before, via }) => before === 'allowed' && via === 'service')
    expect(lost.map(({ line }) => line)).toEqual(['- cart → db :80', '- db → db :80'])
  })

  test('meshPolicies let in who calls against the direction of a relation, beside policies that follow from relations', async () => {
    const ingress = { source_namespace: 'shop', source_app_name: 'cart', target_namespace: 'shop', target_type: 'unit' }
    const world = await createShop({ policies: 'related', meshPolicies: [{ ...ingress, target_app_name: 'db' }] })
    await world.send('relation-changed', USE)
    expect(admitted(world)).toEqual({ service: ['shop/web'], pods: ['shop/cart all'] })
  })

  test('an application of another model is let in once its name is known', async () => {
    const world = await createRelated()
    const naming = related(5, 'names', { application: 'remote-1' }, DB, { interface: 'cross_model_mesh' })
    await world.send('relation-changed', related(4, 'db', { application: 'remote-1' }, DB))
    const named = { app_name: 'orders', juju_model_name: 'front' }
    await world.send('relation-changed', {
      ...naming,
      remote: { application: 'remote-1', data: { cmr_data: JSON.stringify(named) } },
    })
    expect(admitted(world).service).toEqual(['front/orders'])
  })

  test('the Service that related clients reach is the one that the config names', async () => {
    const world = await createShop(undefined)
    world.api.seed([
      { ...service('db-rw'), spec: { selector: { 'app.kubernetes.io/name': 'db' }, ports: [{ port: 80 }] } },
    ])
    await world.send('relation-changed', USE)
    await configure(world, { policies: 'related', service: 'db-rw' }, DB)
    expect(sourcesOf(policiesOf(world, 'db-rw'))).toEqual(['shop/web'])
    expect(guardsIn(world)).toEqual(['Service db-rw: nobody', 'pods db: waypoint'])
  })

  test('an application without a Service is closed, and says so', async () => {
    const world = await createShop({ policies: 'related', service: null })
    await world.send('relation-changed', USE)
    expect([guardsIn(world), policiesIn(world)]).toEqual([['pods db: waypoint'], []])
    expect((await resync(world)).messages).toEqual([
      'policies: related lets nobody in, as the config has no Service: name it in service, or list policies of type unit',
    ])
  })

  test.each<[string, (world: World) => void, RegExp]>([
    [
      'does not exist',
      (world) => remove(world, '/api/v1/namespaces/shop/services/db'),
      /Service shop\/db does not exist/,
    ],
    [
      'has no port but the one that Juju gives it',
      (world) =>
        edit(world, '/api/v1/namespaces/shop/services/db', {
          spec: { ports: [{ name: 'placeholder', port: 65_535 }] },
        }),
      /Service shop\/db has no port but the placeholder of Juju: .* until the charm opens a port/,
    ],
  ])('a Service that %s is waited for', async (_, change, message) => {
    const world = await createRelated()
    await world.send('relation-changed', USE)
    change(world)
    expect(await resync(world)).toMatchObject({
      status: 'waiting',
      messages: expect.arrayContaining([expect.stringMatching(message)]),
    })
  })

  test.each([
    ['a typo', 'relatd', /policies: expected related, or a list of policies, got .*relatd/],
    ['a wrong policy in a list', [{ type: 'app', relation: 'db' }], /policies\.0\.endpoints: .*expected array/],
    [
      'an unknown key in a policy',
      [{ type: 'unit', relation: 'db', port: 80 }],
      /policies\.0: Unrecognized key: .*port/,
    ],
    ['an object', {}, /policies: .*expected array/],
  ])('%s in place of policies is refused where it is', async (_, policies, message) => {
    const world = createMesh(['db'])
    await expect(configure(world, { policies }, DB)).rejects.toThrow(message)
  })
})

describe('scrape jobs', () => {
  const JOBS = [
    { metrics_path: '/metrics', static_configs: [{ targets: ['*:9090', '*:9187'] }] },
    { scheme: 'https', static_configs: [{ targets: ['db-0.db-endpoints.shop.svc.cluster.local'] }] },
    { static_configs: [{ targets: ['elsewhere.example:5000', 'db:5001', '*:99999', '*:x', 'db-x:5002'] }] },
  ]
  const scrape = (jobs: unknown) => ({
    ...related(6, 'metrics-endpoint', DB, PROMETHEUS, { interface: 'prometheus_scrape', role: 'requires' }),
    remote: { ...DB, endpoint: 'metrics-endpoint', data: jobs === undefined ? {} : { scrape_jobs: jobs } },
  })

  test.each([
    ['as Juju has them', JSON.stringify(JOBS)],
    ['as JSON', JOBS],
  ])('scrape jobs open the ports of pods that they name to who scrapes, %s', async (_, jobs) => {
    const world = await createRelated()
    await world.send('relation-changed', scrape(jobs))
    expect(admitted(world)).toEqual({ service: ['shop/prometheus'], pods: ['shop/prometheus 443,9090,9187'] })
  })

  test('scrape jobs that change are followed, and what cannot be read changes nothing', async () => {
    const world = await createRelated()
    await world.send('relation-changed', USE)
    await world.send('relation-changed', scrape(JOBS))
    await world.send('relation-changed', scrape([{ static_configs: [{ targets: ['*'] }] }]))
    expect(admitted(world)).toEqual({ service: ['shop/prometheus', 'shop/web'], pods: ['shop/prometheus 80'] })
    await world.send('relation-changed', scrape('[{'))
    expect(admitted(world)).toEqual({ service: ['shop/prometheus', 'shop/web'], pods: ['shop/prometheus 80'] })
    expect((await resync(world)).messages).toEqual([
      expect.stringMatching(/^relation 6 \(metrics-endpoint\): scrape_jobs: .*; the ports of before stay open: 80$/),
    ])
    await world.send('relation-changed', scrape([]))
    expect(admitted(world)).toEqual({ service: ['shop/prometheus', 'shop/web'], pods: [] })
  })

  test('scrape jobs that could never be read open no port', async () => {
    const world = await createRelated()
    await world.send('relation-changed', scrape('[{'))
    expect(admitted(world)).toEqual({ service: ['shop/prometheus'], pods: [] })
    expect((await resync(world)).messages).toEqual([
      expect.stringMatching(/^relation 6 \(metrics-endpoint\): scrape_jobs: .*; it opens no port of pods$/),
    ])
  })

  test('targets of scrape jobs that are no pods of the application are named by step and status, and the others are served', async () => {
    const world = await createRelated()
    const said =
      'relation 6 (metrics-endpoint): scrape_jobs: "foo.com:80", "*:99999" and "db-x:5002" open no port of pods: expected "*:PORT", or the DNS name of a unit of db with a port'
    const targets = ['*:9090', 'foo.com:80', 'db.shop.svc.cluster.local:9187', 'db:1', '*:99999', 'db-x:5002']
    await world.send('relation-changed', scrape([{ static_configs: [{ targets }] }]))
    expect(admitted(world)).toEqual({ service: ['shop/prometheus'], pods: ['shop/prometheus 9090'] })
    expect((await resync(world)).messages).toEqual([said])
    const view = (await (await world.app.request('/applications/shop/db')).json()) as { messages: string[] }
    expect(view.messages).toEqual([said])
  })

  test('scrape jobs that are told in another namespace open no port', async () => {
    const world = await createRelated()
    world.api.seed([{ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'cos' } }])
    const there = { namespace: 'cos', application: 'prometheus' }
    await world.send('relation-changed', related(6, 'metrics-endpoint', there, DB, { interface: 'prometheus_scrape' }))
    const named = JSON.stringify({ app_name: 'prometheus', juju_model_name: 'cos' })
    const naming = related(5, 'names', there, DB, { interface: 'cross_model_mesh' })
    await world.send('relation-changed', { ...naming, remote: { ...there, data: { cmr_data: named } } })
    await world.send('relation-changed', {
      ...scrape(JOBS),
      ...there,
      remote: { ...DB, namespace: 'shop', data: { scrape_jobs: JOBS } },
    })
    await resync(world)
    expect(admitted(world)).toEqual({ service: ['cos/prometheus'], pods: [] })
  })
})

describe('policies: related in the config of a beacon', () => {
  const DEFAULT = { policies: 'related' }

  test('the default of a beacon holds for an application without a config, until it is taken back', async () => {
    const world = await createShop(undefined, DEFAULT)
    expect([guardsIn(world), policiesIn(world)]).toEqual([CLOSED, []])
    await world.send('relation-changed', USE)
    expect(admitted(world)).toEqual({ service: ['shop/web'], pods: [] })
    await configure(world, { mesh: {} })
    expect([guardsIn(world), policiesIn(world)]).toEqual([[], []])
    await configure(world, { mesh: DEFAULT })
    expect(admitted(world)).toEqual({ service: ['shop/web'], pods: [] })
  })

  test.each<[string, Record<string, unknown>, string[]]>([
    ['holds for an application whose config has no policies', { labels: { team: 'data' } }, ['shop/web']],
    ['gives way to policies of its own', { policies: [{ type: 'app', relation: 'admin', endpoints: [] }] }, []],
    ['gives way to an empty list, too', { policies: [] }, []],
  ])('the default of a beacon %s', async (_, config, clients) => {
    const world = await createShop(config, DEFAULT)
    await world.send('relation-changed', USE)
    expect(admitted(world).service).toEqual(clients)
  })

  test.each(['beacon', 'db'])(
    'the default of a beacon replaces no policies of a config while the memory of %s is lost',
    async (name) => {
      const world = await createShop({ policies: [{ type: 'unit', relation: 'admin' }] }, DEFAULT)
      await world.send('relation-changed', USE)
      await world.send('relation-changed', related(4, 'admin', CART, DB))
      lose(world, name)
      await resync(world)
      expect(admitted(world)).toEqual({ service: [], pods: ['shop/cart all'] })
    },
  )

  test('the default of a beacon goes on while the memory of the beacon is lost', async () => {
    const world = await createShop(undefined, DEFAULT)
    await world.send('relation-changed', USE)
    const seen = new Set<string>()
    world.api.subscribe(() => seen.add(admitted(world).service.join()))
    lose(world, 'beacon')
    await resync(world)
    await configure(world, { mesh: DEFAULT })
    expect([...seen]).toEqual(['shop/web'])
  })
})
