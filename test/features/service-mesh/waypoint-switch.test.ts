import { expect, test } from 'vitest'
import { type PodLike, podLabels } from '../../../src/platform/kubernetes/pod-like.ts'
import { createPlace } from '../../ask/preview/planned.ts'
import { podSpec } from '../../helpers/application.ts'
import {
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
  WAYPOINT,
  waypoint,
  wire,
} from '../../helpers/beacon-world.ts'
import { passes, worldOf } from '../../helpers/safety.ts'
import { event, FORBIDDEN, service, type World, workload } from '../../helpers/world.ts'

const DB = { application: 'db' }
const WEB = { application: 'web' }
const POLICIES = [
  { type: 'app', relation: 'db', endpoints: [] },
  { type: 'unit', relation: 'db', ports: [80] },
]
const PAST = { 'istio.io/dataplane-mode': 'ambient' }
const LED = { ...PAST, 'istio.io/use-waypoint': WAYPOINT, 'istio.io/use-waypoint-namespace': 'shop' }

/** `web` may reach `db`, at its Service and at its pods. */
const createShop = async (mesh: Record<string, unknown>, policies = POLICIES): Promise<World> => {
  const world = createMesh()
  for (const { application } of [DB, WEB])
    world.api.seed([workload('StatefulSet', application), service(application)], { manager: 'juju' })
  await configure(world, { mesh })
  await configure(world, { policies }, DB)
  await world.send('relation-changed', related(3, 'db', WEB, DB))
  await world.send('relation-changed', requires(7, DB))
  await world.send('relation-changed', requires(8, WEB))
  return world
}

/** Refuses to write to objects whose path ends so. */
const refuse = (world: World, end: string): void => {
  world.intercept = ({ method, path }) =>
    method === 'PATCH' && path.replace(/\?.*/, '').endsWith(end) ? FORBIDDEN : undefined
}

/** Refuses to write policies. */
const refusePolicies = (world: World): void => {
  world.intercept = ({ method, path }) =>
    method === 'PATCH' && path.includes('/authorizationpolicies/') ? FORBIDDEN : undefined
}

/** Refuses to read objects whose path ends so. */
const hide = (world: World, end: string): void => {
  world.intercept = ({ method, path }) => (method === 'GET' && path.endsWith(end) ? FORBIDDEN : undefined)
}

/** Lets no pod of the waypoint serve: Istio sends to it all the same. */
const stopWaypoint = (world: World): void => {
  const body = JSON.stringify({ ...waypoint(), status: { replicas: 1, readyReplicas: 0 } })
  world.intercept = ({ path }) =>
    path.endsWith(`/deployments/${WAYPOINT}`) ? { status: 200, headers: {}, body } : undefined
}

const isReached = (world: World): boolean[] =>
  [false, true].map((autoAllow) =>
    passes(worldOf(world.api, { autoAllow }), 'web', { application: 'db', service: 'db' }),
  )

const namespaceLabels = (world: World): Record<string, string> | undefined =>
  objectsOf(world, 'Namespace').find(({ metadata }) => metadata.name === 'shop')?.metadata.labels

const NO_WAYPOINTS = [{ waypoint: false }, { units: 0 }, { waypoint: false, modelOnMesh: true }]

test.each(NO_WAYPOINTS)('a waypoint goes once no application leads to it: %j', async (mesh) => {
  const world = await createShop({})
  refuse(world, '/statefulsets/db')
  await configure(world, { mesh })
  expect([world.labels('db').template, world.labels('web').template]).toEqual([
    expect.objectContaining(LED),
    expect.not.objectContaining({ 'istio.io/use-waypoint': WAYPOINT }),
  ])
  expect(objectsOf(world, 'Gateway')).toHaveLength(1)
  expect(isReached(world)).toEqual([true, true])
  expect(await world.send('resync', BEACON)).toMatchObject({
    status: 'waiting',
    messages: expect.arrayContaining(['the waypoint stays until nothing leads to it: waiting for shop/db']),
  })
  world.intercept = undefined
  await world.send('resync', DB)
  expect(objectsOf(world, 'Gateway')).toEqual([])
  expect(JSON.stringify(policiesIn(world))).not.toContain(WAYPOINT)
  expect(isReached(world)).toEqual([true, true])
})

test.each(NO_WAYPOINTS)(
  'a waypoint stays while the Service of an application leads to it, and no longer: %j',
  async (mesh) => {
    const world = await createShop({})
    refuse(world, '/services/db')
    await configure(world, { mesh })
    const led = { 'istio.io/use-waypoint': WAYPOINT }
    expect(world.labels('db')).toMatchObject({ template: expect.not.objectContaining(led), service: led })
    expect(objectsOf(world, 'Gateway')).toHaveLength(1)
    expect(isReached(world)).toEqual([true, true])
    expect(await world.send('resync', BEACON)).toMatchObject({
      status: 'waiting',
      messages: expect.arrayContaining(['the waypoint stays until nothing leads to it: waiting for shop/db']),
    })
    world.intercept = undefined
    await world.send('pod-restarted', { ...DB, pod: { name: 'db-0', uid: 'db-0' } })
    expect(world.labels('db').service).toEqual(expect.not.objectContaining(led))
    expect([objectsOf(world, 'Gateway'), objectsOf(world, 'HorizontalPodAutoscaler')]).toEqual([[], []])
    expect(isReached(world)).toEqual([true, true])
  },
)

