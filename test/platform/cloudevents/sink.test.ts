import { describe, expect, test } from 'vitest'
import { Unavailable } from '../../../src/platform/base/errors.ts'
import { relationsById } from '../../helpers/relations.ts'
import { createWorld, event, isWrite, meshRelation, service, type World, workload } from '../../helpers/world.ts'

const application = (name: string) => [workload('StatefulSet', name), service(name)]

/** `web` and `beacon` in one process that is its own sink. */
const meshWorld = async (): Promise<World> => {
  const world = createWorld([...application('web')], { isOwnSink: true })
  await world.send('config-changed', { application: 'beacon', config: { mesh: {} } })
  return world
}

const related = (data: Record<string, unknown> = {}, id = 7) => ({
  relation: { id, endpoint: 'service-mesh', interface: 'service_mesh', role: 'requires' },
  remote: { application: 'beacon', data },
})

const memoryObject = (name: string) => `/api/v1/namespaces/shop/configmaps/juju-service-mesh-${name}-labels`

const forget = (world: World, name: string) =>
  world.api.handle({ method: 'DELETE', path: memoryObject(name), headers: {} })

const relationsOf = (world: World, name: string) => relationsById(world.memory(name)?.state)

/** An event that says nothing new of any relation. */
const pod = (world: World) => world.send('pod-restarted', { pod: { name: 'web-0', uid: 'u' } })

describe('a sink that does not accept', () => {
  test('a sink that does not accept is tried again with the next delivery, which publishes what is missing', async () => {
    const world = createWorld()
    world.refusePublishing = new Unavailable('the sink is away')
    const first = await world.post(event('relation-changed', meshRelation()))
    expect(first.status).toBe(503)
    expect(world.labels().template).toMatchObject({ 'istio.io/dataplane-mode': 'ambient' })
    world.refusePublishing = undefined
    const again = await world.send('relation-changed', meshRelation())
    expect(again.published).toEqual(['relation 7 (service-mesh) to shop/beacon'])
    expect(world.published).toHaveLength(1)
  })

  test('a sink that does not accept keeps what it accepted of several, and is sent the others alone', async () => {
    const world = createWorld()
    world.refusePublishing = new Unavailable('away')
    await world.post(event('relation-changed', meshRelation({}, 1)))
    await world.post(event('relation-changed', { ...meshRelation({}, 2), remote: { application: 'other', data: {} } }))
    world.refusePublishing = { subject: 'shop/other', error: new Unavailable('away') }
    await world.post(event('leader-elected', { unit: 'web/0' }))
    expect(world.published.map(({ subject }) => subject)).toEqual(['shop/beacon'])
    world.refusePublishing = undefined
    await pod(world)
    expect(world.published.map(({ subject }) => subject)).toEqual(['shop/beacon', 'shop/other'])
  })
})

describe('what is published', () => {
  test('what is published is the databag of this side, as the other side sees the relation, to one partition', async () => {
    const world = createWorld()
    await world.send('config-changed', { config: { policies: [{ type: 'unit', relation: 'db', ports: [5432] }] } })
    await world.send('relation-changed', meshRelation())
    const [published] = world.published
    expect(published).toMatchObject({
      type: 'dev.meshstep.relation-changed.v1',
      source: '/meshstep/shop/web',
      subject: 'shop/beacon',
      extensions: { partitionkey: 'shop/beacon' },
      data: {
        namespace: 'shop',
        application: 'beacon',
        relation: { id: 7, endpoint: 'service-mesh', interface: 'service_mesh', role: 'provides' },
        remote: { application: 'web', namespace: 'shop', endpoint: 'service-mesh', data: { policies: '[]' } },
      },
    })
  })

  test('what is published is sent once: neither a repeat nor what changes nothing in it sends it again, but a resync does', async () => {
    const world = createWorld()
    await world.send('relation-changed', meshRelation())
    await world.send('relation-changed', meshRelation({ mesh: 'on' }))
    await pod(world)
    expect(world.published).toHaveLength(1)
    await world.send('resync', {})
    expect(world.published).toHaveLength(2)
  })

  test('what is published is one event for each relation, however many events wait for one step', async () => {
    const world = createWorld()
    await Promise.all(
      [1, 2, 3].map((id) => world.post(event('relation-changed', meshRelation({ [`m${id}`]: 'on' }, id)))),
    )
    expect(new Set(world.published.map(({ id }) => id)).size).toBe(3)
    expect(world.published.length).toBeLessThanOrEqual(4)
  })

  test('what is published follows the config', async () => {
    const world = createWorld()
    await world.send('relation-changed', meshRelation())
    await world.send('relation-changed', {
      ...related(),
      relation: relation(9, 'db'),
      remote: { application: 'pg', data: {} },
    })
    await world.send('config-changed', { config: { policies: [{ type: 'unit', relation: 'db', ports: [5432] }] } })
    const [first, second, ...more] = world.published.filter(({ subject }) => subject === 'shop/beacon')
    expect(more).toEqual([])
    expect(second?.id).not.toBe(first?.id)
    expect(JSON.stringify(second?.data)).toContain('source_app_name\\": \\"pg')
  })

  test('what is published ends with the relation: the other side is told, once', async () => {
    const world = createWorld()
    await world.send('relation-changed', meshRelation())
    await world.send('relation-broken', { relation: { id: 7 } })
    await pod(world)
    expect(world.published.map(({ type }) => type)).toEqual([
      'dev.meshstep.relation-changed.v1',
      'dev.meshstep.relation-broken.v1',
    ])
  })
})

