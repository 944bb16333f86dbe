import { describe, expect, test } from 'vitest'
import { application, ON_MESH } from '../helpers/mesh.ts'
import type { World } from '../helpers/world.ts'
import { configure, createPair, MESH, say, startPair, tellRelation } from './pair.ts'

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
  test('puts nothing on a mesh', async () => {
    const world = createPair()
    await configure(world, 'details', {})
    await takeOver(world, 0)
    await say(world, 'resync', { application: 'details' })
    expect(world.labels('details').template).not.toMatchObject(ON_MESH)
  })

  test.each([0, 99])('takes no waypoint over, with the id %i', async (id) => {
    const world = await startPair(createPair())
    await tellRelation(world, 'details', MESH)
    const before = world.labels('details')
    expect(before.template).toMatchObject({ 'istio.io/use-waypoint': 'shop-beacon-waypoint' })
    await takeOver(world, id)
    await say(world, 'resync', { application: 'details' })
    expect(world.labels('details')).toEqual(before)
  })
})
