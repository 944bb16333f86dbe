import { setImmediate as turn } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { relationsById } from '../../helpers/relations.ts'
import {
  createWorld,
  event,
  isWrite,
  MESH_LABELS,
  meshRelation,
  service,
  type World,
  workload,
} from '../../helpers/world.ts'

const MEMORY = '/api/v1/namespaces/shop/configmaps'
const NAMED = `${MEMORY}/juju-service-mesh-web-labels`
const STATEFULSET = '/apis/apps/v1/namespaces/shop/statefulsets/web'
const BEACON = `${MEMORY}/juju-service-mesh-beacon-labels`
const SERVICE = '/api/v1/namespaces/shop/services/web'
/** A redelivery has the source and the id of the first delivery. */
const SAME = { id: 'same' }

const MANAGER = 'fieldManager=meshstep%2Fweb'

/** How often a call is made while none is on its way. */
const countTrips = async (world: World, act: () => Promise<unknown>): Promise<number> => {
  world.calls.length = 0
  let [inFlight, trips] = [0, 0]
  world.intercept = async () => {
    if (inFlight === 0) trips += 1
    inFlight += 1
    await turn()
    inFlight -= 1
    return undefined
  }
  await act()
  return trips
}

const LATER_MILLISECONDS = 10_000

describe('the calls of a step', () => {
  test.each([
    ['a StatefulSet', 'StatefulSet', 'statefulsets'],
    ['a Deployment', 'Deployment', 'deployments'],
  ] as const)('nothing to do, %s: 5 reads, the memory first, no write', async (_, kind, plural) => {
    const world = createWorld([workload(kind), service()])
    await world.send('relation-changed', meshRelation(), SAME)
    const trips = await countTrips(world, () => world.send('relation-changed', meshRelation(), SAME))
    expect(world.calls.toSorted()).toEqual([
      `GET ${BEACON}`,
      `GET ${NAMED}`,
      `GET ${SERVICE}`,
      `GET /apis/apps/v1/namespaces/shop/${plural}/web`,
      expect.stringContaining('GET /apis/security.istio.io/v1/namespaces/shop/authorizationpolicies?'),
    ])
    expect(trips).toBe(2)
  })

  test('what is told again, as another event: 1 write more, that it was told', async () => {
    const world = createWorld()
    for (const _ of [1, 2]) {
      world.calls.length = 0
      await world.send('relation-changed', meshRelation())
    }
    expect(world.calls).toHaveLength(6)
    expect(world.calls.filter(isWrite)).toEqual([`PUT ${NAMED}?fieldManager=meshstep`])
  })

  test('first join: 12, and 2 to remember that the beacon was told', async () => {
    const world = createWorld()
    await world.send('relation-changed', meshRelation())
    expect(world.calls).toEqual([
      `GET ${NAMED}`,
      `GET ${STATEFULSET}`,
      `GET ${SERVICE}`,
      // of the memories are kept those that the documents name
      expect.stringContaining(`GET ${MEMORY}?labelSelector=meshstep.dev%2Fkind`),
      expect.stringContaining(`GET ${MEMORY}?labelSelector=app.kubernetes.io`),
      expect.stringContaining('GET /apis/security.istio.io/v1/namespaces/shop/authorizationpolicies?'),
      `POST ${MEMORY}?fieldManager=meshstep`,
      `GET ${BEACON}`,
      // pods are restarted only by whoever was not overtaken, which is looked at while the Service is written
      `GET ${NAMED}`,
      `PATCH ${SERVICE}?${MANAGER}`,
      `PATCH ${STATEFULSET}?${MANAGER}`,
      `PUT ${NAMED}?fieldManager=meshstep`,
      `GET ${NAMED}`,
      `PUT ${NAMED}?fieldManager=meshstep`,
    ])
  })

  test('first join of a Deployment: 15', async () => {
    const world = createWorld([workload('Deployment'), service()])
    await world.send('relation-changed', meshRelation())
    expect(world.calls).toHaveLength(15)
  })

  test('its data change: 9, in 5 round trips, as labels that stay are written side by side', async () => {
    const world = createWorld()
    await world.send('relation-changed', meshRelation())
    await world.clock.sleep(LATER_MILLISECONDS)
    expect(
      await countTrips(world, () =>
        world.send('relation-changed', meshRelation({ ...MESH_LABELS, 'istio.io/use-waypoint': 'another' })),
      ),
    ).toBe(5)
    expect(world.calls).toHaveLength(9)
  })

  test('its data change soon after another write: 10, as others may write as well', async () => {
    const world = createWorld()
    await world.send('relation-changed', meshRelation())
    world.calls.length = 0
    await world.send('relation-changed', meshRelation({ ...MESH_LABELS, 'istio.io/use-waypoint': 'another' }))
    expect(world.calls).toHaveLength(10)
  })

  test.each([
    ['no pods', 0, 10, 6],
    ['a pod, which is looked at before the Service lets go of it', 1, 11, 6],
  ])('the calls of a step leave with %s', async (_, replicas, calls, trips) => {
    const { spec, ...rest } = workload()
    const world = createWorld([{ ...rest, spec: { ...spec, replicas } }, service()])
    await world.clock.sleep(LATER_MILLISECONDS)
    await world.send('relation-changed', meshRelation())
    await world.clock.sleep(LATER_MILLISECONDS)
    // two to remember that the beacon was told
    expect(await countTrips(world, () => world.send('relation-broken', { relation: { id: 7 } }))).toBe(trips + 3)
    expect(world.calls).toHaveLength(calls + 2)
  })

  test('the own labels of an application that offers others: 13, as no offer rests on them', async () => {
    const world = createWorld()
    const relation = { id: 9, endpoint: 'mesh', interface: 'service_mesh', role: 'provides' }
    await world.send('config-changed', { config: { mesh: {} } })
    await world.send('relation-changed', { relation, remote: { application: 'api', data: {} } })
    for (const [type, data] of [
      ['resync', {}],
      ['config-changed', { config: { mesh: {}, labels: { tier: 'red' } } }],
    ] as const) {
      await world.clock.sleep(LATER_MILLISECONDS)
      world.calls.length = 0
      await world.send(type, data)
    }
    expect(world.calls).toHaveLength(13)
  })

  test('a pod of an application that is not known: reads alone', async () => {
    const world = createWorld()
    await world.send('pod-restarted', { pod: { name: 'web-0', uid: 'u' } })
    expect(world.calls.filter(isWrite)).toEqual([])
  })

  test('events that wait for the same application share a step', async () => {
    const world = createWorld()
    const events = [1, 2, 3, 4, 5].map((id) =>
      event('relation-changed', meshRelation({ 'istio.io/use-waypoint': `way-${id}` }, 6 - id)),
    )
    const statuses = await Promise.all(events.map(async (one) => (await world.post(one)).status))
    expect(statuses).toEqual([200, 200, 200, 200, 200])
    expect(Object.keys(relationsById(world.memory()?.state))).toEqual(['1', '2', '3', '4', '5'])
    expect(world.memory()?.labels).toEqual({ 'istio.io/use-waypoint': 'way-5' })
    expect(world.calls.filter((call) => call.startsWith('PATCH'))).toHaveLength(2)
  })

  test('one that is refused does not take the others with it', async () => {
    const world = createWorld()
    const large = { application: 'web', config: { labels: { x: 'x'.repeat(1_000_000) } } }
    const [first, second, third] = await Promise.all([
      world.post(event('relation-changed', meshRelation({ 'istio.io/use-waypoint': '1' }, 1))),
      world.post(event('config-changed', large)),
      world.post(event('relation-changed', meshRelation({ 'istio.io/use-waypoint-namespace': '3' }, 3))),
    ])
    expect([first?.status, second?.status, third?.status]).toEqual([200, 413, 200])
    expect(world.memory()?.labels).toEqual({ 'istio.io/use-waypoint': '1', 'istio.io/use-waypoint-namespace': '3' })
  })

  test('what fits together is measured together, and none of it is refused', async () => {
    const world = createWorld()
    const responses = await Promise.all(
      [1, 1_000_000, 2].map((length) =>
        world.post(event('config-changed', { application: 'web', config: { labels: { x: 'x'.repeat(length) } } })),
      ),
    )
    expect(responses.map(({ status }) => status)).toEqual([200, 200, 200])
    expect(world.memory()?.labels).toEqual({ x: 'xx' })
  })
})
