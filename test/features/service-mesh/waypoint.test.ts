import { describe, expect, test } from 'vitest'
import {
  BEACON,
  configure,
  createMesh,
  edit,
  objectsOf,
  requires,
  WAYPOINT,
  waypoint,
  writes,
} from '../../helpers/beacon-world.ts'
import { createWorld, FORBIDDEN, service, type World } from '../../helpers/world.ts'

const GATEWAYS = '/apis/gateway.networking.k8s.io/v1/namespaces/shop/gateways'
const AUTOSCALERS = '/apis/autoscaling/v2/namespaces/shop/horizontalpodautoscalers'
const OWNER = {
  'app.kubernetes.io/managed-by': 'meshstep',
  'meshstep.dev/application': 'beacon',
  'meshstep.dev/namespace': 'shop',
}
const TELEMETRY = { 'charms.canonical.com/shop.beacon.telemetry': 'aggregated' }

const gateways = (world: World) => objectsOf(world, 'Gateway')
const autoscalers = (world: World) => objectsOf(world, 'HorizontalPodAutoscaler')

/** Lets the Deployment have another status than the embedded API gives it, whose pods are all ready at once. */
const setStatus = (world: World, status: Record<string, unknown>): void => {
  const body = JSON.stringify({ ...waypoint(), status })
  world.intercept = ({ path }) =>
    path.endsWith(`/deployments/${WAYPOINT}`) ? { status: 200, headers: {}, body } : undefined
}

test('a waypoint whose first write is refused is offered by the step that writes it', async () => {
  const world = createMesh(['db'])
  await world.send('relation-changed', requires(1, { application: 'db' }))
  let refused = 0
  world.intercept = ({ method, path }) => {
    if (method !== 'PATCH' || !path.startsWith(GATEWAYS)) return undefined
    refused += 1
    return refused === 1 ? FORBIDDEN : undefined
  }
  await configure(world, { mesh: {} })
  expect(world.labels('db').service).toMatchObject({ 'istio.io/use-waypoint': WAYPOINT })
})

describe('a waypoint that does not serve', () => {
  test.each<[string, number, number | undefined, number | undefined, RegExp]>([
    [
      'whose Deployment is not there',
      1,
      undefined,
      undefined,
      /shop\/shop-beacon-waypoint does not exist: is Istio installed/,
    ],
    ['of which no pod is ready', 1, 0, 1, /0 of 1 pods of Deployment shop\/shop-beacon-waypoint are/],
    ['of which not all pods are ready', 3, 2, 3, /2 of 3 pods/],
    ['that is not scaled out yet', 3, 1, 1, /1 of 3 pods/],
    ['that is scaled to none', 1, 0, 0, /0 of 1 pods/],
  ])('%s: is waited for, without sleeping', async (_, units, ready, replicas, message) => {
    const world = createWorld([service('db'), ...(ready === undefined ? [] : [waypoint()])])
    if (ready !== undefined) setStatus(world, { replicas, readyReplicas: ready })
    const before = world.clock.now()
    expect(await configure(world, { mesh: { units } })).toMatchObject({
      status: 'waiting',
      messages: [expect.stringMatching(message)],
    })
    expect(world.clock.now()).toBe(before)
    expect([gateways(world), autoscalers(world)].map(({ length }) => length)).toEqual([1, 1])
  })

  test('a waypoint that does not serve is looked at again with the next event', async () => {
    const world = createWorld([waypoint()])
    setStatus(world, { replicas: 1 })
    expect((await configure(world, { mesh: {} })).status).toBe('waiting')
    world.intercept = undefined
    world.calls.length = 0
    expect(await world.send('leader-elected', { ...BEACON, unit: 'beacon/0' })).toMatchObject({
      status: 'saved',
      messages: [],
    })
    expect(writes(world)).toEqual([])
  })
})

