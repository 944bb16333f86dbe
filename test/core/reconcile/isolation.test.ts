import { describe, expect, test } from 'vitest'
import type { TransportAnswer, TransportRequest } from '../../../src/platform/kubernetes/client.ts'
import { deployed, imageOf, podSpec } from '../../helpers/application.ts'
import {
  ask,
  BEACON,
  configure,
  createMesh,
  policiesIn,
  policiesOf,
  sourcesOf,
  wire,
} from '../../helpers/beacon-world.ts'
import { createWorld, event, isWrite, MESH_LABELS, meshRelation, NAMESPACE, type World } from '../../helpers/world.ts'

const status = (code: number, message: string, more: Record<string, unknown> = {}): TransportAnswer => ({
  status: code,
  headers: {},
  body: JSON.stringify({ kind: 'Status', apiVersion: 'v1', status: 'Failure', message, code, metadata: {}, ...more }),
})

const POLICY = "ValidatingAdmissionPolicy 'no-mesh' with binding 'all' denied request: not on Fridays"
const WEBHOOK = 'admission webhook "guard.example.com" denied the request: no'

/** Every way in which an API server refuses one write. */
const REFUSALS: [string, TransportAnswer][] = [
  ['an admission policy, as invalid', status(422, POLICY, { details: { causes: [{ message: POLICY }] } })],
  ['an admission policy, as forbidden', status(403, POLICY, { reason: 'Forbidden' })],
  ['an admission policy, as unauthorized', status(401, POLICY)],
  ['a webhook, as invalid and without causes', status(422, WEBHOOK)],
  ['a webhook, as a conflict', status(409, WEBHOOK)],
  ['a webhook, as unavailable', status(503, WEBHOOK)],
  ['a webhook that fails', status(500, 'Internal error occurred: failed calling webhook "guard": connection refused')],
  ['a missing permission', status(403, 'User "meshstep" cannot patch resource "statefulsets"')],
  ['the schema', status(500, 'failed to create typed patch object (shop/web): .spec.x: field not declared in schema')],
  ['an object that is too large', status(413, 'Request entity too large')],
]

const refuse = (world: World, part: string, answer: TransportAnswer, methods = ['PATCH']): void => {
  world.intercept = ({ method, path }: TransportRequest) =>
    methods.includes(method) && path.includes(part) ? answer : undefined
}

describe('a label that is refused at the workload', () => {
  const CONFIG = { meshPolicies: [wire({ target_app_name: 'web', source_app_name: 'cart' })] }

  test.each(REFUSALS)(
    'a label that is refused at the workload by %s: the Service is labelled, others are told, and it is an error',
    async (_, answer) => {
      const world = createWorld()
      refuse(world, '/statefulsets/', answer)
      expect(await world.send('relation-changed', meshRelation())).toMatchObject({
        status: 'waiting',
        applicationStatus: { status: 'error', message: expect.stringContaining(`${answer.status} `) },
        messages: [expect.stringMatching(/StatefulSet shop\/web: .*; it is tried again$/)],
      })
      expect(world.labels()).toMatchObject({ template: { team: 'blue' }, service: MESH_LABELS })
      expect(world.labels().template).not.toHaveProperty('istio.io/dataplane-mode')
      expect(world.published.map(({ subject }) => subject)).toEqual(['shop/beacon'])
      expect(world.memory()?.labels).toEqual({})
      world.intercept = undefined
      expect(await world.send('resync', {})).not.toHaveProperty('applicationStatus')
      expect(world.labels()).toMatchObject({ template: MESH_LABELS, service: MESH_LABELS })
      expect(world.memory()?.labels).toEqual(MESH_LABELS)
      expect(world.memory()?.state).not.toHaveProperty('refused')
    },
  )

  test('a label that is refused at the workload does not stop a revocation', async () => {
    const world = createWorld()
    await world.send('config-changed', { config: CONFIG })
    refuse(world, '/statefulsets/', status(422, POLICY))
    await world.send('relation-changed', meshRelation())
    await world.send('config-changed', { config: {} })
    expect(policiesIn(world)).toEqual([])
  })

  test('a label that is refused at the workload when it is to go: what guards the workload stays until it has gone', async () => {
    const world = createWorld()
    await world.send('config-changed', { config: CONFIG })
    await world.send('relation-changed', meshRelation())
    refuse(world, '/statefulsets/', status(422, POLICY))
    await world.send('relation-broken', { relation: { id: 7 } })
    expect(await world.send('config-changed', { config: {} })).toMatchObject({
      messages: expect.arrayContaining([expect.stringMatching(/^waiting for pods to be replaced/)]),
    })
    expect([policiesIn(world).length, world.labels().service]).toEqual([1, expect.objectContaining(MESH_LABELS)])
    world.intercept = undefined
    await world.send('resync', {})
    const { template, service: led } = world.labels()
    expect(policiesIn(world)).toEqual([])
    for (const labels of [template, led]) expect(labels).not.toMatchObject(MESH_LABELS)
  })
})

