import { expect, test } from 'vitest'
import { configure, createMesh, remove, requires } from '../../helpers/beacon-world.ts'
import type { World } from '../../helpers/world.ts'

const API = { application: 'api' }

const loseMemory = (world: World): void =>
  remove(world, '/api/v1/namespaces/shop/configmaps/juju-service-mesh-api-labels')

test('an application that was never on a mesh does not stay on one when its memory is lost', async () => {
  const world = createMesh(['api'], false)
  await configure(world, { labels: { team: 'blue' } }, API)
  loseMemory(world)
  const { messages, status } = await configure(world, { labels: { team: 'blue' } }, API)
  expect({ messages, status }).toEqual({ messages: [], status: 'saved' })
  expect(await world.send('resync', API)).toMatchObject({ messages: [], status: 'unchanged' })
})

test('an application whose config alone asks for a label that a coordinator may ask for waits for nobody once it is told', async () => {
  const config = { labels: { 'app.kubernetes.io/part-of': 'store' } }
  const world = createMesh(['api'], false)
  await configure(world, config, API)
  loseMemory(world)
  expect(await configure(world, config, API)).toMatchObject({ messages: [], status: 'saved' })
})

test('an application that is on a mesh stays there when its memory and that of its beacon are lost', async () => {
  const world = createMesh(['api'], false)
  await configure(world, { mesh: {} })
  await configure(world, { labels: { team: 'blue' } }, API)
  await world.send('relation-changed', requires(11, API))
  for (const application of ['beacon', 'api', 'beacon']) await world.send('resync', { application })
  loseMemory(world)
  remove(world, '/api/v1/namespaces/shop/configmaps/juju-service-mesh-beacon-labels')
  const { messages } = await configure(world, { labels: { team: 'blue' } }, API)
  expect(messages).toEqual([expect.stringContaining('stays on the mesh, as its memory was lost')])
  expect(world.labels('api').template).toMatchObject({ 'istio.io/dataplane-mode': 'ambient', team: 'blue' })
})
