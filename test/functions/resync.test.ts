import { describe, expect, test } from 'vitest'
import {
  createWorld,
  event,
  meshRelation,
  NAMESPACE,
  service,
  setLabels,
  type World,
  workload,
} from '../helpers/world.ts'

const forget = (world: World) =>
  world.api.handle({
    method: 'DELETE',
    path: `/api/v1/namespaces/${NAMESPACE}/configmaps/juju-service-mesh-web-labels`,
    headers: {},
  })

const resyncs = (world: World) => world.published.filter(({ type }) => type === 'dev.meshstep.resync.v1')

const ping = () => ({
  id: '1',
  source: `/apis/v1/namespaces/${NAMESPACE}/pingsources/resync`,
  type: 'dev.knative.sources.ping',
  extensions: {},
})

describe('resync of a namespace', () => {
  test('resync of a namespace is sent to each application that has a memory or that one names, and something to say, and to no other', async () => {
    const world = createWorld([workload(), workload('StatefulSet', 'db'), workload('StatefulSet', 'other')])
    await world.send('relation-changed', meshRelation())
    await world.send('relation-changed', { ...meshRelation(), application: 'db' })
    const response = await world.post(ping())
    expect(await response.json()).toMatchObject({
      namespace: NAMESPACE,
      status: 'unchanged',
      messages: ['looked at 3 applications, and sent a resync to 3 of them'],
    })
    const sent = resyncs(world).map(({ subject, type, extensions, data }) => ({ subject, type, extensions, data }))
    expect(sent.toSorted((one, other) => `${one.subject}`.localeCompare(`${other.subject}`))).toEqual(
      Object.entries({ beacon: ['db', 'web'], db: [], web: [] }).map(([application, named]) => ({
        subject: `shop/${application}`,
        type: 'dev.meshstep.resync.v1',
        extensions: { partitionkey: `shop/${application}`, causationid: '1', correlationid: '1' },
        data: { namespace: 'shop', application, documents: [], named },
      })),
    )
  })

  test('resync of a namespace finds what a lost memory left behind, by the name of the field manager, once its config and the end of its relation are told', async () => {
    const world = createWorld([workload(), service(), service('elsewhere')])
    await world.send('config-changed', { config: { service: 'elsewhere', enrolment: 'in-place' } })
    await world.send('relation-changed', meshRelation({ 'istio.io/use-waypoint': 'on' }))
    forget(world)
    const labelled = () =>
      world.api.objects().filter(({ metadata }) => metadata.labels?.['istio.io/use-waypoint'] !== undefined)
    const before = labelled()
    const sweep = async () => {
      world.published.length = 0
      await world.send('resync', { application: undefined })
      for (const found of resyncs(world)) await world.post(found)
    }
    await sweep()
    expect([before.length, labelled()]).toEqual([3, before])
    await world.send('relation-broken', { relation: { id: 7, interface: 'service_mesh' } })
    await sweep()
    expect(labelled().map(({ kind, metadata }) => `${kind} ${metadata.name}`)).toEqual([])
    world.clock.advance(25 * 60 * 60 * 1_000)
    await world.send('resync', {})
    expect(world.memory()).toBeUndefined()
  })

  test('resync of a namespace takes nothing away while a memory cannot be read', async () => {
    const world = createWorld([workload(), service(), service('elsewhere')])
    await world.send('config-changed', { config: { service: 'elsewhere' } })
    await world.send('relation-changed', meshRelation({ 'istio.io/use-waypoint': 'on' }))
    world.api.handle({
      method: 'PATCH',
      path: `/api/v1/namespaces/${NAMESPACE}/configmaps/juju-service-mesh-web-labels?fieldManager=x`,
      headers: { 'content-type': 'application/merge-patch+json' },
      body: '{"data":{"state":"{"}}',
    })
    await world.post(ping())
    expect(resyncs(world).map(({ data }) => data)).toEqual([
      { namespace: 'shop', application: 'web', documents: [], named: [] },
    ])
    for (const found of resyncs(world)) expect((await world.post(found)).status).toBe(500)
    expect(world.labels('elsewhere').service['istio.io/use-waypoint']).toBe('on')
  })

  test('resync of a namespace makes no write where nothing differs', async () => {
    const world = createWorld()
    await world.send('config-changed', { config: { enrolment: 'in-place' } })
    await world.send('relation-changed', meshRelation())
    await world.post(ping())
    world.calls.length = 0
    await world.post(ping())
    for (const found of resyncs(world)) expect((await world.post(found)).status).toBe(200)
    expect(world.calls.filter((call) => !call.startsWith('GET'))).toEqual([])
  })

  test('resync of a namespace fails, and says so, when a list fails', async () => {
    const world = createWorld()
    world.intercept = ({ path }) =>
      path.includes('/pods?') ? { status: 400, headers: {}, body: '{"message":"no such pods"}' } : undefined
    const response = await world.post(event('resync', { application: undefined }))
    expect([response.status, ((await response.json()) as { message: string }).message]).toEqual([
      500,
      expect.stringContaining('LIST Pod shop: 400 no such pods'),
    ])
    expect(world.published).toEqual([])
  })

  test('resync of a namespace finds what an object of the other kind of workload holds, and a pod that was detached', async () => {
    const world = createWorld([workload('Deployment'), service()])
    await world.send('relation-changed', meshRelation({ 'istio.io/use-waypoint': 'on' }))
    world.api.seed([workload('StatefulSet')], { manager: 'juju' })
    forget(world)
    await world.send('relation-changed', meshRelation({ 'istio.io/use-waypoint': 'on' }))
    await world.send('relation-broken', { relation: { id: 7 } })
    await world.post(ping())
    for (const found of resyncs(world)) await world.post(found)
    expect(
      world.api.objects().filter(({ kind, spec }) => kind === 'Deployment' && JSON.stringify(spec).includes('mesh')),
    ).toEqual([])
  })

  test('resync of a namespace passes by a field manager that names no application', async () => {
    const world = createWorld()
    world.api.handle({
      method: 'PATCH',
      path: `/api/v1/namespaces/${NAMESPACE}/services/web?fieldManager=meshstep%2FAlice`,
      headers: { 'content-type': 'application/apply-patch+yaml' },
      body: '{"apiVersion":"v1","kind":"Service","metadata":{"name":"web","labels":{"x":"1"}}}',
    })
    await world.post(ping())
    expect(world.published).toEqual([])
  })

  test('resync of a namespace goes on to the others when one cannot be resynced for now, and asks to be sent again', async () => {
    const world = createWorld([workload(), service(), workload('StatefulSet', 'db'), service('db')], {
      isOwnSink: true,
    })
    await world.send('relation-changed', { ...meshRelation({ 'istio.io/use-waypoint': 'on' }), application: 'db' })
    await world.send('relation-changed', meshRelation({ 'istio.io/use-waypoint': 'on' }))
    setLabels(world, 'somebody', { 'istio.io/use-waypoint': null }, 'services')
    world.api.handle({ method: 'DELETE', path: `/api/v1/namespaces/${NAMESPACE}/services/db`, headers: {} })
    world.api.seed([service('db')], { manager: 'juju' })
    world.intercept = ({ path }) => (path.endsWith('/services/db') ? { status: 500, headers: {}, body: '' } : undefined)
    const response = await world.post(ping())
    expect([response.status, await response.json()]).toMatchObject([
      503,
      { message: expect.stringContaining('1 of 3 applications') },
    ])
    expect(world.labels().service['istio.io/use-waypoint']).toBe('on')
  })
})
