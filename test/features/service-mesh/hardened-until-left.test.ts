import { expect, test } from 'vitest'
import {
  atEveryWrite,
  configure,
  createPair,
  DELIVERIES,
  MESH,
  resync,
  tellRelation,
  USE,
} from '../../core/relations/pair.ts'
import { passes, worldOf } from '../../helpers/safety.ts'
import { FORBIDDEN, type World } from '../../helpers/world.ts'

const ROOT = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'istio-system' } }

/** A hardened mesh with `details`, whose pods alone are guarded, and `productpage`, which may reach them. */
const createShop = async (delivery: (typeof DELIVERIES)[number]): Promise<World> => {
  const world = createPair(delivery)
  world.api.seed([ROOT])
  await configure(world, 'beacon', { mesh: { hardened: true } })
  await configure(world, 'details', { policies: [{ type: 'unit', relation: 'details' }] })
  await tellRelation(world, 'details', USE)
  await tellRelation(world, 'details', MESH)
  await tellRelation(world, 'productpage', { ...MESH, id: 3, requirer: 'productpage' })
  return world
}

const strangers = (world: World): string[] => {
  const cluster = worldOf(world.api, { autoAllow: false })
  const targets = [{ application: 'details' }, { application: 'details', service: 'details' }]
  return targets.filter((to) => passes(cluster, 'stranger', to)).map((to) => to.service ?? 'pods')
}

const denies = (world: World): string[] =>
  world.api
    .objects()
    .filter(({ kind, metadata }) => kind === 'AuthorizationPolicy' && metadata.namespace === 'istio-system')
    .map(({ metadata }) => metadata.name)

const WITHOUT = [{ waypoint: false }, { units: 0 }]

test.each(DELIVERIES.flatMap((delivery) => WITHOUT.map((mesh) => ({ delivery, mesh }))))(
  'a mesh that is hardened no longer, and has no waypoint any more, opens nothing that pods close: $mesh, delivered by: $delivery',
  async ({ delivery, mesh }) => {
    const world = await createShop(delivery)
    const seen = atEveryWrite(world, () => strangers(world))
    await configure(world, 'beacon', { mesh })
    expect([seen, denies(world)]).toEqual([[[]], []])
  },
)

test('a mesh stays hardened while a Service leads to the waypoint that is to go, and no longer', async () => {
  const world = await createShop('own sink')
  world.intercept = ({ method, path }) =>
    method === 'PATCH' && path.includes('/services/details') ? FORBIDDEN : undefined
  const seen = atEveryWrite(world, () => strangers(world))
  await configure(world, 'beacon', { mesh: { waypoint: false } })
  expect(denies(world)).toHaveLength(2)
  expect(await resync(world, 'beacon')).toMatchObject({
    status: 'waiting',
    messages: expect.arrayContaining([expect.stringContaining('waiting for shop/details')]),
  })
  world.intercept = undefined
  await resync(world, 'details')
  expect([seen, denies(world)]).toEqual([[[]], []])
})