describe('a waypoint', () => {
  test('a waypoint is a Gateway, and an autoscaler that keeps its number of pods', async () => {
    const world = createWorld([waypoint()])
    expect((await configure(world, { mesh: {} })).status).toBe('changed')
    expect(gateways(world)).toMatchObject([
      {
        apiVersion: 'gateway.networking.k8s.io/v1',
        metadata: {
          name: 'shop-beacon-waypoint',
          namespace: 'shop',
          labels: { ...OWNER, ...TELEMETRY, 'istio.io/waypoint-for': 'service' },
        },
        spec: {
          gatewayClassName: 'istio-waypoint',
          listeners: [
            { name: 'mesh', port: 15_008, protocol: 'HBONE', allowedRoutes: { namespaces: { from: 'All' } } },
          ],
        },
      },
    ])
    expect(autoscalers(world)).toMatchObject([
      {
        metadata: { name: 'shop-beacon-waypoint', labels: { ...OWNER, ...TELEMETRY } },
        spec: {
          scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'shop-beacon-waypoint' },
          minReplicas: 1,
          maxReplicas: 1,
        },
      },
    ])
  })

  test('a waypoint has as many pods as the beacon has units, and is not there for none', async () => {
    const world = createWorld([waypoint(5)])
    for (const units of [1, 3, 5]) {
      expect((await configure(world, { mesh: { units } })).status).toBe('changed')
      expect(autoscalers(world)[0]?.spec).toMatchObject({ minReplicas: units, maxReplicas: units })
    }
    for (const mesh of [{ units: 0 }, { waypoint: false }]) {
      await configure(world, { mesh: { units: 1 } })
      expect(await configure(world, { mesh })).toMatchObject({ status: 'changed', messages: [] })
      expect([...gateways(world), ...autoscalers(world)]).toEqual([])
    }
  })

  test('a waypoint has a name of at most 63 characters, whatever the names of application and namespace', async () => {
    const [namespace, application] = ['n'.repeat(63), 'a'.repeat(63)]
    const world = createWorld([])
    world.api.seed([{ apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } }])
    expect(await configure(world, { mesh: {} }, { namespace, application })).toMatchObject({ conflicts: [] })
    expect(gateways(world).map(({ metadata }) => metadata.name.length)).toEqual([63])
  })

  test('a waypoint is as it should be again after a hand edit, and what others add stays', async () => {
    const world = createWorld([waypoint()])
    await configure(world, { mesh: {} })
    edit(world, `${GATEWAYS}/${WAYPOINT}`, {
      metadata: { labels: { 'istio.io/waypoint-for': 'all', team: 'red' } },
      spec: { gatewayClassName: 'other' },
    })
    edit(world, `${AUTOSCALERS}/${WAYPOINT}`, { spec: { maxReplicas: 9 } })
    world.calls.length = 0
    expect((await world.send('resync', BEACON)).status).toBe('changed')
    expect(writes(world)).toEqual([`PATCH ${GATEWAYS}/${WAYPOINT}`, `PATCH ${AUTOSCALERS}/${WAYPOINT}`])
    expect(gateways(world)).toMatchObject([
      {
        metadata: { labels: { 'istio.io/waypoint-for': 'service', team: 'red' } },
        spec: { gatewayClassName: 'istio-waypoint' },
      },
    ])
    expect(autoscalers(world)[0]?.spec).toMatchObject({ maxReplicas: 1 })
    world.calls.length = 0
    expect((await world.send('resync', BEACON)).status).toBe('unchanged')
    expect(writes(world)).toEqual([])
  })

  test('a waypoint is not written again for what the API server and its controllers add', async () => {
    const world = createWorld([waypoint()])
    await configure(world, { mesh: {} })
    edit(
      world,
      `${GATEWAYS}/${WAYPOINT}`,
      { spec: { addresses: [{ type: 'IPAddress', value: '10.0.0.1' }] } },
      'istiod',
    )
    edit(world, `${AUTOSCALERS}/${WAYPOINT}`, { metadata: { annotations: { seen: 'true' } } }, 'hpa')
    world.calls.length = 0
    expect((await world.send('resync', BEACON)).status).toBe('unchanged')
    expect(writes(world)).toEqual([])
  })

  test.each(['Gateway', 'HorizontalPodAutoscaler'])(
    'of the same name that is somebody else’s is a conflict: %s',
    async (kind) => {
      const apiVersion = kind === 'Gateway' ? 'gateway.networking.k8s.io/v1' : 'autoscaling/v2'
      const spec =
        kind === 'Gateway'
          ? { gatewayClassName: 'theirs', listeners: [{ name: 'a', port: 1, protocol: 'TCP' }] }
          : { maxReplicas: 7, scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'theirs' } }
      const world = createWorld([
        waypoint(),
        { apiVersion, kind, metadata: { name: WAYPOINT, namespace: 'shop' }, spec },
      ])
      const before = objectsOf(world, kind)
      expect(await configure(world, { mesh: {} })).toMatchObject({
        status: 'conflict',
        conflicts: [{ object: `${kind} shop/${WAYPOINT}`, manager: 'juju' }],
      })
      expect(objectsOf(world, kind)).toEqual(before)
      await world.send('application-removed', BEACON)
      expect(objectsOf(world, kind)).toEqual(before)
    },
  )
})