const SAVED = expect.stringMatching(/^PUT .*configmaps/)

describe('what is refused lastingly', () => {
  test('what is refused lastingly is tried with each event, between two writes of the memory', async () => {
    const world = createWorld()
    refuse(world, '/statefulsets/', status(422, POLICY))
    await world.send('relation-changed', meshRelation())
    for (const _ of [1, 2, 3]) {
      world.calls.length = 0
      expect(await world.send('resync', {})).toMatchObject({
        status: 'waiting',
        applicationStatus: { status: 'error' },
      })
      expect(world.calls.filter(isWrite)).toEqual([...[SAVED, expect.stringMatching(/^PATCH .*statefulsets/), SAVED]])
    }
  })
})

describe('a pod spec that the API server refuses', () => {
  const TYPED = status(
    500,
    'failed to create typed patch object: .spec.template.livenesProbe: field not declared in schema',
  )

  test('a pod spec that the API server refuses is sent once for each event, and all else is done', async () => {
    const world = createWorld([{ apiVersion: 'v1', kind: 'Namespace', metadata: { name: NAMESPACE } }])
    const policies = { meshPolicies: [wire({ target_app_name: 'web', source_app_name: 'cart' })] }
    await world.send('config-changed', deployed({}, policies))
    await world.send('relation-changed', meshRelation())
    const started = world.clock.now()
    // the trial went well: what refuses it came after that
    world.intercept = ({ method, path, body = '' }) =>
      method === 'PATCH' && path.includes('/deployments/') && body.includes('web:2') && !path.includes('dryRun=')
        ? TYPED
        : undefined
    expect(await world.send('config-changed', deployed({ podSpec: podSpec('web:2') }))).toMatchObject({
      status: 'waiting',
      applicationStatus: { status: 'error', message: expect.stringContaining('livenesProbe') },
    })
    expect(world.clock.now() - started).toBeLessThan(1_000)
    expect([policiesIn(world), imageOf(world)]).toEqual([[], 'web:1'])
    world.calls.length = 0
    await world.send('resync', {})
    expect(world.calls.filter(isWrite)).toEqual([SAVED, expect.stringMatching(/^PATCH .*deployments/), SAVED])
    await world.send('relation-broken', { relation: { id: 7 } })
    expect(world.labels().template).not.toHaveProperty('istio.io/dataplane-mode')
  })
})

test('an application that has labels of its own stays off the mesh while its own policies are refused', async () => {
  const world = createWorld()
  const policies = [wire({ target_app_name: 'web', source_app_name: 'cart' })]
  await world.send('config-changed', { config: { labels: { tier: 'front' } } })
  expect(world.labels().template).toMatchObject({ tier: 'front' })
  refuse(world, '/authorizationpolicies/', status(403, POLICY))
  await world.send('config-changed', { config: { labels: { tier: 'front' }, meshPolicies: policies } })
  await world.send('relation-changed', meshRelation())
  expect(world.labels().template).not.toHaveProperty('istio.io/dataplane-mode')
  world.intercept = undefined
  await world.send('resync', {})
  expect(world.labels().template).toMatchObject(MESH_LABELS)
})

test('pods that may not be listed hold nothing else back, and that is an error', async () => {
  const world = createWorld([{ apiVersion: 'v1', kind: 'Namespace', metadata: { name: NAMESPACE } }])
  const policies = { meshPolicies: [wire({ target_app_name: 'web', source_app_name: 'cart' })] }
  await world.send('config-changed', deployed({}, policies))
  expect(policiesIn(world)).toHaveLength(1)
  refuse(world, '/pods', status(403, 'pods is forbidden: User "x" cannot list resource "pods"'), ['GET'])
  const { applicationStatus } = await world.send('config-changed', deployed())
  expect(applicationStatus).toMatchObject({ status: 'error', message: expect.stringContaining('cannot list resource') })
  expect(policiesIn(world)).toEqual([])
})