const relation = (id: number, endpoint: string) => ({ id, endpoint, interface: endpoint, role: 'provides' })

describe('a process that is its own sink', () => {
  test('one event on one side relates both, and both are quiet afterwards', async () => {
    const world = await meshWorld()
    const handled = await world.send('relation-changed', related())
    expect(handled.published).toEqual(['relation 7 (service-mesh) to shop/beacon'])
    expect(world.labels().template).toMatchObject({ 'istio.io/use-waypoint': 'shop-beacon-waypoint' })
    world.calls.length = 0
    await world.send('resync', {})
    await world.send('resync', { application: 'beacon' })
    expect(world.calls.filter(isWrite)).toEqual([])
  })

  test('a relation that is broken on one side is broken on both', async () => {
    const world = await meshWorld()
    await world.send('relation-changed', related())
    await world.send('relation-broken', { relation: { id: 7 } })
    for (const name of ['web', 'beacon']) expect(relationsOf(world, name)).toMatchObject({ 7: { status: 'ended' } })
    expect(world.labels().template).not.toHaveProperty('istio.io/use-waypoint')
  })

  test('a relation comes back under its id, told by the side that broke it', async () => {
    const world = await meshWorld()
    await world.send('relation-changed', related())
    await world.send('relation-broken', { relation: { id: 7 } })
    await world.send('relation-changed', related())
    expect(world.labels().template).toMatchObject({ 'istio.io/use-waypoint': 'shop-beacon-waypoint' })
  })

  test('two applications may have relations with the same beacon, and each ends alone', async () => {
    const world = createWorld([...application('web'), ...application('api')], { isOwnSink: true })
    await world.send('config-changed', { application: 'beacon', config: { mesh: {} } })
    await world.send('relation-changed', { application: 'web', ...related() })
    await world.send('relation-changed', { application: 'api', ...related({}, 8) })
    for (const name of ['web', 'api'])
      expect(world.labels(name).template).toMatchObject({ 'istio.io/use-waypoint': 'shop-beacon-waypoint' })
    await world.send('relation-broken', { application: 'web', relation: { id: 7 } })
    expect(world.labels('web').template).not.toHaveProperty('istio.io/use-waypoint')
    expect(world.labels('api').template).toMatchObject({ 'istio.io/use-waypoint': 'shop-beacon-waypoint' })
  })

  test('what one side published stays when a document says the relation again without it', async () => {
    const world = await meshWorld()
    await world.send('relation-changed', related())
    const { relation, remote } = related()
    const data = { application: 'web', relation: JSON.stringify(relation), remote: JSON.stringify(remote) }
    const metadata = { name: 'relation-7', namespace: 'shop', labels: { 'meshstep.dev/kind': 'relation' } }
    world.api.seed([{ apiVersion: 'v1', kind: 'ConfigMap', metadata, data }], { manager: 'kubectl' })
    await world.send('relation-changed', { ...related(), document: 'relation-7' })
    expect(world.labels().template).toMatchObject({ 'istio.io/use-waypoint': 'shop-beacon-waypoint' })
  })

  test('a side that lost its memory hears again what it was told', async () => {
    const world = await meshWorld()
    await world.send('relation-changed', related())
    forget(world, 'web')
    world.clock.advance(1_000)
    await world.send('relation-changed', related())
    expect(relationsOf(world, 'web')).toMatchObject({ 7: { status: 'established' } })
    expect(world.labels().template).toMatchObject({ 'istio.io/use-waypoint': 'shop-beacon-waypoint' })
  })

  test('a namespace that does not exist is in nobody’s way', async () => {
    const world = await meshWorld()
    await world.send('relation-changed', related())
    const gone = { ...related({}, 8), remote: { application: 'beacon', namespace: 'gone', data: {} } }
    const handled = await world.send('relation-changed', gone)
    expect(handled).toMatchObject({ status: 'saved' })
    expect(world.labels().template).toMatchObject({ 'istio.io/use-waypoint': 'shop-beacon-waypoint' })
  })

  test('relations of other namespaces belong to the relation that is known, whatever id they have there', async () => {
    const world = createWorld(
      [...application('web'), { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'mesh' } }],
      { isOwnSink: true },
    )
    const beacon = { namespace: 'mesh', application: 'beacon' }
    await world.send('config-changed', { ...beacon, config: { mesh: {} } }, { subject: 'mesh/beacon' })
    await world.send('relation-changed', {
      ...beacon,
      relation: { id: 3, endpoint: 'service-mesh', interface: 'service_mesh', role: 'provides' },
      remote: { application: 'web', namespace: 'shop', data: {} },
    })
    await world.send('relation-changed', {
      ...related(),
      remote: { application: 'beacon', namespace: 'mesh', data: {} },
    })
    expect(Object.keys(relationsOf(world, 'web'))).toHaveLength(1)
    expect(world.labels().template).toMatchObject({ 'istio.io/use-waypoint-namespace': 'mesh' })
    await world.send('relation-broken', { relation: { id: 7 } })
    expect(relationsOf(world, 'web')).toMatchObject({ 7: { status: 'ended' } })
    expect(world.labels().template).not.toHaveProperty('istio.io/use-waypoint')
  })
})

