import { describe, expect, test } from 'vitest'
import {
  COORDINATOR,
  clusterRelation,
  configure,
  createCluster,
  locations,
  PART_OF,
  relate,
  relationOf,
  type Side,
  saidBy,
  seen,
  startedCluster,
  toldBy,
  WORKERS,
} from '../../helpers/cluster.ts'
import { isWrite, NAMESPACE, type World } from '../../helpers/world.ts'

const resync = (world: World, application: string) => world.send('resync', { application })

const statusOf = async (world: World, application: string) => (await resync(world, application)).applicationStatus

describe('a relation of the cluster', () => {
  test.each<Side>(['worker', 'coordinator', 'both'])(
    'a relation of the cluster that is told to %s ends the same',
    async (side) => {
      const world = await createCluster()
      for (const [index, name] of WORKERS.entries()) await relate(world, name, index + 1, side)
      expect(seen(world)).toEqual(seen(await startedCluster()))
      world.calls.length = 0
      for (const name of [COORDINATOR, ...WORKERS]) await resync(world, name)
      expect(world.calls.filter(isWrite)).toEqual([])
    },
  )

  test('a relation of the cluster is another one for each worker', async () => {
    const world = await createCluster()
    for (const [index, name] of WORKERS.entries()) await relate(world, name, index + 1)
    for (const name of WORKERS) expect(toldBy(world, COORDINATOR, name).worker_config).toBe('target: all\n')
    expect(locations(world).filter((one) => one.startsWith('= /proxy/worker/'))).toHaveLength(6)
    await world.send('relation-broken', { application: 'querier', relation: { id: 1 } })
    expect(relationOf(world, COORDINATOR, 'querier')).toBeUndefined()
    expect(relationOf(world, COORDINATOR, 'ingester')).toBeDefined()
    expect(world.labels('querier').template).not.toHaveProperty('app.kubernetes.io/part-of')
    expect(world.labels('ingester').template).toMatchObject(PART_OF)
  })

  test('a relation of the cluster passes on what the config says, unchanged', async () => {
    const world = await startedCluster({
      workerConfig: 'server:\n  http_listen_port: 3200\n  "quoted": \'ünï\'\n',
      workerPorts: { querier: [3200, 9096], ingester: [9095], compactor: [] },
      tls: { caCert: '-CA-\nline\n', serverCert: '-CERT-', privkeySecretId: 'secret:abc' },
      s3TlsCaChain: '-S3-\n',
    })
    expect(toldBy(world, COORDINATOR, 'querier')).toMatchObject({
      worker_config: 'server:\n  http_listen_port: 3200\n  "quoted": \'ünï\'\n',
      worker_ports: [3200, 9096],
      ca_cert: '-CA-\nline\n',
      server_cert: '-CERT-',
      privkey_secret_id: 'secret:abc',
      s3_tls_ca_chain: '-S3-\n',
    })
    expect(toldBy(world, COORDINATOR, 'ingester').worker_ports).toEqual([9095])
  })

  test('a relation of the cluster tells the coordinator of each unit, and of the role', async () => {
    const world = await startedCluster()
    expect(toldBy(world, 'querier', COORDINATOR)).toEqual({ role: 'querier' })
    expect(saidBy(world, 'querier', COORDINATOR)?.units).toEqual({
      'querier/0': {
        juju_topology: '{"application": "querier", "unit": "querier/0", "charm_name": "querier"}',
        address: '"querier-0.querier-endpoints.shop.svc.cluster.local"',
      },
      'querier/1': {
        juju_topology: '{"application": "querier", "unit": "querier/1", "charm_name": "querier"}',
        address: '"querier-1.querier-endpoints.shop.svc.cluster.local"',
      },
    })
  })

  test.each([1, 0])(
    'a relation of the cluster is taken out of the cluster with its units: scaled to %i, each deleted pod is told',
    async (left) => {
      const world = await startedCluster({ minimalDeployment: ['querier'] })
      const before = locations(world)
      const gone = podsOf(world, 'querier').slice(left)
      scaleTo(world, 'querier', left)
      for (const { metadata } of gone) {
        const { name, uid } = metadata
        await world.send('pod-restarted', { application: 'querier', pod: { name, uid }, gone: true })
      }
      const routes = locations(world).filter((one) => one.startsWith('= /proxy/worker/querier'))
      expect(before.filter((one) => one.startsWith('= /proxy/worker/querier'))).toHaveLength(2)
      expect(routes).toHaveLength(left)
      expect(Object.keys(saidBy(world, 'querier', COORDINATOR)?.units ?? {})).toHaveLength(left)
      expect((await statusOf(world, COORDINATOR))?.message).toBe(
        left === 0 ? '[consistency] Cluster inconsistent. Missing roles: querier.' : undefined,
      )
    },
  )
})