test('a waypoint stays while the Service of an application that has left leads to it, and no longer', async () => {
  const world = await createShop({})
  refuse(world, '/services/db')
  await world.send('relation-broken', { ...DB, relation: { id: 7, interface: 'service_mesh' } })
  await configure(world, { mesh: { waypoint: false } })
  expect(world.labels('db').service).toMatchObject({ 'istio.io/use-waypoint': WAYPOINT })
  expect(objectsOf(world, 'Gateway')).toHaveLength(1)
  world.intercept = undefined
  await world.send('resync', DB)
  expect(objectsOf(world, 'Gateway')).toEqual([])
})

test.each(['/services/db', '/statefulsets/db'])(
  'a waypoint stays while it is not known if %s leads to it',
  async (end) => {
    const world = await createShop({})
    hide(world, end)
    await configure(world, { mesh: { waypoint: false } })
    expect(objectsOf(world, 'Gateway')).toHaveLength(1)
    world.intercept = undefined
    await world.send('resync', DB)
    expect(objectsOf(world, 'Gateway')).toEqual([])
    expect(isReached(world)).toEqual([true, true])
  },
)

test('a waypoint stays for an application that was told to leave and whose memory cannot be read, and no longer', async () => {
  const world = await createShop({})
  await world.send('relation-changed', provides(7, DB, [wire()]))
  hide(world, '/configmaps/juju-service-mesh-db-labels')
  await world.send('relation-broken', { ...BEACON, relation: { id: 7, interface: 'service_mesh' } })
  await configure(world, { mesh: { waypoint: false } })
  expect(enrolled(world, 'db')).toEqual(LED)
  expect(objectsOf(world, 'Gateway')).toHaveLength(1)
  world.intercept = undefined
  await world.send('resync', DB)
  expect(objectsOf(world, 'Gateway')).toEqual([])
})

test('an application that leaves keeps its policies while its pods cannot be read', async () => {
  const world = await createShop({})
  const before = policiesIn(world)
  hide(world, '/statefulsets/db')
  await world.send('relation-broken', { ...DB, relation: { id: 7, interface: 'service_mesh' } })
  expect(world.labels('db').template).toMatchObject(LED)
  expect(policiesIn(world)).toEqual(before)
  world.intercept = undefined
  await world.send('resync', DB)
  expect(world.labels('db').template).not.toHaveProperty(['istio.io/dataplane-mode'])
  expect(policiesIn(world)).toEqual([])
})

test('a waypoint stays while a Service that an application named before leads to it, and no longer', async () => {
  const world = await createShop({})
  world.api.seed([
    { ...service('db-admin'), spec: { selector: { 'app.kubernetes.io/name': 'db' }, ports: [{ port: 80 }] } },
  ])
  await configure(world, { policies: [...POLICIES, { ...POLICIES[0], service: 'db-admin' }] }, DB)
  refuse(world, '/services/db-admin')
  await configure(world, { policies: POLICIES }, DB)
  await configure(world, { mesh: { waypoint: false } })
  expect(world.labels('db-admin')).toMatchObject({ service: { 'istio.io/use-waypoint': WAYPOINT } })
  expect(objectsOf(world, 'Gateway')).toHaveLength(1)
  world.intercept = undefined
  await world.send('resync', DB)
  expect(objectsOf(world, 'Gateway')).toEqual([])
})

test('a waypoint stays while the namespace leads to it', async () => {
  const world = await createShop({ modelOnMesh: true })
  refuse(world, '/namespaces/shop')
  await configure(world, { mesh: { modelOnMesh: true, waypoint: false } })
  expect(objectsOf(world, 'Gateway')).toHaveLength(1)
  world.intercept = undefined
  await world.send('resync', BEACON)
  expect(objectsOf(world, 'Gateway')).toEqual([])
  expect(namespaceLabels(world)).not.toHaveProperty(['istio.io/use-waypoint'])
})

test('a waypoint is not made for an application whose memory is lost', async () => {
  const world = await createShop({ waypoint: false })
  world.api.handle({
    method: 'DELETE',
    path: '/api/v1/namespaces/shop/configmaps/juju-service-mesh-db-labels',
    headers: {},
  })
  await world.send('resync', BEACON)
  expect(objectsOf(world, 'Gateway')).toEqual([])
})

