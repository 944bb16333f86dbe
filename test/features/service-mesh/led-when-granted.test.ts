import { expect, test } from 'vitest'
import {
  atEveryWrite,
  calm,
  configure,
  createPair,
  DELIVERIES,
  type Delivery,
  endRelation,
  MESH,
  resync,
  tellRelation,
  USE,
} from '../../core/relations/pair.ts'
import { passes, worldOf } from '../../helpers/safety.ts'
import { FORBIDDEN, type World } from '../../helpers/world.ts'

/** Its Service `details` alone is named. */
const ONE = { type: 'app', relation: 'details', endpoints: [] }
/** So is `details-rw`, for reading. */
const NAMED = { ...ONE, service: 'details-rw', endpoints: [{ methods: ['GET'] }] }
const PODS = { type: 'unit', relation: 'details' }

/** `details` has two Services, and `productpage` uses it; both are on the mesh. */
const createShop = async (policies: readonly unknown[], delivery: Delivery = 'broker'): Promise<World> => {
  const world = createPair(delivery)
  world.api.seed([
    {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { name: 'details-rw', namespace: 'shop' },
      spec: { selector: { 'app.kubernetes.io/name': 'details' }, ports: [{ port: 80 }] },
    },
  ])
  await configure(world, 'beacon', { mesh: {} })
  await configure(world, 'details', { policies })
  await tellRelation(world, 'details', USE)
  await tellRelation(world, 'details', MESH)
  await tellRelation(world, 'productpage', { ...MESH, id: 3, requirer: 'productpage' })
  return world
}

/** Who reaches `details-rw` to read and to write. */
const readers = (world: World, methods: readonly string[] = ['GET', 'POST']): string[] => {
  const cluster = worldOf(world.api, { autoAllow: false })
  const to = { application: 'details', service: 'details-rw' }
  return ['productpage', 'stranger'].flatMap((from) =>
    methods.filter((method) => passes(cluster, from, to, { method })).map((method) => `${from} ${method}`),
  )
}

const isLed = (world: World): boolean =>
  world.object('Service', 'details-rw')?.metadata.labels?.['istio.io/use-waypoint'] !== undefined

const refusePolicies = (world: World): void => {
  world.intercept = ({ method, path }) =>
    method !== 'GET' && path.includes('/authorizationpolicies') ? FORBIDDEN : undefined
}

test.each(DELIVERIES)(
  'a Service that a policy names is led to the waypoint once the policy stands, delivered by: %s',
  async (delivery) => {
    const world = await createShop([ONE], delivery)
    const seen = atEveryWrite(world, () => readers(world))
    await configure(world, 'details', { policies: [ONE, NAMED] })
    expect(seen).toEqual([[], ['productpage GET']])
  },
)

test('a Service whose policy is refused stays as it is, and the answer says what it waits for', async () => {
  const world = await createShop([ONE])
  const seen = atEveryWrite(world, () => readers(world))
  refusePolicies(world)
  await configure(world, 'details', { policies: [ONE, NAMED] })
  expect(await resync(world, 'details')).toMatchObject({
    status: 'waiting',
    messages: expect.arrayContaining([expect.stringContaining('the labels of Service shop/details-rw wait for')]),
  })
  expect(seen).toEqual([[]])
  world.intercept = undefined
  await resync(world, 'beacon')
  expect(seen).toEqual([[], ['productpage GET']])
})

test.each(DELIVERIES)(
  'a Service that no policy names any more is let go of once its pods let in who used it, delivered by: %s',
  async (delivery) => {
    const world = await createShop([ONE, NAMED], delivery)
    const seen = atEveryWrite(world, () => readers(world, ['GET']))
    await configure(world, 'details', { policies: [ONE, PODS] })
    expect(isLed(world)).toBe(false)
    expect(seen).toEqual([['productpage GET']])
    expect(world.object('AuthorizationPolicy', 'details-rw')).toBeUndefined()
    expect(JSON.stringify(world.api.objects().filter(({ kind }) => kind === 'AuthorizationPolicy'))).not.toContain(
      'details-rw',
    )
  },
)

test('a Service that no policy names any more stays guarded while its pods do not let in who used it', async () => {
  const world = await createShop([ONE, NAMED])
  refusePolicies(world)
  const seen = atEveryWrite(world, () => readers(world))
  await configure(world, 'details', { policies: [ONE, PODS] })
  expect(isLed(world)).toBe(true)
  expect(await resync(world, 'details')).toMatchObject({
    status: 'waiting',
    messages: expect.arrayContaining([expect.stringContaining('the labels of Service shop/details-rw wait for')]),
  })
  world.intercept = undefined
  await resync(world, 'details')
  expect(isLed(world)).toBe(false)
  expect(seen).toEqual([['productpage GET'], ['productpage GET', 'productpage POST']])
})

test('a Service that cannot be let go of stays guarded until it is', async () => {
  const world = await createShop([ONE, NAMED])
  world.intercept = ({ method, path }) =>
    method === 'PATCH' && path.includes('/services/details-rw') ? FORBIDDEN : undefined
  await configure(world, 'details', { policies: [ONE] })
  expect(readers(world)).toEqual(['productpage GET'])
  await endRelation(world, 'details', USE)
  world.intercept = undefined
  await resync(world, 'details')
  await calm(world)
  expect([isLed(world), readers(world)]).toEqual([false, []])
})