const podsOf = (world: World, name: string) =>
  world.api.objects().filter(({ kind, metadata }) => kind === 'Pod' && metadata.name.startsWith(`${name}-`))

const scaleTo = (world: World, name: string, replicas: number) =>
  world.api.handle({
    method: 'PATCH',
    path: `/apis/apps/v1/namespaces/${NAMESPACE}/statefulsets/${name}`,
    headers: { 'content-type': 'application/merge-patch+json' },
    body: JSON.stringify({ spec: { replicas } }),
  })

const unit = (application: string, name: string, changes: Record<string, unknown> = {}) => ({
  juju_topology: { application, unit: name, charm_name: 'tempo-worker-k8s' },
  address: `${name.replace('/', '-')}.example`,
  ...changes,
})

/** The coordinator is told of the workers by a platform. */
const told = (world: World, application: string, id: number, units: Record<string, unknown>, role: unknown) =>
  world.send('relation-changed', {
    application: COORDINATOR,
    relation: { id, endpoint: 'cluster', interface: 'cluster', role: 'provides' },
    remote: { application, data: { role }, units },
  })

describe('what a worker tells', () => {
  test.each([
    ['no address', { address: 5 }, 'mimir/1.address: expected an address: a string'],
    ['an address that is none', { address: 'a b' }, 'mimir/1.address: expected an address'],
    ['no topology', { juju_topology: 'x' }, 'mimir/1.juju_topology: expected the topology'],
    [
      'another unit',
      { juju_topology: { application: 'mimir', unit: 'mimir/9', charm_name: 'x' } },
      'mimir/1.juju_topology.unit: expected "mimir/1", got "mimir/9"',
    ],
  ])(
    'what a worker tells in one unit is wrong (%s): it is skipped and named, the others count',
    async (_, changes, problem) => {
      const world = await createCluster({ workers: [], config: { minimalDeployment: ['querier'] } })
      const units = { 'mimir/0': unit('mimir', 'mimir/0'), 'mimir/1': unit('mimir', 'mimir/1', changes) }
      const handled = await told(world, 'mimir', 4, units, 'querier')
      expect(handled.messages).toEqual([expect.stringContaining(`relation 4 (cluster): ${problem}`)])
      expect(handled.conditions).toMatchObject([{ reason: 'DataUnserved', message: handled.messages[0] }])
      expect(locations(world).filter((one) => one.startsWith('= /proxy/'))).toEqual(['= /proxy/worker/mimir-0/metrics'])
    },
  )

  test('what a worker tells under a hostile name is named, and every other unit is routed', async () => {
    const world = await createCluster({ workers: [], config: { minimalDeployment: [] } })
    const evil = 'x/0; } server { listen 80'
    const units = { [evil]: unit('mimir', evil), 'mimir/0': unit('mimir', 'mimir/0') }
    const handled = await told(world, 'mimir', 4, units, 'querier')
    expect(handled.messages).toEqual([expect.stringContaining('relation 4 (cluster): "x/0; } server')])
    expect(locations(world).filter((one) => one.startsWith('= /proxy/'))).toEqual(['= /proxy/worker/mimir-0/metrics'])
  })

  test.each(['__proto__', 'constructor'])('what a worker tells under %s is harmless', async (key) => {
    const world = await createCluster({ workers: [], config: { minimalDeployment: [] } })
    const units = JSON.parse(`{"${key}": {"address": 5}, "mimir/0": ${JSON.stringify(unit('mimir', 'mimir/0'))}}`)
    await told(world, 'mimir', 4, units, 'querier')
    expect(locations(world)).toContain('= /proxy/worker/mimir-0/metrics')
  })
})

