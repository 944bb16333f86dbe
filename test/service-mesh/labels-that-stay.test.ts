import { expect, test } from 'vitest'
import { createWorld, MESH_LABELS, meshRelation } from '../helpers/world.ts'

const ON = 'istio.io/dataplane-mode'

/** A relation with a beacon that nobody has told of. */
const unheard = () => ({ ...meshRelation({}, 8), remote: { application: 'other', data: {} } })

const left = { relation: { id: 7, interface: 'service_mesh' } }

test('labels that stay as another beacon has yet to say what it asks for are named with it', async () => {
  const world = createWorld()
  await world.send('relation-changed', meshRelation())
  expect((await world.send('relation-changed', unheard())).messages).toEqual([])
  const handled = await world.send('relation-broken', left)
  expect(world.labels().template).toMatchObject(MESH_LABELS)
  expect(handled).toMatchObject({
    status: 'waiting',
    messages: ['relation 8 (service-mesh): waiting for the data of shop/other; the labels stay'],
  })
  await world.send('relation-broken', { relation: { id: 8, interface: 'service_mesh' } })
  expect(world.labels().template).not.toHaveProperty([ON])
})

test('nothing is said of a first join, nor where labels of the config put an application on the mesh', async () => {
  const world = createWorld()
  expect((await world.send('relation-changed', unheard())).messages).toEqual([])
  await world.send('config-changed', { config: { labels: { [ON]: 'ambient' } } })
  expect(world.labels().template).toHaveProperty([ON], 'ambient')
  expect((await world.send('relation-changed', unheard())).messages).toEqual([])
})
