import { describe, expect, test } from 'vitest'
import { COORDINATOR, configure, meshOf, policies } from '../../helpers/cluster.ts'
import { some } from '../../helpers/runs.ts'
import { createWorld, event, isWrite, service, type World, workload } from '../../helpers/world.ts'

type Units = Record<string, Record<string, unknown>>

const unitsOf = (application: string, count: number): Units =>
  Object.fromEntries(
    Array.from({ length: count }, (_, number) => [
      `${application}/${number}`,
      {
        juju_topology: JSON.stringify({ application, unit: `${application}/${number}`, charm_name: 'worker-k8s' }),
        address: JSON.stringify(`${application}-${number}.${application}-endpoints.shop.svc.cluster.local`),
      },
    ]),
  )

/** What the coordinator is told of the workers `application`. */
const workers = (id: number, application: string, units: Units) => ({
  application: COORDINATOR,
  relation: { id, endpoint: 'cluster', interface: 'cluster', role: 'provides' },
  remote: { application, data: { role: '"querier"' }, units },
})

/** Few memories are read by name, and many listed. */
const remotes = (applications: number): string[] =>
  applications < 16
    ? ['beacon', ...Array.from({ length: applications }, (_, index) => `worker-${index}`)].map(MEMORY)
    : [LIST]

/** A coordinator on a mesh, with worker applications of some units each. */
const clusterOf = async (applications: number, units = 1): Promise<World> => {
  const world = createWorld([workload('StatefulSet', COORDINATOR), service(COORDINATOR)])
  await configure(world, { minimalDeployment: ['querier'] })
  const { relation } = meshOf(100_000)
  const labels = '{"istio.io/dataplane-mode": "ambient"}'
  const beacon = { application: 'beacon', data: { labels, mesh_type: '"istio"' } }
  await world.send('relation-changed', { application: COORDINATOR, relation, remote: beacon })
  // what waits for the application shares a step
  const told = Array.from({ length: applications }, (_, index) => {
    const name = `worker-${index}`
    return world.post(event('relation-changed', workers(index + 1, name, unitsOf(name, units))))
  })
  for (const response of await Promise.all(told)) expect(response.status).toBe(200)
  return world
}

const MEMORY = (name: string) => `GET /api/v1/namespaces/shop/configmaps/juju-service-mesh-${name}-labels`
const LIST = 'GET /api/v1/namespaces/shop/configmaps?labelSelector=…'
const ALL_PODS = 'GET /api/v1/namespaces/shop/pods?limit=500'
const PODS = 'GET /api/v1/namespaces/shop/pods?labelSelector=…'

/** Its memory, its own ConfigMap and policies, and its workload. */
const CALLS = [
  MEMORY(COORDINATOR),
  LIST,
  'GET /api/v1/namespaces/shop/services/tempo',
  'GET /apis/apps/v1/namespaces/shop/statefulsets/tempo',
  'GET /apis/security.istio.io/v1/namespaces/shop/authorizationpolicies?labelSelector=…',
]

const TAG = 'istio-revision-tag-default'
const MESH = [
  'GET /api/v1/namespaces/istio-system/configmaps/istio',
  'GET /api/v1/namespaces/shop',
  `GET /apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations/${TAG}`,
]

const calls = (world: World): string[] =>
  world.calls.map((call) => call.replace(/(labelSelector=)[^&]*.*/, '$1…')).toSorted()

describe('an event with nothing new to a coordinator on a mesh', () => {
  const sizes: [applications: number, units: number][] = [
    [1, 1],
    [500, 1],
    [10, 1],
    [100, 1],
    [3, 1],
    [1, 500],
  ]
  test.each(some(sizes, 2))(
    'an event with nothing new to a coordinator on a mesh costs five reads besides its remotes’ memories, and no write, with %i worker applications of %i units',
    async (applications, units) => {
      const world = await clusterOf(applications, units)
      expect(policies(world)).toHaveLength(2)
      const again = () =>
        world.send('relation-changed', workers(1, 'worker-0', unitsOf('worker-0', units)), { id: 'again' })
      await again()
      for (const [quiet, others] of [
        [again, remotes(applications)],
        // all memories, documents and pods, and once more its own memory, for what was sent; and, as no mesh says here what it has taken or
        // captured, what tells if it would
        [
          () => world.send('resync', { application: COORDINATOR }),
          [LIST, LIST, PODS, MEMORY(COORDINATOR), ALL_PODS, ...MESH],
        ],
      ] as const) {
        world.calls.length = 0
        const handled = await quiet()
        expect(calls(world)).toEqual([...CALLS, ...others].toSorted())
        expect(handled).toMatchObject({ status: 'unchanged', written: [], messages: [] })
      }
    },
    60_000,
  )

  test('an event with nothing new to a coordinator on a mesh costs a worker no write and six reads, of which two are of its pods', async () => {
    const world = createWorld([workload('StatefulSet', 'querier'), service('querier')])
    await world.send('config-changed', { application: 'querier', config: { worker: { roles: ['querier'] } } })
    const told = {
      application: 'querier',
      relation: { id: 1, endpoint: 'cluster', interface: 'cluster', role: 'requires' },
      remote: { application: COORDINATOR, data: { worker_config: '"x"', worker_labels: '{"a": "1"}' } },
    }
    await world.send('relation-changed', told, { id: 'again' })
    world.calls.length = 0
    await world.send('relation-changed', told, { id: 'again' })
    expect(world.calls).toHaveLength(6)
    expect(world.calls.filter((call) => call.includes('/pods/'))).toHaveLength(2)
    expect(world.calls.filter(isWrite)).toEqual([])
  })
})

describe('a worker that comes or goes', () => {
  test.each([3, 100])(
    'a worker that comes or goes rewrites two policies, the file and the memory, with %i others',
    async (applications) => {
      const world = await clusterOf(applications)
      world.calls.length = 0
      await world.send('relation-broken', { application: COORDINATOR, relation: { id: 2 } })
      const writes = world.calls.filter(isWrite).map((call) => call.replace(/\?.*/, ''))
      expect(writes.filter((call) => !call.startsWith('PUT'))).toEqual([
        expect.stringContaining('authorizationpolicies/tempo-shop-policy-selector'),
        expect.stringContaining('authorizationpolicies/tempo-shop-policy-tempo'),
        'PATCH /api/v1/namespaces/shop/configmaps/tempo-nginx',
      ])
    },
  )
})