describe('the status', () => {
  test('of the coordinator goes from no relation, over missing roles, to active', async () => {
    const world = await createCluster()
    const missing = (roles: string) => ({
      status: 'blocked',
      message: `[consistency] Cluster inconsistent. Missing roles: ${roles}.`,
    })
    expect(await statusOf(world, COORDINATOR)).toEqual({
      status: 'blocked',
      message: '[consistency] Missing any worker relation.',
    })
    await relate(world, 'querier', 1)
    expect(await statusOf(world, COORDINATOR)).toEqual(missing('compactor, ingester'))
    await relate(world, 'ingester', 2)
    expect(await statusOf(world, COORDINATOR)).toEqual(missing('compactor'))
    await relate(world, 'compactor', 3)
    expect(await statusOf(world, COORDINATOR)).toBeUndefined()
  })

  test('of the coordinator does not count a role without units', async () => {
    const world = await createCluster({ workers: [], config: { minimalDeployment: ['querier'] } })
    const handled = await told(world, 'mimir', 4, {}, 'querier')
    expect(handled.applicationStatus?.message).toBe('[consistency] Cluster inconsistent. Missing roles: querier.')
  })

  test('of a worker says what it waits for', async () => {
    const world = await createCluster()
    expect(await statusOf(world, 'querier')).toEqual({
      status: 'blocked',
      message: 'Missing relation to a coordinator charm',
    })
    await relate(world, 'querier', 1)
    expect(await statusOf(world, 'querier')).toEqual({
      status: 'waiting',
      message: 'Waiting for coordinator to publish a config',
    })
    await configure(world, { minimalDeployment: [] })
    expect(await statusOf(world, 'querier')).toEqual({ status: 'active', message: 'querier ready.' })
    await world.send('config-changed', { application: 'querier', config: { worker: { roles: [] } } })
    expect(await statusOf(world, 'querier')).toEqual({
      status: 'blocked',
      message:
        "Node offline: no role assigned. Please configure this worker to enable a role. For example: 'juju config querier role-all=true'.",
    })
  })

  test('of a worker whose coordinator is not one yet is that the relation is not ready', async () => {
    const world = await createCluster()
    await world.send('relation-changed', { application: 'querier', ...clusterRelation('requires', 'nobody', 1) })
    expect(await statusOf(world, 'querier')).toEqual({ status: 'waiting', message: 'Cluster relation not ready' })
  })
})

describe('while a role is missing', () => {
  test('workers have labels and no config; those that had one keep it when a role goes', async () => {
    const world = await createCluster()
    await relate(world, 'querier', 1)
    expect(toldBy(world, COORDINATOR, 'querier')).toEqual({ worker_labels: PART_OF })
    expect(world.labels('querier').template).toMatchObject(PART_OF)
    await relate(world, 'ingester', 2)
    await relate(world, 'compactor', 3)
    await world.send('relation-broken', { application: 'compactor', relation: { id: 3 } })
    expect(toldBy(world, COORDINATOR, 'querier')).toMatchObject({ worker_config: 'target: all\n' })
    await configure(world, { workerConfig: 'target: new\n' })
    expect(toldBy(world, COORDINATOR, 'querier')).toMatchObject({ worker_config: 'target: new\n' })
  })
})
