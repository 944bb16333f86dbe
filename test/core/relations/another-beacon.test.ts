import { describe, expect, test } from 'vitest'
import type { KubernetesObject } from '../../../src/platform/kubernetes/objects.ts'
import type { World } from '../../helpers/world.ts'
import {
  BEACON_CONFIG,
  configure,
  createPair,
  createStarted,
  effects,
  endRelation,
  loseMemory,
  MESH,
  type Related,
  resync,
  say,
  startPair,
  tellRelation,
  WORKING,
} from './pair.ts'

/** The relation of `details` with a beacon that is not the one whose labels it carries. */
const OTHER: Related = { ...MESH, id: 9, provider: 'other' }

const memoryOf = (world: World, name: string): KubernetesObject | undefined =>
  world.object('ConfigMap', `juju-service-mesh-${name}-labels`)

const editMemory = (world: World, name: string, edit: (state: string) => string) =>
  world.api.handle({
    method: 'PATCH',
    path: `/api/v1/namespaces/shop/configmaps/juju-service-mesh-${name}-labels?fieldManager=test`,
    headers: { 'content-type': 'application/merge-patch+json' },
    body: JSON.stringify({ data: { state: edit(memoryOf(world, name)?.data?.state ?? '') } }),
  })

/** How the memory of the other beacon comes to say that its relation with details is over. */
const ENDS: readonly (readonly [string, (world: World) => Promise<unknown>])[] = [
  [
    'which that beacon alone was told of',
    (world) =>
      say(world, 'relation-broken', {
        application: 'other',
        relation: { id: OTHER.id, interface: 'service_mesh' },
        remote: { application: 'details' },
      }),
  ],
  [
    'which that beacon has not forgotten yet',
    async (world) => {
      await tellRelation(world, 'other', OTHER)
      const told = memoryOf(world, 'other')?.data?.state ?? ''
      await endRelation(world, 'details', OTHER)
      editMemory(world, 'other', () => told.replaceAll('"word":"told"', '"word":"ended"'))
    },
  ],
]

describe.each(ENDS)('the end of a relation with another beacon, %s', (_, end) => {
  const lostWorld = async (): Promise<World> => {
    const world = createPair()
    await configure(world, 'other', BEACON_CONFIG)
    await end(world)
    await startPair(world)
    expect(effects(world)).toEqual(WORKING)
    for (const name of ['details', 'beacon']) loseMemory(world, name)
    return world
  }

  test('the end of a relation with another beacon takes details off no mesh when its memory and that of its beacon are lost', async () => {
    const world = await lostWorld()
    for (const name of ['details', undefined, 'other', 'details']) {
      await resync(world, name)
      expect(effects(world)).toEqual(WORKING)
    }
  })

  test('the end of a relation with another beacon leaves it where it is until its own relation is told, and over', async () => {
    const world = await lostWorld()
    await resync(world, 'details')
    await startPair(world)
    expect(effects(world)).toEqual(WORKING)
    await endRelation(world, 'details', MESH)
    expect(effects(world).mesh).toBe('off')
  })
})

test.each([['details'], ['beacon'], [undefined]])(
  'an end that the beacon alone was told of after both memories were lost is heard with a resync of %s',
  async (name) => {
    const world = await createStarted()
    for (const lost of ['details', 'beacon']) loseMemory(world, lost)
    await configure(world, 'details', {})
    await say(world, 'relation-broken', {
      application: 'beacon',
      relation: { id: MESH.id, interface: 'service_mesh' },
      remote: { application: 'details' },
    })
    expect(effects(world).mesh).toBe('on')
    if (name === 'beacon') await configure(world, 'beacon', BEACON_CONFIG)
    await resync(world, name === 'beacon' ? undefined : name)
    expect(effects(world).mesh).toBe('off')
  },
)
