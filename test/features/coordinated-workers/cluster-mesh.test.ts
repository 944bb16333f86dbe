import { describe, expect, test } from 'vitest'
import type { KubernetesObject } from '../../../src/platform/kubernetes/objects.ts'
import { edit } from '../../helpers/beacon-world.ts'
import {
  COORDINATOR,
  clusterRelation,
  createCluster,
  granted,
  meshOf,
  nginxFile,
  ON_MESH,
  PART_OF,
  policies,
  relate,
  relationTo,
  seen,
  startedCluster,
  toldBy,
  WORKERS,
} from '../../helpers/cluster.ts'
import { FORBIDDEN, isWrite, service, type World, workload } from '../../helpers/world.ts'

const joinMesh = (world: World) => world.send('relation-changed', { application: COORDINATOR, ...meshOf() })
const leaveMesh = (world: World) => world.send('relation-broken', { application: COORDINATOR, relation: { id: 99 } })
const leave = (world: World, name: string, id: number) =>
  world.send('relation-broken', { application: name, relation: { id } })

const podOf = (world: World, name: string) => {
  const pod = world.object('Pod', name)
  return { name, uid: pod?.metadata.uid ?? '' }
}

/** Changes what the units of an application say, in its memory. */
const changeUnits = (world: World, { namespace, application }: Record<string, string>, unit: object) => {
  const name = `juju-service-mesh-${application}-labels`
  const memory = world.api.objects().find(({ metadata }) => metadata.namespace === namespace && metadata.name === name)
  const state = JSON.parse(memory?.data?.state ?? '{}') as {
    published: Record<string, { units: Record<string, object> }>
  }
  for (const said of Object.values(state.published))
    said.units = Object.fromEntries(Object.entries(said.units).map(([key, before]) => [key, { ...before, ...unit }]))
  edit(world, `/api/v1/namespaces/${namespace}/configmaps/${name}`, { data: { state: JSON.stringify(state) } })
}

const ownOf = (name: string) => ({ 'app.kubernetes.io/name': name })
const ALL = [COORDINATOR, ...WORKERS]

const isLed = (labels: Record<string, string>): boolean => Object.hasOwn(labels, 'istio.io/use-waypoint')

/** Nothing is left once nothing late can come any more. */
const forgotten = async (world: World, application: string) => {
  world.clock.advance(25 * 60 * 60 * 1_000)
  await world.send('resync', { application })
  expect(world.memory(application)).toBeUndefined()
}

const meshedCluster = async (config: Record<string, unknown> = {}): Promise<World> => {
  const world = await startedCluster(config)
  await joinMesh(world)
  return world
}