describe('what somebody adds to a waypoint is told until it is gone', () => {
  const OTHER = { name: 'other', port: 1, protocol: 'HBONE' }
  const GATEWAY_OBJECT = `Gateway shop/${WAYPOINT}`
  const AUTOSCALER_OBJECT = `HorizontalPodAutoscaler shop/${WAYPOINT}`
  const listeners = (world: World) =>
    gateways(world).flatMap(({ spec = {} }) => spec.listeners as { readonly name: string }[])

  const createWaypoint = async () => {
    const world = createWorld([waypoint()])
    await configure(world, { mesh: {} })
    return world
  }

  test('a listener in the place of ours, which is back at once', async () => {
    const world = await createWaypoint()
    edit(world, `${GATEWAYS}/${WAYPOINT}`, { spec: { listeners: [OTHER] } })
    for (const _ of [1, 2]) {
      expect(await world.send('resync', BEACON)).toMatchObject({
        status: 'conflict',
        conflicts: [{ object: GATEWAY_OBJECT, manager: 'kubectl-edit', key: 'spec' }],
      })
      expect(listeners(world).map(({ name }) => name)).toEqual(expect.arrayContaining(['mesh', 'other']))
    }
    const ours = listeners(world).filter(({ name }) => name === 'mesh')
    edit(world, `${GATEWAYS}/${WAYPOINT}`, { spec: { listeners: ours } })
    expect(await world.send('resync', BEACON)).toMatchObject({ status: 'unchanged', conflicts: [] })
  })

  test.each<[string, string, Record<string, unknown>, Record<string, unknown>]>([
    [
      'labels of its pods',
      `${GATEWAYS}/${WAYPOINT}`,
      { infrastructure: { labels: { a: 'b' } } },
      { infrastructure: null },
    ],
    [
      'a behavior',
      `${AUTOSCALERS}/${WAYPOINT}`,
      { behavior: { scaleUp: { selectPolicy: 'Disabled' } } },
      { behavior: null },
    ],
  ])('%s', async (_, where, added, gone) => {
    const world = await createWaypoint()
    edit(world, where, { spec: added })
    const object = where.startsWith(GATEWAYS) ? GATEWAY_OBJECT : AUTOSCALER_OBJECT
    expect(await world.send('resync', BEACON)).toMatchObject({
      status: 'conflict',
      conflicts: [{ object, manager: 'kubectl-edit', key: 'spec' }],
    })
    edit(world, where, { spec: gone })
    expect(await world.send('resync', BEACON)).toMatchObject({ status: 'unchanged', conflicts: [] })
  })

  test('what somebody adds to a waypoint is told until it is gone, but not annotations, nor a status', async () => {
    const world = await createWaypoint()
    edit(world, `${GATEWAYS}/${WAYPOINT}`, { metadata: { annotations: { seen: 'yes' } } })
    const addresses = [{ type: 'IPAddress', value: '10.0.0.1' }]
    edit(world, `${GATEWAYS}/${WAYPOINT}/status`, { status: { addresses } }, 'istio')
    expect(await world.send('resync', BEACON)).toMatchObject({ status: 'unchanged', conflicts: [] })
    expect(gateways(world)).toMatchObject([{ status: { addresses } }])
  })
})