test.each(NO_WAYPOINTS)('who is on the mesh is led to a waypoint that serves: from %j', async (mesh) => {
  const world = await createShop(mesh)
  stopWaypoint(world)
  const isForAll = 'modelOnMesh' in mesh
  const labels = () => [enrolled(world, 'db'), namespaceLabels(world)]
  await configure(world, { mesh: { modelOnMesh: isForAll } })
  expect(JSON.stringify(labels())).not.toContain(WAYPOINT)
  expect(JSON.stringify(objectsOf(world, 'AuthorizationPolicy'))).toContain(WAYPOINT)
  world.intercept = undefined
  await world.send('resync', BEACON)
  expect(JSON.stringify(labels())).toContain(WAYPOINT)
  stopWaypoint(world)
  await world.send('resync', BEACON)
  expect(JSON.stringify(labels())).toContain(WAYPOINT)
})

test('who waits for a waypoint is led to it when it serves, without any other event', async () => {
  const place = createPlace(['db'])
  const labels = () => {
    const { spec } =
      place.api.objects().find(({ kind, metadata }) => kind === 'StatefulSet' && metadata.name === 'db') ?? {}
    return podLabels((spec?.template ?? {}) as PodLike)
  }
  await place.happen(event('config-changed', { ...BEACON, config: { mesh: { waypoint: false } } }))
  await place.happen(event('relation-changed', requires(7, DB)))
  expect(labels()).toMatchObject(PAST)
  expect(labels()).not.toHaveProperty('istio.io/use-waypoint')
  await place.happen(event('config-changed', { ...BEACON, config: { mesh: {} } }))
  expect(labels()).toMatchObject(LED)
})

test('who joins the mesh is led to the waypoint at once, so that its pods start once', async () => {
  const world = createMesh(['db'])
  stopWaypoint(world)
  await configure(world, { mesh: {} })
  await world.send('relation-changed', requires(7, DB))
  expect(enrolled(world, 'db')).toEqual(LED)
})

test.each([
  ['to a waypoint', PAST, LED],
  ['away from a waypoint', LED, PAST],
])('no application is led %s before the policies that guard it stand', async (_, before, after) => {
  const meshOf = (labels: object) => ({ guard: 'whenGranted', waypoint: labels === LED })
  const world = await createShop(meshOf(before), POLICIES.slice(0, 1))
  refusePolicies(world)
  await configure(world, { mesh: meshOf(after) })
  expect(enrolled(world, 'db')).toEqual(before)
  expect(isReached(world)).toEqual([true, true])
  world.intercept = undefined
  await world.send('resync', DB)
  expect(enrolled(world, 'db')).toEqual(after)
  expect(isReached(world)).toEqual([true, true])
})

test.each([
  ['that it runs itself', { workload: { podSpec: podSpec() } }],
  ['that another program runs', {}],
])('no pods %s join the mesh before their Service is led to the waypoint', async (_, config) => {
  const world = createMesh()
  if (!('workload' in config)) world.api.seed([workload('StatefulSet', 'db')], { manager: 'juju' })
  world.api.seed([service('db')], { manager: 'juju' })
  await configure(world, { mesh: {} })
  await configure(world, config, DB)
  refuse(world, '/services/db')
  await world.send('relation-changed', requires(7, DB))
  expect(enrolled(world, 'db')).toEqual({})
  world.intercept = undefined
  await world.send('resync', DB)
  expect(enrolled(world, 'db')).toEqual(LED)
})

test('pods admit the clients of their Service until it is led to the waypoint, whatever the memory says before that', async () => {
  const world = await createShop({ guard: 'whenGranted', waypoint: false }, POLICIES.slice(0, 1))
  refuse(world, '/services/db')
  await configure(world, { mesh: { guard: 'whenGranted' } })
  for (const one of [BEACON, DB, BEACON]) await world.send('resync', one)
  expect(world.labels('db').service).not.toHaveProperty(['istio.io/use-waypoint'])
  expect(isReached(world)).toEqual([true, true])
  world.intercept = undefined
  for (const one of [DB, BEACON]) await world.send('resync', one)
  expect(enrolled(world, 'db')).toEqual(LED)
  expect(sourcesOf(policiesOf(world, 'db').filter(({ spec }) => spec.selector))).toEqual([])
  expect(isReached(world)).toEqual([true, true])
  expect((await world.send('resync', BEACON)).status).toBe('unchanged')
})

test('pods with a policy of their own admit nobody else while they are led to the waypoint', async () => {
  const world = await createShop({ guard: 'whenGranted', waypoint: false })
  stopWaypoint(world)
  await configure(world, { mesh: { guard: 'whenGranted' } })
  const rules = policiesOf(world, 'db').flatMap(({ spec }) => (spec.selector ? (spec.rules ?? []) : []))
  const toWeb = rules.filter(({ from }) => JSON.stringify(from).includes('/sa/web'))
  expect(toWeb.map(({ to }) => to)).toEqual([[{ operation: { ports: ['80'] } }]])
})
