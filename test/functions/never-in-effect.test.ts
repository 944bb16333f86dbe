import { describe, expect, test } from 'vitest'
import { config, createTenants, erase, write } from '../helpers/tenants.ts'
import { createWorld, meshRelation, type World } from '../helpers/world.ts'

const ON_MESH = { 'istio.io/dataplane-mode': 'ambient' }
const LABELS = { tier: 'a' }

/** An application that is configured and related by events. */
const told = async (): Promise<World> => {
  const world = createWorld()
  await world.send('config-changed', { config: { labels: LABELS } })
  await world.send('relation-changed', meshRelation(ON_MESH))
  return world
}

describe('a document that was never in effect ends nothing by its deletion', () => {
  test.each([
    ['of a config, as its YAML was refused', 'application-removed', { document: 'bad' }],
    ['of a relation with the id of one that events told', 'relation-broken', { document: 'bad', relation: { id: 7 } }],
    [
      'of a relation that events told, named in full',
      'relation-broken',
      { document: 'bad', relation: meshRelation().relation, remote: { application: 'beacon' } },
    ],
    ['of a relation that cannot be read', 'relation-broken', { document: 'bad' }],
  ])('%s', async (_, type, data) => {
    const world = await told()
    const before = world.memory()?.state
    expect(await world.send(type, data)).toMatchObject({ status: 'unchanged' })
    expect(world.labels().template).toMatchObject({ ...ON_MESH, ...LABELS })
    expect(world.memory()?.state).toEqual(before)
  })
})

test('a document whose config is in effect removes the application by its deletion', async () => {
  const world = await told()
  await world.send('config-changed', { config: { labels: LABELS }, document: 'good' })
  await world.send('application-removed', { document: 'good' })
  expect(world.labels().template).not.toMatchObject(LABELS)
})

test('a config that is kept in a document stays, whatever is told late of another one that is gone', async () => {
  const world = createWorld()
  world.api.seed([config('labels: { tier: a }', { name: 'one' }, 'web')], { manager: 'kubectl' })
  await world.send('config-changed', { config: { labels: LABELS }, document: 'one' })
  await world.send('config-changed', { config: {}, document: 'two' })
  expect(world.labels().template).toMatchObject(LABELS)
  expect(world.memory()?.state.document).toBe('one')
})

test('while the memory is lost, the deletion of a document removes nothing: its config may never have been in effect', async () => {
  const world = await told()
  world.api.handle({
    method: 'DELETE',
    path: '/api/v1/namespaces/shop/configmaps/juju-service-mesh-web-labels',
    headers: {},
  })
  await world.send('application-removed', { document: 'perhaps' })
  expect(world.labels().template).toMatchObject({ ...ON_MESH, ...LABELS })
  await world.send('application-removed', {})
  expect(world.labels().template).not.toMatchObject(LABELS)
})

test('a config document that was refused for its author ends nothing by its deletion, though no other config is known', async () => {
  const world = createTenants(new Set(), { isOwnSink: true })
  await world.send('relation-changed', { application: 'a', ...meshRelation(ON_MESH) })
  expect((await write(world, config('{}', { name: 'one' }, 'a'))).status).toBe(403)
  await erase(world, 'one')
  expect(world.labels('a').template).toMatchObject(ON_MESH)
})