describe('the labels of a cluster', () => {
  test('the labels of a cluster say which cluster it is, on the workloads and Services of all of it', async () => {
    const world = await startedCluster()
    for (const name of ALL)
      expect(world.labels(name)).toEqual({
        template: { ...ownOf(name), team: 'blue', ...PART_OF },
        service: { ...ownOf(name), ...PART_OF },
      })
  })

  test('the labels of a cluster put it on the mesh while the coordinator is related to one', async () => {
    const world = await meshedCluster()
    for (const name of ALL) expect(world.labels(name).service).toEqual({ ...ownOf(name), ...PART_OF, ...ON_MESH })
    await leaveMesh(world)
    for (const name of ALL) expect(world.labels(name).service).toEqual({ ...ownOf(name), ...PART_OF })
  })

  test('the labels of a cluster reach a worker that comes later, and leave with its relation', async () => {
    const world = await createCluster({ config: { minimalDeployment: [] } })
    await joinMesh(world)
    await relate(world, 'querier', 1)
    expect(world.labels('querier').template).toMatchObject({ ...PART_OF, ...ON_MESH })
    await leave(world, 'querier', 1)
    expect(world.labels('querier')).toEqual({
      template: { ...ownOf('querier'), team: 'blue' },
      service: ownOf('querier'),
    })
  })

  test.each(['statefulsets', 'services'])(
    'the labels of a cluster keep the waypoint while the %s of a worker lead to it, and no longer',
    async (plural) => {
      const world = await meshedCluster()
      world.intercept = ({ method, path }) =>
        method === 'PATCH' && path.replace(/\?.*/, '').endsWith(`/${plural}/querier`) ? FORBIDDEN : undefined
      await world.send('config-changed', { application: 'beacon', config: { mesh: { waypoint: false } } })
      expect(Object.values(world.labels('querier')).filter(isLed)).toHaveLength(1)
      expect([COORDINATOR, 'ingester'].flatMap((name) => Object.values(world.labels(name))).filter(isLed)).toEqual([])
      expect(world.object('Gateway', 'shop-beacon-waypoint')).toBeDefined()
      world.intercept = undefined
      await world.send('resync', { application: 'querier' })
      expect(Object.values(world.labels('querier')).filter(isLed)).toEqual([])
      expect(world.object('Gateway', 'shop-beacon-waypoint')).toBeUndefined()
      expect(world.memory(COORDINATOR)?.labels).toEqual({ ...PART_OF, 'istio.io/dataplane-mode': 'ambient' })
    },
  )

  test.each([
    // the Service leads there as long as the pods
    ['statefulsets', 2],
    ['services', 1],
  ])(
    'the labels of a cluster keep the waypoint while the %s of a worker lead to it, also where the coordinator has left, and no longer',
    async (plural, places) => {
      const world = await meshedCluster()
      world.intercept = ({ method, path }) =>
        method === 'PATCH' && path.replace(/\?.*/, '').endsWith(`/${plural}/querier`) ? FORBIDDEN : undefined
      await world.send('relation-broken', { application: COORDINATOR, relation: { id: 99, interface: 'service_mesh' } })
      await world.send('config-changed', { application: 'beacon', config: { mesh: { waypoint: false } } })
      await world.send('resync', {})
      expect(Object.values(world.labels('querier')).filter(isLed)).toHaveLength(places)
      expect(world.object('Gateway', 'shop-beacon-waypoint')).toBeDefined()
      world.intercept = undefined
      await world.send('resync', { application: 'querier' })
      expect(Object.values(world.labels('querier')).filter(isLed)).toEqual([])
      expect(world.object('Gateway', 'shop-beacon-waypoint')).toBeUndefined()
      expect(policies(world)).toEqual([])
    },
  )

  test('the labels of a cluster leave its workers with the mesh, also where they could not be taken from the coordinator itself', async () => {
    const world = await meshedCluster()
    world.intercept = ({ method, path }) =>
      method === 'PATCH' && path.includes(`/statefulsets/${COORDINATOR}?`) ? FORBIDDEN : undefined
    await world.send('relation-broken', { application: COORDINATOR, relation: { id: 99, interface: 'service_mesh' } })
    await world.send('resync', {})
    expect(Object.values(world.labels(COORDINATOR)).filter(isLed)).toHaveLength(2)
    for (const name of WORKERS) expect(world.labels(name).template).not.toHaveProperty(['istio.io/dataplane-mode'])
  })

  test('the labels of a cluster leave a worker without a role, too', async () => {
    const world = await meshedCluster()
    await world.send('config-changed', { application: 'querier', config: { worker: { roles: [] } } })
    await leaveMesh(world)
    expect(world.labels('querier').service).toEqual({ ...ownOf('querier'), ...PART_OF })
  })

  test('the labels of a cluster stay on a worker that cannot read them any more', async () => {
    const world = await createCluster()
    const tell = (data: Record<string, unknown>) =>
      world.send('relation-changed', { application: 'querier', ...clusterRelation('requires', 'elsewhere', 1, data) })
    const labels = { 'app.kubernetes.io/part-of': 'elsewhere', ...ON_MESH }
    await tell({ worker_labels: JSON.stringify(labels), worker_config: '"x"' })
    expect(world.labels('querier').template).toMatchObject(labels)
    expect(await tell({ worker_labels: 'x', worker_config: 'y' })).toMatchObject({
      messages: expect.arrayContaining([
        expect.stringMatching(/^relation 1 \(cluster\): worker_labels: .*; its labels stay in effect/),
      ]),
    })
    expect(world.labels('querier').template).toMatchObject(labels)
  })
})

