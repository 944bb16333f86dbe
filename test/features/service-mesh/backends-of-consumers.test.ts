import { describe, expect, test } from 'vitest'
import { BEACON, configure, createMesh, objectsOf, requires } from '../../helpers/beacon-world.ts'
import { FORBIDDEN, isWrite, type World } from '../../helpers/world.ts'

const DB = { application: 'db' }
const INGRESS = 'db-beacon-shop-l4'
const BACKENDS = [{ application: 'db', ports: [80] }]

/** `db` is on the mesh, and nothing guards its pods. */
const createShop = async (mesh: Record<string, unknown> = {}): Promise<World> => {
  const world = createMesh(['db'])
  await configure(world, { mesh })
  await world.send('relation-changed', requires(7, DB))
  return world
}

/** The policies of the pods: that of the ingress, and the guard that admits the waypoint. */
const policies = (world: World): string[] =>
  objectsOf(world, 'AuthorizationPolicy').map(({ metadata }) => (metadata.name === INGRESS ? 'ingress' : 'guard'))

/** Runs `act`, and lists what stood at the pods, wherever the ingress was admitted and the waypoint was not. */
const refused = async (world: World, act: () => Promise<unknown>): Promise<string[][]> => {
  const seen: string[][] = []
  const stop = world.api.subscribe(() => {
    const standing = policies(world)
    if (standing.includes('ingress') && !standing.includes('guard')) seen.push(standing)
  })
  await act()
  stop()
  return seen
}

const refuse = (world: World, verb: string, name: string): void => {
  world.intercept = ({ method, path }) => (method === verb && path.includes(name) ? FORBIDDEN : undefined)
}

describe('a consumer that becomes a backend of the ingress', () => {
  test('admits the waypoint at its pods before the ingress is admitted there, and still when it is not any more', async () => {
    const world = await createShop()
    const comes = await refused(world, () => configure(world, { mesh: { backends: BACKENDS } }))
    expect([comes, policies(world)]).toEqual([[], ['guard', 'ingress']])
    const goes = await refused(world, () => configure(world, { mesh: {} }))
    expect([goes, policies(world)]).toEqual([[], []])
    world.calls.length = 0
    await world.send('resync', { application: undefined })
    expect(world.calls.filter(isWrite)).toEqual([])
  })

  test('is not reached by the ingress while its own policy is refused, and the beacon says so', async () => {
    const world = await createShop()
    refuse(world, 'PATCH', 'beacon-shop-policy-db')
    await configure(world, { mesh: { backends: BACKENDS } })
    expect(await world.send('resync', BEACON)).toMatchObject({
      status: 'waiting',
      messages: ['the policy that lets the ingress reach shop/db waits for the policies of shop/db'],
    })
    expect(policies(world)).toEqual([])
    world.intercept = undefined
    await world.send('resync', DB)
    expect(policies(world)).toEqual(['guard', 'ingress'])
  })

  test('keeps its guard while the policy that admits the ingress cannot be removed', async () => {
    const world = await createShop({ backends: BACKENDS })
    refuse(world, 'DELETE', INGRESS)
    await configure(world, { mesh: {} })
    await world.send('resync', { application: undefined })
    expect(policies(world)).toEqual(['guard', 'ingress'])
    world.intercept = undefined
    await world.send('resync', BEACON)
    expect(policies(world)).toEqual([])
  })

  test('stays reached by the ingress while its beacon offers something else anew', async () => {
    const world = await createShop({ backends: BACKENDS })
    refuse(world, 'PATCH', 'beacon-shop-policy-db')
    const goes = await refused(world, () =>
      configure(world, { mesh: { backends: BACKENDS, trustDomain: 'example.org' } }),
    )
    expect([goes, policies(world)]).toEqual([[], ['guard', 'ingress']])
  })
})
