import { describe, expect, test } from 'vitest'
import {
  ask,
  BEACON,
  configure,
  createMesh,
  policiesOf,
  requires,
  sourcesOf,
  wire,
} from '../../helpers/beacon-world.ts'
import type { World } from '../../helpers/world.ts'

const DB = { application: 'db' }
const ON_THE_MESH = { 'istio.io/dataplane-mode': 'ambient' }

const templateOf = (world: World): unknown =>
  world.api.objects().find(({ kind, metadata }) => kind === 'StatefulSet' && metadata.name === 'db')?.spec?.template

const tell = (world: World, data: Record<string, unknown>) => {
  const relation = requires(7, DB) as { remote: object }
  return world.send('relation-changed', { ...relation, remote: { ...relation.remote, data } })
}

test.each([{}, { labels: '{}' }])(
  'a databag that its platform sets to %j asks for no labels any more',
  async (data) => {
    const world = createMesh(['db'])
    await tell(world, { labels: JSON.stringify(ON_THE_MESH) })
    expect(templateOf(world)).toMatchObject({ metadata: { labels: ON_THE_MESH } })
    const answer = await tell(world, data)
    expect(templateOf(world)).not.toMatchObject({ metadata: { labels: ON_THE_MESH } })
    expect(answer).toMatchObject({ status: 'changed' })
  },
)

describe.each([
  ['no memory', false],
  ['a memory of the relation alone', true],
])('a consumer of a beacon that has a workload and %s', (_, isOwnSink) => {
  test.each([
    ['emptied', undefined],
    ['set to a list of nothing', '[]'],
  ])('a consumer of a beacon is granted nothing any more once its databag is %s', async (_, policies) => {
    const world = createMesh(['db'], isOwnSink)
    await configure(world, { mesh: {} })
    await ask(world, JSON.stringify([wire()]))
    expect(sourcesOf(policiesOf(world, 'db'))).toEqual(['shop/web'])
    const answer = await ask(world, policies)
    expect(sourcesOf(policiesOf(world, 'db'))).toEqual([])
    expect(answer).toMatchObject({ status: isOwnSink ? 'saved' : 'changed' })
    expect(await world.send('resync', BEACON)).toMatchObject({ status: 'unchanged', messages: [] })
  })
})