describe('what comes late from the other side', () => {
  const nudge = () =>
    event(
      'relation-changed',
      {
        relation: { id: 7, endpoint: 'service-mesh', interface: 'service_mesh', role: 'requires' },
        remote: { application: 'beacon', namespace: 'shop', data: { labels: '{"mesh": "on"}', mesh_type: '"istio"' } },
      },
      { source: '/meshstep/shop/beacon' },
    )

  test('what comes late from the other side does not bring back a relation that was broken on this side', async () => {
    const world = createWorld()
    await world.send('relation-changed', meshRelation({ mesh: 'on' }))
    await world.send('relation-broken', { relation: { id: 7 } })
    expect(await (await world.post(nudge())).json()).toMatchObject({ status: 'unchanged', written: [] })
    expect(relationsOf(world, 'web')).toMatchObject({ 7: { status: 'ended' } })
    expect(world.labels().template).not.toHaveProperty('mesh')
  })

  test('what comes late from the other side does not take an application over from the charm library, and is heard once that is done', async () => {
    const world = await meshWorld()
    world.api.seed(
      [
        {
          apiVersion: 'v1',
          kind: 'ConfigMap',
          metadata: { name: 'juju-service-mesh-web-labels', namespace: 'shop' },
          data: { labels: '{}' },
        },
      ],
      { manager: 'web' },
    )
    await world.send('relation-changed', {
      application: 'beacon',
      relation: { id: 7, endpoint: 'service-mesh', interface: 'service_mesh', role: 'provides' },
      remote: { application: 'web', data: {} },
    })
    expect(world.memory()?.state).toEqual({})
    expect(world.labels().template).not.toHaveProperty('istio.io/use-waypoint')
    await world.send('relation-changed', related())
    expect(world.labels().template).toMatchObject({ 'istio.io/use-waypoint': 'shop-beacon-waypoint' })
  })

  test('what comes late from the other side does not bring back an application that was removed', async () => {
    const world = createWorld()
    await world.send('relation-changed', meshRelation({ mesh: 'on' }))
    await world.send('application-removed', {})
    expect(await (await world.post(nudge())).json()).toMatchObject({ status: 'unchanged', written: [] })
    expect(world.memory()?.state).toHaveProperty('removed')
    expect(world.labels().template).not.toHaveProperty('mesh')
  })
})