describe('an API server that is away', () => {
  test.each<[string, TransportAnswer]>([
    ['busy', status(429, 'too many requests')],
    ['unavailable', status(503, 'apiserver is shutting down')],
    ['behind a proxy that fails', { status: 500, headers: {}, body: '<html>500</html>' }],
  ])('%s: the event is answered with 503', async (_, answer) => {
    const world = createWorld()
    refuse(world, '/statefulsets/', answer)
    expect((await world.post(event('relation-changed', meshRelation()))).status).toBe(503)
  })

  test('a read that fails is tried until the deadline, however it fails', async () => {
    const world = createWorld()
    refuse(world, '/configmaps/', status(500, 'etcdserver: request timed out'), ['GET'])
    expect((await world.post(event('relation-changed', meshRelation()))).status).toBe(503)
  })

  test('a webhook that is down for all policies does not take the time of the step', async () => {
    const world = createMesh([], false)
    await configure(world, { mesh: {} })
    refuse(world, 'authorizationpolicies', status(500, 'failed calling webhook "validation.istio.io"'))
    const started = world.clock.now()
    const many = Array.from({ length: 50 }, (_, index) =>
      wire({
        target_type: 'unit',
        target_app_name: null,
        target_selector_labels: { 'app.kubernetes.io/name': 'db', part: `p${index}` },
      }),
    )
    expect((await ask(world, many)).status).toBe('waiting')
    expect(world.clock.now() - started).toBeLessThan(5_000)
  })
})

describe('what is stale goes when what replaces it stands', () => {
  test('a mistyped rootNamespace leaves the mesh hardened, and that is told', async () => {
    const world = createMesh([], false)
    world.api.seed([{ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'istio-system' } }])
    await configure(world, { mesh: { hardened: true } })
    const there = () => policiesIn(world).map(({ metadata }) => metadata.namespace)
    expect(there()).toEqual(['istio-system', 'istio-system'])
    expect(await configure(world, { mesh: { hardened: true, rootNamespace: 'istio-sytem' } })).toMatchObject({
      messages: expect.arrayContaining([
        expect.stringMatching(/^AuthorizationPolicy istio-system\/.*-ztunnel stays: AuthorizationPolicy istio-sytem\//),
      ]),
      applicationStatus: { status: 'error' },
    })
    expect(there()).toEqual(['istio-system', 'istio-system'])
    await configure(world, { mesh: { hardened: true } })
    expect(there()).toEqual(['istio-system', 'istio-system'])
    await configure(world, { mesh: { hardened: false } })
    expect(there()).toEqual([])
  })

  test('of two targets only the one whose new objects are refused keeps its old one', async () => {
    const world = createMesh([], false)
    await configure(world, { mesh: {} })
    const many = (target: string) =>
      Array.from({ length: 600 }, (_, index) =>
        wire({ target_app_name: target, source_app_name: `a${index}`, endpoints: [{ ports: [index + 1] }] }),
      )
    await ask(world, [wire()])
    await ask(world, [wire({ target_app_name: 'web' })], { id: 8, application: 'web' })
    world.intercept = ({ method, path }) =>
      method === 'PATCH' && /policy-db-.*-1\?/.test(path) ? status(400, WEBHOOK) : undefined
    await ask(world, many('db'))
    await ask(world, many('web'), { id: 8, application: 'web' })
    expect(policiesOf(world, 'web')).toHaveLength(2)
    expect(sourcesOf(policiesOf(world, 'db'))).toContain('shop/web')
    expect(policiesOf(world, 'db')).toHaveLength(2)
  })
})

test('a policy of an endpoint with a comma in its name stays when memories are lost', async () => {
  const world = createMesh(['db'], false)
  await configure(world, { mesh: {} })
  const relation = { id: 7, endpoint: 'mesh, the old one', interface: 'service_mesh', role: 'provides' }
  await world.send('relation-changed', {
    ...BEACON,
    relation,
    remote: { application: 'db', data: { policies: [wire()] } },
  })
  expect(policiesOf(world, 'db')).toHaveLength(1)
  world.api.handle({
    method: 'DELETE',
    path: '/api/v1/namespaces/shop/configmaps/juju-service-mesh-beacon-labels',
    headers: {},
  })
  await configure(world, { mesh: {} })
  expect(policiesOf(world, 'db')).toHaveLength(1)
})

