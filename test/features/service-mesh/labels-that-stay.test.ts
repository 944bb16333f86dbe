import { describe, expect, test } from 'vitest'
import {
  configure,
  createMesh,
  enrolled,
  policiesOf,
  related,
  requires,
  sourcesOf,
} from '../../helpers/beacon-world.ts'
import { createWorld, FORBIDDEN, MESH_LABELS, meshRelation, type World } from '../../helpers/world.ts'

const ON = 'istio.io/dataplane-mode'

/** A relation with a beacon that nobody has told of. */
const unheard = () => ({ ...meshRelation({}, 8), remote: { application: 'other', data: {} } })

const DB = { application: 'db' }

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

describe('a grant that the labels of an ended relation keep', () => {
  const policies = [{ type: 'app', relation: 'db', endpoints: [{ ports: [80] }] }]

  /** `db` is on the mesh, and lets in `web` and `api` by their relations. */
  const granted = async (): Promise<World> => {
    const world = createMesh(['db'])
    await configure(world, { mesh: {} })
    await configure(world, { policies }, DB)
    await world.send('relation-changed', requires(7, DB))
    await world.send('relation-changed', related(11, 'db', { application: 'web' }, DB))
    await world.send('relation-changed', related(12, 'db', { application: 'api' }, DB))
    expect(sourcesOf(policiesOf(world, 'db'))).toEqual(['shop/api', 'shop/web'])
    return world
  }

  const end = (id: number, name: string) => ({ ...DB, relation: { id, interface: name } })

  test('a grant that the labels of an ended relation keep ends with the relation that it was asked for by, while another beacon is waited for', async () => {
    const world = await granted()
    await world.send('relation-changed', requires(8, DB, { application: 'other' }))
    await world.send('relation-broken', end(7, 'service_mesh'))
    await world.send('relation-broken', end(11, 'tcp'))
    expect(enrolled(world, 'db')).toMatchObject({ [ON]: 'ambient' })
    expect(sourcesOf(policiesOf(world, 'db'))).toEqual(['shop/api'])
  })

  test('a grant that the labels of an ended relation keep ends with the relation that it was asked for by, while the labels may not be taken off', async () => {
    const world = await granted()
    world.intercept = ({ method, path }) =>
      method === 'PATCH' && path.includes('/statefulsets/') ? FORBIDDEN : undefined
    await world.send('relation-broken', end(7, 'service_mesh'))
    await world.send('relation-broken', end(12, 'tcp'))
    expect(world.labels('db').template).toMatchObject({ [ON]: 'ambient' })
    expect(sourcesOf(policiesOf(world, 'db'))).toEqual(['shop/web'])
    world.intercept = undefined
    await world.send('resync', DB)
    expect([enrolled(world, 'db'), policiesOf(world, 'db')]).toEqual([{}, []])
  })
})
