import { describe, expect, test } from 'vitest'
import {
  atEveryWrite,
  configure,
  createCopy,
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
import type { World } from '../../helpers/world.ts'

const ONE = { type: 'app', relation: 'details', endpoints: [] }
const BOTH = [ONE, { ...ONE, service: 'details-rw' }]
const PODS = { type: 'unit', relation: 'details' }

type Mesh = Readonly<Record<string, unknown>>

/** `details` has two Services, and `productpage` uses it. */
const createShop = (delivery: Delivery, mesh: Mesh, policies: readonly unknown[]): Promise<World> =>
  createCopy(JSON.stringify(['shop', delivery, mesh, policies]), delivery, () => makeShop(delivery, mesh, policies))

const makeShop = async (delivery: Delivery, mesh: Mesh, policies: readonly unknown[]): Promise<World> => {
  const world = createPair(delivery)
  world.api.seed([
    {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { name: 'details-rw', namespace: 'shop' },
      spec: { selector: { 'app.kubernetes.io/name': 'details' }, ports: [{ port: 80 }] },
    },
  ])
  await configure(world, 'beacon', { mesh })
  await configure(world, 'details', { policies })
  await tellRelation(world, 'details', USE)
  await tellRelation(world, 'productpage', { ...MESH, id: 3, requirer: 'productpage' })
  return world
}

const TARGETS = [{}, { service: 'details' }, { service: 'details-rw' }]

/** Where `productpage` reaches `details`, without and with the policy that Istio may make for a waypoint. */
const reached = (world: World): string[] =>
  [false, true].flatMap((autoAllow) => {
    const cluster = worldOf(world.api, { autoAllow })
    return TARGETS.filter((to) => passes(cluster, 'productpage', { application: 'details', ...to })).map(
      ({ service = 'pods' }) => `${service}${autoAllow ? ' by Istio' : ''}`,
    )
  })

/** What is reached before and after, and at some moment between is not. */
const refused = async (world: World, act: () => Promise<unknown>): Promise<string[]> => {
  const seen = atEveryWrite(world, () => reached(world))
  await act()
  const kept = (seen[0] ?? []).filter((one) => seen.at(-1)?.includes(one))
  expect(kept).not.toEqual([])
  return kept.filter((one) => !seen.every((moment) => moment.includes(one)))
}

const GUARDS: readonly Mesh[] = [{ guard: 'whenGranted' }, { guard: 'whenGranted', modelOnMesh: true }, {}]
const CASES = DELIVERIES.flatMap((delivery) =>
  GUARDS.flatMap((guard) =>
    [BOTH, [...BOTH, PODS]].map((policies) => ({
      ...{ delivery, guard, policies },
      title: `${JSON.stringify(guard)}, ${policies.length} policies, delivered by: ${delivery}`,
    })),
  ),
).filter(({ guard, policies }) => guard.guard !== undefined || policies.includes(PODS))

describe('a client that is granted two Services before and after is refused at none of them', () => {
  test.each(CASES)(
    'a client that is granted two Services before and after is refused at none of them while the waypoint is switched off: $title',
    async ({ delivery, guard, policies }) => {
      const world = await createShop(delivery, guard, policies)
      await tellRelation(world, 'details', MESH)
      const off = () => configure(world, 'beacon', { mesh: { ...guard, waypoint: false } })
      expect(await refused(world, off)).toEqual([])
    },
  )

  test.each(CASES)(
    'a client that is granted two Services before and after is refused at none of them while the waypoint is switched on: $title',
    async ({ delivery, guard, policies }) => {
      const world = await createShop(delivery, { ...guard, waypoint: false }, policies)
      await tellRelation(world, 'details', MESH)
      const on = async () => {
        await configure(world, 'beacon', { mesh: guard })
        await resync(world, 'beacon') // now the waypoint serves
      }
      expect(await refused(world, on)).toEqual([])
      expect(reached(world).includes('pods')).toBe(policies.includes(PODS))
    },
  )

  test.each(CASES)(
    'a client that is granted two Services before and after is refused at none of them while the application joins the mesh: $title',
    async ({ delivery, guard, policies }) => {
      const world = await createShop(delivery, guard, policies)
      expect(await refused(world, () => tellRelation(world, 'details', MESH))).toEqual([])
    },
  )

  test.each(CASES)(
    'a client that is granted two Services before and after is refused at none of them while the application leaves the mesh: $title',
    async ({ delivery, guard, policies }) => {
      const world = await createShop(delivery, guard, policies)
      await tellRelation(world, 'details', MESH)
      expect(await refused(world, () => endRelation(world, 'details', MESH))).toEqual([])
    },
  )
})