test('what waits for an object of somebody else is told with each event, and writes nothing', async () => {
  const world = createMesh([], false)
  world.api.seed([{ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'istio-system' } }])
  world.api.seed([{ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'root' } }])
  await configure(world, { mesh: { hardened: true } })
  const taken = policiesIn(world).map(({ metadata, ...policy }) => ({
    ...policy,
    metadata: { name: metadata.name, namespace: 'root' },
  }))
  world.api.seed(taken, { manager: 'somebody' })
  const config = { mesh: { hardened: true, rootNamespace: 'root' } }
  const first = await configure(world, config)
  expect(first.messages).toEqual(expect.arrayContaining([expect.stringMatching(/istio-system\/.* stays: .* root\//)]))
  world.calls.length = 0
  expect((await world.send('resync', BEACON)).messages).toEqual(first.messages)
  expect(world.calls.filter(isWrite)).toEqual([])
})

describe('a Service that policies name and that may not be read', () => {
  const FORBIDDEN = status(403, 'services "db-read" is forbidden: User "x" cannot get resource "services"', {
    reason: 'Forbidden',
  })
  const NAMED = [wire({ target_service: 'db-read' }), wire({ source_app_name: 'cart' })]
  const dbRead = {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name: 'db-read', namespace: NAMESPACE },
    spec: { selector: { 'app.kubernetes.io/name': 'db' }, ports: [{ port: 80 }] },
  }
  const createAsked = async () => {
    const world = createMesh(['db', 'web'], false)
    await configure(world, { mesh: {} })
    return world
  }

  test('a Service that policies name and that may not be read keeps back its own policy alone, and is told', async () => {
    const world = await createAsked()
    refuse(world, '/services/db-read', FORBIDDEN, ['GET'])
    expect(await ask(world, NAMED)).toMatchObject({
      status: 'waiting',
      messages: expect.arrayContaining([
        expect.stringMatching(/GET Service shop\/db-read: 403 .*Grant it with a Role/),
      ]),
      applicationStatus: { status: 'error' },
    })
    expect(sourcesOf(policiesIn(world))).toEqual(['shop/cart'])
  })

  test('a Service that policies name and that may not be read leaves what was granted there before', async () => {
    const world = await createAsked()
    world.api.seed([dbRead], { manager: 'juju' })
    await ask(world, NAMED)
    const before = policiesOf(world, 'db-read')
    refuse(world, '/services/db-read', FORBIDDEN, ['GET'])
    await world.send('resync', BEACON)
    expect(policiesOf(world, 'db-read')).toEqual(before)
    expect(sourcesOf(before)).toEqual(['shop/web'])
    world.intercept = undefined
    expect(await world.send('resync', BEACON)).not.toHaveProperty('applicationStatus')
  })

  test('a Service that policies name and that may not be read leaves the application that names it to be done', async () => {
    const world = createWorld()
    refuse(world, '/services/web-read', FORBIDDEN, ['GET'])
    const policies = [{ type: 'app', relation: 'db', service: 'web-read', endpoints: [] }]
    await world.send('config-changed', { config: { policies } })
    expect(await world.send('relation-changed', meshRelation())).toMatchObject({
      applicationStatus: { status: 'error', message: expect.stringContaining('403') },
    })
    expect(world.labels()).toMatchObject({ template: MESH_LABELS, service: MESH_LABELS })
  })
})

test('an account that may not be read refuses the workload that names it, and nothing else', async () => {
  const world = createWorld([{ apiVersion: 'v1', kind: 'Namespace', metadata: { name: NAMESPACE } }])
  refuse(world, '/serviceaccounts/theirs', status(403, 'User "x" cannot get resource "serviceaccounts"'), ['GET'])
  const named = deployed({ podSpec: { ...podSpec(), serviceAccountName: 'theirs' } })
  const [refused] = await Promise.all([
    world.post(event('config-changed', named)),
    world.send('config-changed', { settings: { a: '1' } }),
  ])
  expect([refused.status, await refused.text()]).toEqual([
    400,
    expect.stringMatching(/GET ServiceAccount shop\/theirs: 403/),
  ])
  expect(world.memory()?.state).toMatchObject({ settings: { a: '1' } })
})
