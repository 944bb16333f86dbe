import { describe, expect, test } from 'vitest'
import { application, ON_MESH } from '../../helpers/mesh.ts'
import type { World } from '../../helpers/world.ts'
import {
  calm,
  configure,
  createPair,
  createStarted,
  isOffMesh,
  loseMemory,
  MESH,
  now,
  say,
  tellRelation,
} from './pair.ts'

const BANK = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'bank' } }

/** A beacon of another namespace that is told, there alone, of a relation with `details` of this one. */
const takeOver = async (world: World, id: number) => {
  const subject = { namespace: 'bank', application: 'thief' }
  world.api.seed([BANK, ...application('thief', { namespace: 'bank' })])
  await say(world, 'config-changed', { ...subject, config: { mesh: {} } })
  await say(world, 'relation-changed', {
    ...subject,
    relation: { id, endpoint: 'service-mesh', interface: 'service_mesh', role: 'provides' },
    remote: { application: 'details', namespace: 'shop', endpoint: 'service-mesh', data: {} },
  })
}

describe('a relation that the other namespace alone was told of', () => {
  test('a relation that the other namespace alone was told of puts nothing on a mesh', async () => {
    const world = createPair()
    await configure(world, 'details', {})
    await takeOver(world, 0)
    await say(world, 'resync', { application: 'details' })
    expect(world.labels('details').template).not.toMatchObject(ON_MESH)
  })

  test.each([0, 99])(
    'a relation that the other namespace alone was told of takes no waypoint over, with the id %i',
    async (id) => {
      const world = await createStarted()
      await tellRelation(world, 'details', MESH)
      const before = world.labels('details')
      expect(before.template).toMatchObject({ 'istio.io/use-waypoint': 'shop-beacon-waypoint' })
      await takeOver(world, id)
      await say(world, 'resync', { application: 'details' })
      expect(world.labels('details')).toEqual(before)
    },
  )
})

describe('a consumer of a beacon of another namespace that lost its memory', () => {
  const BEACON = { application: 'beacon', namespace: 'bank' }

  const lostWorld = async (): Promise<World> => {
    const world = createPair()
    world.api.seed([BANK], { manager: 'kubectl' })
    await say(world, 'config-changed', { ...BEACON, config: { mesh: {} } })
    await say(world, 'relation-changed', {
      ...BEACON,
      relation: { id: 3, endpoint: 'service-mesh', interface: 'service_mesh', role: 'provides' },
      remote: { application: 'details', namespace: 'shop', endpoint: 'service-mesh', data: {} },
    })
    await say(world, 'relation-changed', {
      application: 'details',
      relation: { id: 7, endpoint: 'service-mesh', interface: 'service_mesh', role: 'requires' },
      remote: { ...BEACON, endpoint: 'service-mesh', data: {} },
    })
    expect(world.labels('details').template).toMatchObject({ 'istio.io/use-waypoint': 'bank-beacon-waypoint' })
    loseMemory(world, 'details')
    return world
  }

  const end = (world: World, remote: object) =>
    say(
      world,
      'relation-broken',
      { application: 'details', relation: { id: 7, interface: 'service_mesh' }, remote },
      now(world),
    )

  test('a consumer of a beacon of another namespace that lost its memory leaves the mesh at the end of its relation that names the beacon', async () => {
    const world = await lostWorld()
    await end(world, BEACON)
    expect(isOffMesh(world, 'details')).toBe(true)
  })

  test('a consumer of a beacon of another namespace that lost its memory stays where it is at the end of a relation with a namesake of its own namespace', async () => {
    const world = await lostWorld()
    await end(world, { application: 'beacon', namespace: 'shop' })
    await say(world, 'resync', {})
    expect(isOffMesh(world, 'details')).toBe(false)
  })

  test('a consumer of a beacon of another namespace that lost its memory does not come back by what was told before that end', async () => {
    const world = await lostWorld()
    const early = now(world)
    await end(world, BEACON)
    await say(
      world,
      'relation-changed',
      {
        application: 'details',
        relation: { id: 7, endpoint: 'service-mesh', interface: 'service_mesh', role: 'requires' },
        remote: { ...BEACON, endpoint: 'service-mesh', data: {} },
      },
      early,
    )
    expect(isOffMesh(world, 'details')).toBe(true)
  })

  test('a consumer of a beacon of another namespace that lost its memory says nothing of its end to a namesake of the beacon', async () => {
    const world = await lostWorld()
    await end(world, BEACON)
    await configure(world, 'beacon', { mesh: {} })
    await say(world, 'resync', {})
    expect(world.memory('beacon')?.state.relations).toEqual({})
  })
})

test('an application that was removed and is back does not tell a client of another namespace with each event that their relation is over', async () => {
  const world = createPair()
  world.api.seed([BANK], { manager: 'kubectl' })
  const naming = (side: 'provider' | 'requirer') => {
    const [own, remote] =
      side === 'provider'
        ? [{ application: 'details' }, { application: 'orders', namespace: 'bank' }]
        : [
            { application: 'orders', namespace: 'bank' },
            { application: 'details', namespace: 'shop' },
          ]
    const endpoints = ['provide-cmr-mesh', 'require-cmr-mesh']
    const [endpoint, other] = side === 'provider' ? endpoints : endpoints.toReversed()
    const role = side === 'provider' ? 'provides' : 'requires'
    return {
      ...own,
      relation: { id: 33, endpoint, interface: 'cross_model_mesh', role },
      remote: { ...remote, endpoint: other, data: {} },
    }
  }
  await say(world, 'relation-changed', naming('provider'))
  await say(world, 'relation-changed', naming('requirer'))
  await say(world, 'application-removed', { application: 'details' }, now(world))
  await configure(world, 'details', {}, now(world))
  await say(world, 'relation-changed', naming('requirer'), now(world))
  const sent: number[] = []
  for (const port of [1, 2, 3]) {
    const policies = [{ type: 'unit', relation: 'x', ports: [port] }]
    await world.send('config-changed', { application: 'details', config: { policies } }, now(world))
    sent.push(await calm(world))
  }
  expect(sent).toEqual([0, 0, 0])
})