describe('the policies inside a cluster', () => {
  test('the policies inside a cluster are two objects: its applications may reach all its pods, the workers its Service', async () => {
    const world = await meshedCluster()
    const rulesFor = (names: readonly string[]) => [
      { from: [{ source: { principals: names.toSorted().map((name) => `cluster.local/ns/shop/sa/${name}`) } }] },
    ]
    expect(policies(world).map(({ spec }) => spec)).toEqual([
      { selector: { matchLabels: PART_OF }, action: 'ALLOW', rules: rulesFor(ALL) },
      {
        targetRefs: [{ group: '', kind: 'Service', name: COORDINATOR }],
        action: 'ALLOW',
        rules: rulesFor(WORKERS),
      },
    ])
  })

  test('the policies inside a cluster are not there without a mesh', async () => {
    const world = await startedCluster()
    expect(policies(world)).toEqual([])
  })

  test('the policies inside a cluster follow the workers: one that goes loses its access, and one that comes back has it again', async () => {
    const world = await meshedCluster()
    const before = policies(world).map(({ spec }) => spec)
    await leave(world, 'ingester', 2)
    expect(granted(world)).toEqual(['compactor', 'querier', COORDINATOR])
    expect(policies(world)).toHaveLength(2)
    await relate(world, 'ingester', 2)
    expect(policies(world).map(({ spec }) => spec)).toEqual(before)
  })

  test('the policies inside a cluster follow a worker application that is removed, of which nobody tells the coordinator', async () => {
    const world = await meshedCluster()
    await world.send('application-removed', { application: 'ingester' })
    expect(granted(world)).toEqual(['compactor', 'querier', COORDINATOR])
    expect(nginxFile(world)).not.toContain('ingester')
    expect(world.labels('ingester')).toEqual({
      template: { ...ownOf('ingester'), team: 'blue' },
      service: ownOf('ingester'),
    })
    await forgotten(world, 'ingester')
  })

  test('the policies inside a cluster do not take away the access of a worker whose databag cannot be read any more', async () => {
    const world = await meshedCluster()
    const { relation, remote } = clusterRelation('provides', 'foreign', 4)
    const tell = (data: object, unit: object) =>
      world.send('relation-changed', {
        application: COORDINATOR,
        relation,
        remote: { ...remote, data, units: { 'foreign/0': unit } },
      })
    const topology = JSON.stringify({ application: 'foreign', unit: 'foreign/0', charm_name: 'x' })
    await tell({ role: '"ingester"' }, { juju_topology: topology, address: '"foreign-0.foreign"' })
    expect(granted(world)).toEqual([...ALL, 'foreign'].toSorted())
    for (const data of [{ role: 5 }, { role: '"ingester"' }, { data: '{', _supported_versions: '["v1"]' }]) {
      expect(await tell(data, { juju_topology: 'x', address: '{' })).toMatchObject({
        messages: expect.arrayContaining([expect.stringMatching(/^relation 4 \(cluster\): /)]),
      })
      expect(granted(world)).toEqual([...ALL, 'foreign'].toSorted())
    }
  })

  test('the policies inside a cluster do not take it away from one of another namespace either, whose memory speaks for it', async () => {
    const world = await meshedCluster()
    const inLogs = (object: KubernetesObject) => ({ ...object, metadata: { ...object.metadata, namespace: 'logs' } })
    world.api.seed([inLogs(workload('StatefulSet', 'far')), inLogs(service('far'))], { manager: 'juju' })
    const far = { namespace: 'logs', application: 'far' }
    await world.send('config-changed', { ...far, config: { worker: { roles: ['querier'] } } })
    const there = clusterRelation('requires', COORDINATOR, 1)
    await world.send('relation-changed', { ...far, ...there, remote: { ...there.remote, namespace: 'shop' } })
    const here = clusterRelation('provides', 'far', 4)
    await world.send('relation-changed', {
      application: COORDINATOR,
      ...here,
      remote: { ...here.remote, namespace: 'logs' },
    })
    expect(granted(world)).toEqual([...ALL, 'far'].toSorted())
    for (const unit of [
      { address: '{' },
      { juju_topology: '{"application": "victim", "unit": "victim/0", "charm_name": "x"}' },
    ]) {
      changeUnits(world, far, unit)
      await world.send('resync', { application: COORDINATOR })
      expect(granted(world)).toEqual([...ALL, 'far'].toSorted())
    }
  })

  test('the policies inside a cluster name only the configured ports with leastPrivilege', async () => {
    const world = await meshedCluster({ leastPrivilege: { ports: [3200] }, workerPorts: [9095, 9096] })
    const ports = policies(world).map(({ spec }) =>
      [...JSON.stringify(spec).matchAll(/"ports":(\[.*?\])/g)].map(([, list = '']) => JSON.parse(list)),
    )
    expect(ports).toEqual([[['8080', '9095', '9096']], [['3200', '3300', '3302', '3303']]])
  })

  test('the policies inside a cluster are written once: nothing of a repeat, of another order or of a pod that restarts', async () => {
    const world = await meshedCluster()
    world.calls.length = 0
    for (const name of WORKERS.toReversed()) await relate(world, name, WORKERS.indexOf(name) + 1)
    await joinMesh(world)
    expect(world.calls.filter((call) => isWrite(call) && !call.includes('/configmaps/juju-service-mesh-'))).toEqual([])
    world.calls.length = 0
    for (const name of WORKERS) {
      await world.send('resync', { application: name })
      await world.send('pod-restarted', { application: name, pod: podOf(world, `${name}-0`) })
    }
    expect(world.calls.filter(isWrite)).toEqual([])
  })
})

