import { expect, test } from 'vitest'
import type { KubernetesObject } from '../../../src/platform/kubernetes/objects.ts'
import { relationsById } from '../../helpers/relations.ts'
import type { World } from '../../helpers/world.ts'
import {
  applyDocument,
  atEveryWrite,
  BEACON_CONFIG,
  configDocument,
  configure,
  createPair,
  deleteDocument,
  deliver,
  isOnMesh,
  MESH,
  relationDocument,
  resync,
} from './pair.ts'

const renamed = (name: string, object: KubernetesObject): KubernetesObject => ({
  ...object,
  metadata: { ...object.metadata, name },
})

const FIRST = relationDocument('details', MESH)
const OTHER_ENDPOINT = renamed('another', relationDocument('details', { ...MESH, endpoint: 'second-mesh' }))

const joined = async (): Promise<World> => {
  const world = createPair()
  await configure(world, 'beacon', BEACON_CONFIG)
  await deliver(world, [applyDocument(world, configDocument('details')), applyDocument(world, FIRST)])
  expect(isOnMesh(world, 'details')).toBe(true)
  return world
}

const memoryOf = (world: World) => {
  const { config, document, ...state } = world.memory('details')?.state ?? {}
  return { config, document, relation: relationsById(state)[1] }
}

const RIVALS = [
  ['one relation', OTHER_ENDPOINT, 'ConfigMap relation-1 declares relation 1 (second-mesh)'],
  [
    'the config of an application',
    renamed('another', configDocument('details', { labels: { tier: 'gold' } })),
    'ConfigMap details-config declares the config of details',
  ],
] as const

test.each(RIVALS)(
  'of two documents that declare %s differently the second changes nothing, and says so at each resync',
  async (_, rival, problem) => {
    const world = await joined()
    const before = memoryOf(world)
    await deliver(world, [applyDocument(world, rival)])
    const seen = atEveryWrite(world, () => memoryOf(world))
    for (let count = 0; count < 3; count += 1) {
      const { messages } = await resync(world, 'details')
      expect(messages.join()).toContain(`ConfigMap another: ${problem} differently`)
    }
    expect(seen).toHaveLength(1)
    expect(memoryOf(world)).toEqual(before)
  },
)

test('a document that another one contradicted counts once that is deleted', async () => {
  const world = await joined()
  await deliver(world, [applyDocument(world, OTHER_ENDPOINT), deleteDocument(world, FIRST)])
  expect(memoryOf(world).relation).toMatchObject({
    endpoint: 'second-mesh',
    document: 'another',
    status: 'established',
  })
  expect(isOnMesh(world, 'details')).toBe(true)
})
