import { expect, test } from 'vitest'
import { configure, createMesh, provides, requires, wire } from '../helpers/beacon-world.ts'
import type { World } from '../helpers/world.ts'

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

test('a consumer without a memory whose databag is emptied is granted nothing any more', async () => {
  const world = createMesh(['db'], false)
  await configure(world, { mesh: {} })
  const consumer = { application: 'db' }
  const policies = () =>
    world.api.objects().filter(({ kind, metadata }) => kind === 'AuthorizationPolicy' && metadata.name.includes('-db-'))
  await world.send('relation-changed', provides(7, consumer, [wire({ target_app_name: 'db' })]))
  expect(policies()).not.toEqual([])
  const { remote, ...relation } = provides(7, consumer, []) as { remote: object }
  const answer = await world.send('relation-changed', { ...relation, remote: { ...remote, data: {} } })
  expect(answer).toMatchObject({ status: 'changed' })
  expect(policies()).toEqual([])
  const { status, waiting = [] } = await world.send('resync', { application: 'beacon' })
  expect([status, waiting]).toEqual(['unchanged', []])
})