describe('the policies from outside', () => {
  const scraped = async (config: Record<string, unknown> = {}, policies: unknown[] = []): Promise<World> => {
    const world = await createCluster({ config: { minimalDeployment: [], ...config } })
    await world.send('config-changed', {
      application: COORDINATOR,
      config: {
        coordinator: { roles: [...WORKERS], telemetryProxy: { httpPort: 3300, httpsPort: 3301 }, ...config },
        policies,
      },
    })
    await joinMesh(world)
    await world.send('relation-changed', {
      application: COORDINATOR,
      ...relationTo('prometheus', 50, 'metrics-endpoint', { role: 'provides' }),
    })
    await world.send('relation-changed', {
      application: COORDINATOR,
      ...relationTo('grafana', 51, 'grafana-source', { role: 'provides' }),
    })
    return world
  }

  const asked = (world: World): Record<string, unknown>[] =>
    toldBy(world, COORDINATOR, 'beacon').policies as Record<string, unknown>[]

  test('the policies from outside ask the beacon for the metrics and those of the workers, then for the author’s own', async () => {
    const world = await scraped({}, [{ type: 'app', relation: 'grafana-source', endpoints: [{ ports: [3200] }] }])
    expect(asked(world)).toMatchObject([
      { source_app_name: 'prometheus', target_type: 'unit', endpoints: [{ ports: [9113] }] },
      {
        source_app_name: 'prometheus',
        target_type: 'app',
        target_app_name: COORDINATOR,
        endpoints: [{ ports: [3300], methods: ['GET'], paths: ['/proxy/worker/{*}/metrics'] }],
      },
      { source_app_name: 'grafana', target_type: 'app', endpoints: [{ ports: [3200] }] },
    ])
  })

  test('the policies from outside are what the coordinator then writes', async () => {
    const world = await scraped()
    const rules = policies(world, 'relation').map(({ spec }) => spec)
    expect(rules).toMatchObject([
      {
        selector: { matchLabels: { 'app.kubernetes.io/name': COORDINATOR } },
        // the waypoint, and who scrapes
        rules: [{}, { to: [{ operation: { ports: ['9113'] } }] }],
      },
      {
        targetRefs: [{ kind: 'Service', name: COORDINATOR }],
        rules: [
          {
            from: [{ source: { principals: ['cluster.local/ns/shop/sa/prometheus'] } }],
            to: [{ operation: { ports: ['3300'], methods: ['GET'], paths: ['/proxy/worker/{*}/metrics'] } }],
          },
        ],
      },
    ])
  })

  test('the policies from outside follow TLS to the other port', async () => {
    const world = await scraped({ tls: true })
    expect(asked(world)[1]).toMatchObject({ endpoints: [{ ports: [3301] }] })
  })

  test('the policies from outside go with the mesh', async () => {
    const world = await scraped()
    await leaveMesh(world)
    expect(policies(world, 'relation')).toEqual([])
  })
})

describe('the mesh and the workers', () => {
  test('the mesh and the workers may come in either order, and the mesh may go in between', async () => {
    const workersFirst = await meshedCluster()
    const meshFirst = await createCluster()
    await joinMesh(meshFirst)
    for (const [index, name] of WORKERS.entries()) await relate(meshFirst, name, index + 1)
    expect(seen(meshFirst)).toEqual(seen(workersFirst))
    await leaveMesh(meshFirst)
    expect(seen(meshFirst)).toEqual(seen(await startedCluster()))
    await joinMesh(meshFirst)
    expect(seen(meshFirst)).toEqual(seen(workersFirst))
  })
})

describe('when the coordinator goes', () => {
  test('everything that it made goes with it, and the workers’ labels', async () => {
    const world = await meshedCluster()
    await world.send('application-removed', { application: COORDINATOR })
    expect(policies(world)).toEqual([])
    expect(nginxFile(world)).toBeUndefined()
    for (const name of ALL)
      expect(world.labels(name)).toEqual({ template: { ...ownOf(name), team: 'blue' }, service: ownOf(name) })
    await forgotten(world, COORDINATOR)
    expect((await world.send('resync', { application: 'querier' })).applicationStatus?.message).toContain(
      'Cluster relation not ready',
    )
  })

  test('when the coordinator goes from the config alone, its policies and its file go', async () => {
    const world = await meshedCluster()
    await world.send('config-changed', { application: COORDINATOR, config: {} })
    expect(policies(world)).toEqual([])
    expect(nginxFile(world)).toBeUndefined()
  })
})
