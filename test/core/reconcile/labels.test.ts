import { describe, expect, test } from 'vitest'
import { VERSION } from '../../../src/core/state/state.ts'
import {
  APPLICATION,
  createWorld,
  event,
  isWrite,
  MESH_LABELS,
  meshRelation,
  NAMESPACE,
  service,
  setLabels,
  type World,
  workload,
} from '../../helpers/world.ts'

const OWN = { 'app.kubernetes.io/name': 'web' }
const TEMPLATE = { ...OWN, team: 'blue' }
const MEMORY = 'ConfigMap shop/juju-service-mesh-web-labels'

const managers = (world: World, kind: string) =>
  (world.object(kind)?.metadata.managedFields ?? []).map(({ manager }) => manager)

/** Writes a ConfigMap as the charm library leaves it, and its labels under the library's field manager. */
const inherit = (world: World, data: Record<string, string> | undefined, labels: Record<string, string> = {}) => {
  world.api.seed(
    [
      {
        apiVersion: 'v1',
        kind: 'ConfigMap',
        metadata: { name: 'juju-service-mesh-web-labels', namespace: NAMESPACE },
        ...(data && { data }),
      },
    ],
    { manager: 'web' },
  )
  setLabels(world, 'web', labels)
  setLabels(world, 'web', labels, 'services')
}

/** An end leaves a tombstone for a day, and then nothing. */
const forgets = async (world: World) => {
  expect(world.memory()?.labels).toEqual({})
  world.clock.advance(25 * 60 * 60 * 1_000)
  await world.send('resync', {})
  expect(world.memory()).toBeUndefined()
}

/** A redelivery has the source and the id of the first delivery. */
const SAME = { id: 'same' }

describe('an application joins the mesh', () => {
  test('its labels go on the pod template and on the Service, and are remembered in the library’s format', async () => {
    const world = createWorld()
    const outcome = await world.send('relation-changed', meshRelation())
    expect(outcome).toEqual({
      namespace: 'shop',
      application: 'web',
      status: 'changed',
      written: [MEMORY, 'Service shop/web', 'StatefulSet shop/web'],
      published: ['relation 7 (service-mesh) to shop/beacon'],
      conflicts: [],
      messages: [],
    })
    expect(world.labels()).toEqual({ template: { ...TEMPLATE, ...MESH_LABELS }, service: { ...OWN, ...MESH_LABELS } })
    const memory = world.object('ConfigMap', 'juju-service-mesh-web-labels')
    expect(memory?.data?.labels).toBe(
      '{"istio.io/dataplane-mode": "ambient", "istio.io/use-waypoint": "shop-beacon-waypoint"}',
    )
    expect(memory?.metadata.labels).toEqual({
      'app.kubernetes.io/managed-by': 'meshstep',
      'meshstep.dev/application': 'web',
    })
  })

  test('the same event again writes nothing', async () => {
    const world = createWorld()
    await world.send('relation-changed', meshRelation(), SAME)
    world.calls.length = 0
    expect(await world.send('relation-changed', meshRelation(), SAME)).toMatchObject({
      status: 'unchanged',
      written: [],
    })
    expect(world.calls.filter(isWrite)).toEqual([])
  })

  test('an application joins the mesh, and leaves it: everything is as before, the memory too', async () => {
    const world = createWorld()
    const before = { ...world.labels(), managers: managers(world, 'StatefulSet') }
    await world.send('relation-changed', meshRelation())
    const outcome = await world.send('relation-broken', { relation: { id: 7 } })
    expect(outcome.status).toBe('changed')
    expect({ ...world.labels(), managers: managers(world, 'StatefulSet') }).toEqual(before)
    await forgets(world)
  })

  test('its data changes: the old label goes, the new one comes', async () => {
    const world = createWorld()
    await world.send(
      'relation-changed',
      meshRelation({ 'istio.io/ingress-use-waypoint': '1', 'istio.io/use-waypoint': '1' }),
    )
    await world.send(
      'relation-changed',
      meshRelation({ 'istio.io/use-waypoint': '2', 'istio.io/use-waypoint-namespace': '1' }),
    )
    expect(world.labels().template).toEqual({
      ...TEMPLATE,
      'istio.io/use-waypoint': '2',
      'istio.io/use-waypoint-namespace': '1',
    })
    expect(world.memory()?.labels).toEqual({ 'istio.io/use-waypoint': '2', 'istio.io/use-waypoint-namespace': '1' })
  })

  test('a Deployment is as good as a StatefulSet', async () => {
    const world = createWorld([workload('Deployment'), service()])
    expect((await world.send('relation-changed', meshRelation())).status).toBe('changed')
    expect(world.labels().template).toMatchObject(MESH_LABELS)
  })

  test('a workload and a Service of other names are found by the config, and let go of when the config changes', async () => {
    const world = createWorld([workload(), service(), workload('Deployment', 'other'), service('other')])
    await world.send('config-changed', {
      config: { workload: { kind: 'Deployment', name: 'other' }, service: 'other' },
    })
    await world.send('relation-changed', meshRelation({ 'istio.io/use-waypoint': 'on' }))
    expect([
      world.labels('other').template['istio.io/use-waypoint'],
      world.labels('other').service['istio.io/use-waypoint'],
    ]).toEqual(['on', 'on'])
    expect([world.labels().template['istio.io/use-waypoint'], world.labels().service['istio.io/use-waypoint']]).toEqual(
      [undefined, undefined],
    )
    await world.send('config-changed', { config: {} })
    expect([
      world.labels('other').template['istio.io/use-waypoint'],
      world.labels('other').service['istio.io/use-waypoint'],
    ]).toEqual([undefined, undefined])
    expect([world.labels().template['istio.io/use-waypoint'], world.labels().service['istio.io/use-waypoint']]).toEqual(
      ['on', 'on'],
    )
    world.clock.advance(25 * 60 * 60 * 1_000)
    await world.send('resync', {})
    expect(world.memory()?.state.previousTargets).toBeUndefined()
  })

  test('naming the same workload in the config that was found without it takes nothing away', async () => {
    const world = createWorld()
    await world.send('relation-changed', meshRelation())
    world.calls.length = 0
    await world.send('config-changed', { config: { workload: { kind: 'StatefulSet', name: APPLICATION } } })
    expect(world.calls.filter((call) => call.startsWith('PATCH'))).toEqual([])
    expect(world.labels().template).toMatchObject(MESH_LABELS)
  })
})

describe('what others own', () => {
  test('a key with another value is a conflict: its value stays, the rest is applied', async () => {
    const world = createWorld()
    const key = 'istio.io/use-waypoint-namespace'
    setLabels(world, 'juju', { [key]: 'blue' })
    const told = meshRelation({ [key]: 'red', 'istio.io/use-waypoint': 'on' })
    const { status, conflicts } = await world.send('relation-changed', told)
    expect({ status, conflicts }).toEqual({
      status: 'conflict',
      conflicts: [{ object: 'StatefulSet shop/web', key, manager: 'juju', value: 'blue', wanted: 'red' }],
    })
    expect(world.labels().template).toEqual({ ...TEMPLATE, [key]: 'blue', 'istio.io/use-waypoint': 'on' })
    expect(world.memory()?.labels).toEqual({ 'istio.io/use-waypoint': 'on' })
    await world.send('relation-broken', { relation: { id: 7 } })
    expect(world.labels().template).toEqual({ ...TEMPLATE, [key]: 'blue' })
  })

  test('a conflict that arises between looking and writing is told in the same way', async () => {
    const world = createWorld()
    world.intercept = ({ method, path }) => {
      if (method !== 'PATCH' || !path.includes('statefulsets')) return undefined
      world.intercept = undefined
      setLabels(world, 'kyverno', { 'istio.io/use-waypoint': 'off' })
      return undefined
    }
    const { status, conflicts } = await world.send(
      'relation-changed',
      meshRelation({ 'istio.io/use-waypoint': 'on', 'istio.io/use-waypoint-namespace': '1' }),
    )
    expect({ status, conflicts }).toMatchObject({
      status: 'conflict',
      conflicts: [{ key: 'istio.io/use-waypoint', manager: 'kyverno' }],
    })
    expect(world.labels().template).toEqual({
      ...TEMPLATE,
      'istio.io/use-waypoint': 'off',
      'istio.io/use-waypoint-namespace': '1',
    })
    expect(world.memory()?.labels).toEqual({ 'istio.io/use-waypoint-namespace': '1' })
  })

  test('a key with the same value is shared, and outlives us', async () => {
    const world = createWorld()
    setLabels(world, 'kubectl', { 'istio.io/use-waypoint': 'on' })
    expect((await world.send('relation-changed', meshRelation({ 'istio.io/use-waypoint': 'on' }))).status).toBe(
      'changed',
    )
    await world.send('relation-broken', { relation: { id: 7 } })
    expect(world.labels().template).toEqual({ ...TEMPLATE, 'istio.io/use-waypoint': 'on' })
  })

  test('a key that somebody takes from us is theirs from then on', async () => {
    const world = createWorld()
    await world.send('relation-changed', meshRelation({ 'istio.io/use-waypoint': 'on' }))
    setLabels(world, 'kubectl-label', { 'istio.io/use-waypoint': 'off' })
    expect(await world.send('pod-restarted', { pod: { name: 'web-0', uid: 'u' } })).toMatchObject({
      status: 'conflict',
    })
    expect(world.labels().template['istio.io/use-waypoint']).toBe('off')
  })
})

describe('drift', () => {
  test.each([
    ['pod-restarted', { pod: { name: 'web-0', uid: 'u' } }],
    ['leader-elected', { unit: 'web/1' }],
    ['config-changed', { config: {} }],
    ['resync', {}],
  ])('a label that was removed by hand, or by a rewritten template, comes back at the next %s', async (type, data) => {
    const world = createWorld()
    await world.send('relation-changed', meshRelation())
    setLabels(world, 'juju', { 'istio.io/dataplane-mode': null })
    expect((await world.send(type, data)).status).toBe('changed')
    expect(world.labels().template).toMatchObject(MESH_LABELS)
  })

  test('a memory that was deleted by hand leaves no label behind', async () => {
    const world = createWorld()
    await world.send('relation-changed', meshRelation({ 'istio.io/use-waypoint-namespace': '1' }))
    world.api.handle({
      method: 'DELETE',
      path: `/api/v1/namespaces/${NAMESPACE}/configmaps/juju-service-mesh-web-labels`,
      headers: {},
    })
    await world.send('relation-changed', meshRelation({ 'istio.io/ingress-use-waypoint': '1' }))
    expect(world.labels().template).toEqual({ ...TEMPLATE, 'istio.io/ingress-use-waypoint': '1' })
  })

  test('the end of some relation while no memory is there leaves it on the mesh, and says what to tell', async () => {
    const world = createWorld()
    await world.send('relation-changed', meshRelation())
    const before = world.labels()
    world.api.handle({
      method: 'DELETE',
      path: `/api/v1/namespaces/${NAMESPACE}/configmaps/juju-service-mesh-web-labels`,
      headers: {},
    })
    const { status, messages } = await world.send('relation-broken', { relation: { id: 7 } })
    expect([status, messages]).toEqual(['waiting', [expect.stringContaining('send that relation, or its end')]])
    expect(world.labels()).toEqual(before)
  })

  test('the end of a relation of the mesh while no memory is there lets go of what our field manager still holds', async () => {
    const world = createWorld()
    await world.send('relation-changed', meshRelation())
    world.api.handle({
      method: 'DELETE',
      path: `/api/v1/namespaces/${NAMESPACE}/configmaps/juju-service-mesh-web-labels`,
      headers: {},
    })
    const ended = { relation: { id: 7, interface: 'service_mesh' } }
    expect((await world.send('relation-broken', ended)).status).toBe('changed')
    expect(world.labels()).toEqual({ template: TEMPLATE, service: OWN })
    await forgets(world)
  })

  test('a workload that was deleted and made anew is labelled again', async () => {
    const world = createWorld()
    await world.send('relation-changed', meshRelation())
    world.api.handle({ method: 'DELETE', path: `/apis/apps/v1/namespaces/${NAMESPACE}/statefulsets/web`, headers: {} })
    world.api.seed([workload()], { manager: 'juju' })
    await world.send('pod-restarted', { pod: { name: 'web-0', uid: 'u' } })
    expect(world.labels().template).toMatchObject(MESH_LABELS)
  })

  test('a workload that is replaced between looking and writing is not written blindly', async () => {
    const world = createWorld()
    world.intercept = ({ method, path }) => {
      if (method !== 'PATCH' || !path.includes('statefulsets')) return undefined
      world.intercept = undefined
      world.api.handle({
        method: 'DELETE',
        path: `/apis/apps/v1/namespaces/${NAMESPACE}/statefulsets/web`,
        headers: {},
      })
      world.api.seed([workload()], { manager: 'juju' })
      return undefined
    }
    expect((await world.send('relation-changed', meshRelation())).status).toBe('changed')
    expect(world.labels().template).toMatchObject(MESH_LABELS)
  })
})

describe('a workload that does not exist', () => {
  test('a workload that does not exist is waited for, and labelled by the next pod-restarted', async () => {
    const world = createWorld([service()])
    const outcome = await world.send('relation-changed', meshRelation())
    expect(outcome).toMatchObject({
      status: 'waiting',
      messages: [expect.stringContaining('StatefulSet or Deployment shop/web does not exist')],
    })
    expect(world.labels().service).toMatchObject(MESH_LABELS)
    world.api.seed([workload()], { manager: 'juju' })
    expect((await world.send('pod-restarted', { pod: { name: 'web-0', uid: 'u' } })).status).toBe('changed')
    expect(world.labels().template).toMatchObject(MESH_LABELS)
  })

  test('a Service that does not exist is waited for, unless the config says there is none', async () => {
    const world = createWorld([workload()])
    expect(await world.send('relation-changed', meshRelation())).toMatchObject({
      status: 'waiting',
      messages: [expect.stringContaining('set service to null')],
    })
    expect((await world.send('config-changed', { config: { service: null } })).status).toBe('saved')
  })

  test('a workload that does not exist is not missed while nothing is wanted of it', async () => {
    const world = createWorld([])
    world.api.seed([service('other')], { manager: 'juju' })
    expect(await world.send('config-changed', { config: {} })).toMatchObject({ status: 'saved', messages: [] })
  })
})

const TWO_IDS = JSON.stringify({
  version: VERSION,
  relations: {
    '1/requires/service_mesh/beacon': {
      ...meshRelation().relation,
      remote: { application: 'beacon', data: {} },
      status: 'established',
      position: { at: 0 },
      told: { at: 0 },
    },
  },
})

describe('what cannot be read changes nothing', () => {
  test.each([
    ['labels that are broken JSON', { labels: '{"a":' }, /data\.labels is not a JSON object of strings/],
    ['labels that are a list', { labels: '[]' }, /data\.labels/],
    ['labels with a number', { labels: '{"a": 1}' }, /data\.labels/],
    ['other keys only', { other: '{}' }, /is no memory: it is written by .*, and has other/],
    ['a state that is broken JSON', { labels: '{}', state: '{' }, /data\.state is not a state that meshstep wrote/],
    ['a state of another version', { labels: '{}', state: '{"version":3}' }, /data\.state has version 3/],
    [
      'a relation under the id of another',
      { labels: '{}', state: TWO_IDS },
      /data\.state .* relations by {id}\/{role}/,
    ],
    [
      'a state without labels',
      { state: '{"version":1,"relations":{},"units":{},"accepted":{}}' },
      /data\.labels .*the key is missing/,
    ],
  ])('a memory with %s', async (_, data, message) => {
    const world = createWorld()
    inherit(world, data as Record<string, string>, { 'istio.io/use-waypoint': 'on' })
    const before = [world.labels(), world.object('ConfigMap', 'juju-service-mesh-web-labels')]
    const response = await world.post(event('relation-changed', meshRelation({})))
    expect(response.status).toBe(500)
    const { message: text } = (await response.json()) as { message: string }
    expect(text).toMatch(message)
    expect(text).toMatch(/Repair data\.(labels|state) \(kubectl|Rename or delete it|Run a meshstep that reads/)
    expect([world.labels(), world.object('ConfigMap', 'juju-service-mesh-web-labels')]).toEqual(before)
    expect(world.calls.filter(isWrite)).toEqual([])
  })

  test('a databag: what it gave before stays, and the relation is named', async () => {
    const world = createWorld()
    await world.send('relation-changed', meshRelation({ 'istio.io/use-waypoint': 'on' }))
    const outcome = await world.send('relation-changed', meshRelation('{"mesh"'))
    expect(outcome).toMatchObject({
      status: 'saved',
      messages: [expect.stringContaining('relation 7 (service-mesh): labels')],
    })
    expect(world.labels().template).toEqual({ ...TEMPLATE, 'istio.io/use-waypoint': 'on' })
    expect(world.memory()?.labels).toEqual({ 'istio.io/use-waypoint': 'on' })
  })

  test('a bad label is named, the good ones are applied', async () => {
    const world = createWorld()
    const outcome = await world.send(
      'relation-changed',
      meshRelation({ 'istio.io/use-waypoint': 'on', 'bad key': 'x', long: 'x'.repeat(64) }),
    )
    expect(outcome).toMatchObject({
      status: 'changed',
      messages: [expect.stringContaining('bad key'), expect.stringContaining('long')],
    })
    expect(world.labels().template).toEqual({ ...TEMPLATE, 'istio.io/use-waypoint': 'on' })
  })
})

describe('an application moves over from the charm library', () => {
  const clientRelation = {
    relation: { id: 11, endpoint: 'api', interface: 'http', role: 'provides' },
    remote: { application: 'productpage', data: {} },
  }
  const moved = (labels: Record<string, string>) => {
    const world = createWorld()
    inherit(world, { labels: JSON.stringify(labels) }, labels)
    return world
  }

  test('its labels are shared, and gone when they are no longer wanted, whoever wrote them', async () => {
    const world = moved({ 'istio.io/use-waypoint': 'on', old: '1' })
    await world.send('relation-changed', meshRelation({ 'istio.io/use-waypoint': 'on' }))
    expect(world.labels()).toEqual({
      template: { ...TEMPLATE, 'istio.io/use-waypoint': 'on' },
      service: { ...OWN, 'istio.io/use-waypoint': 'on' },
    })
    expect(world.memory()?.labels).toEqual({ 'istio.io/use-waypoint': 'on' })
    await world.send('relation-broken', { relation: { id: 7 } })
    expect(world.labels()).toEqual({ template: TEMPLATE, service: OWN })
    await forgets(world)
  })

  test.each([
    ['a relation that is none of its beacon’s', 'relation-changed', clientRelation],
    ['a config', 'config-changed', { config: {} }],
  ])(
    '%s takes no label off: it waits for the relation that asked for it, or the end of that',
    async (_, type, data) => {
      const world = moved({ 'istio.io/use-waypoint': 'on' })
      const carried = {
        template: { ...TEMPLATE, 'istio.io/use-waypoint': 'on' },
        service: { ...OWN, 'istio.io/use-waypoint': 'on' },
      }
      await world.send(type, data)
      await world.send('resync', {})
      expect(world.labels()).toEqual(carried)
      await world.send('relation-changed', meshRelation({ 'istio.io/use-waypoint': 'on' }))
      expect(world.labels()).toEqual(carried)
      await world.send('relation-broken', { relation: { id: 7 } })
      expect(world.labels()).toEqual({ template: TEMPLATE, service: OWN })
    },
  )

  test('the end of the relation with its beacon takes its labels off, though nothing else was told', async () => {
    const world = moved({ 'istio.io/use-waypoint': 'on' })
    const { relation } = meshRelation({})
    await world.send('relation-broken', { relation, remote: { application: 'beacon' } })
    expect(world.labels()).toEqual({ template: TEMPLATE, service: OWN })
  })

  test('a label that has got another value since is somebody else’s', async () => {
    const world = moved({ 'istio.io/use-waypoint': 'on' })
    setLabels(world, 'kubectl', { 'istio.io/use-waypoint': 'off' })
    await world.send('relation-changed', meshRelation({}))
    expect(world.labels().template['istio.io/use-waypoint']).toBe('off')
    expect(world.labels().service['istio.io/use-waypoint']).toBeUndefined()
  })

  test('a wanted label gets its new value', async () => {
    const world = moved({ 'istio.io/use-waypoint': 'old' })
    expect((await world.send('relation-changed', meshRelation({ 'istio.io/use-waypoint': 'new' }))).status).toBe(
      'changed',
    )
    expect([world.labels().template['istio.io/use-waypoint'], world.labels().service['istio.io/use-waypoint']]).toEqual(
      ['new', 'new'],
    )
  })

  test('an application moves over from the charm library only where the library wrote: a workload that the config names otherwise keeps what its owner gave it', async () => {
    const world = createWorld([workload(), service(), workload('Deployment', 'other'), service('other')])
    inherit(world, { labels: '{"team": "blue"}' })
    await world.send('config-changed', { config: { workload: { kind: 'Deployment', name: 'other' } } })
    expect(world.labels('other').template.team).toBe('blue')
    expect(world.labels().template.team).toBeUndefined()
  })

  test('once: a label that somebody sets afterwards is theirs', async () => {
    const world = createWorld([workload()])
    inherit(world, { labels: '{"istio.io/use-waypoint": "on"}' }, { 'istio.io/use-waypoint': 'on' })
    await world.send('relation-changed', meshRelation({ 'istio.io/use-waypoint-namespace': '1' }))
    expect(world.memory()?.state.libraryLabels).toBeUndefined()
    setLabels(world, 'admin', { 'istio.io/use-waypoint': 'on' })
    await world.send('resync', {})
    expect(world.labels().template['istio.io/use-waypoint']).toBe('on')
  })

  test('an application moves over from the charm library, and is removed with nothing left, though its workload is gone already', async () => {
    const world = moved({ 'istio.io/use-waypoint': 'on' })
    world.api.handle({
      method: 'DELETE',
      path: `/apis/apps/v1/namespaces/${NAMESPACE}/statefulsets/web`,
      headers: {},
    })
    await world.send('application-removed', {})
    expect(world.labels().service).toEqual(OWN)
    await forgets(world)
  })

  test.each([
    ['pod-restarted', { pod: { name: 'web-0', uid: 'u' } }],
    ['leader-elected', { unit: 'web/0' }],
    ['resync', {}],
  ])(
    'an application moves over from the charm library, not by a mere %s: the library may be running it still',
    async (type, data) => {
      const world = moved({ 'istio.io/use-waypoint': 'on' })
      expect(await world.send(type, data)).toMatchObject({
        status: 'unchanged',
        messages: [expect.stringContaining('charm library')],
      })
      expect(world.calls.filter(isWrite)).toEqual([])
    },
  )

  test.each([
    ['an empty ConfigMap', undefined],
    ['a ConfigMap with empty labels', { labels: '{}' }],
  ])('%s that the library left is a memory of nothing', async (_, data) => {
    const world = createWorld()
    inherit(world, data)
    await world.send('relation-changed', meshRelation({ 'istio.io/use-waypoint': 'on' }))
    expect(world.memory()?.labels).toEqual({ 'istio.io/use-waypoint': 'on' })
  })
})

test.each([
  ['rolling', 'StatefulSet'],
  ['in-place', 'Pod'],
])(
  'the Service leads to the waypoint before the pods let only that in, and for as long as they do: %s',
  async (enrolment, kind) => {
    const world = createWorld()
    await world.send('config-changed', { config: { enrolment } })
    const order: string[] = []
    world.api.subscribe(({ object, type }) => {
      if (type === 'MODIFIED' && [kind, 'Service'].includes(object.kind)) order.push(object.kind)
    })
    await world.send('relation-changed', meshRelation())
    expect(order[0]).toBe('Service')
    order.length = 0
    await world.send('relation-broken', { relation: { id: 7 } })
    expect(order.at(-1)).toBe('Service')
  },
)

describe('in-place enrolment', () => {
  const pods = (world: World) =>
    world.api
      .objects()
      .filter(({ kind }) => kind === 'Pod')
      .map(({ metadata }) => [metadata.name, metadata.labels?.['istio.io/use-waypoint'], metadata.uid])

  test('in-place enrolment labels the running pods and not the template: no pod is restarted', async () => {
    const world = createWorld()
    const before = pods(world)
    await world.send('config-changed', { config: { enrolment: 'in-place' } })
    await world.send('relation-changed', meshRelation({ 'istio.io/use-waypoint': 'on' }))
    expect(pods(world)).toEqual(before.map(([name, , uid]) => [name, 'on', uid]))
    expect(world.labels()).toEqual({ template: TEMPLATE, service: { ...OWN, 'istio.io/use-waypoint': 'on' } })
  })

  test('in-place enrolment labels a pod that is made anew when it restarts, and lets go of all when the relation breaks', async () => {
    const world = createWorld()
    await world.send('config-changed', { config: { enrolment: 'in-place' } })
    await world.send('relation-changed', meshRelation({ 'istio.io/use-waypoint': 'on' }))
    world.api.handle({ method: 'DELETE', path: `/api/v1/namespaces/${NAMESPACE}/pods/web-0`, headers: {} })
    expect(pods(world).map(([, mesh]) => mesh)).toContain(undefined)
    expect((await world.send('pod-restarted', { pod: { name: 'web-0', uid: 'new' } })).written).toContain(
      'Pod shop/web-0',
    )
    expect(pods(world).map(([, mesh]) => mesh)).toEqual(['on', 'on'])
    await world.send('relation-broken', { relation: { id: 7 } })
    expect(pods(world).map(([, mesh]) => mesh)).toEqual([undefined, undefined])
  })

  test('in-place enrolment changes to rolling, and back', async () => {
    const world = createWorld()
    await world.send('relation-changed', meshRelation({ 'istio.io/use-waypoint': 'on' }))
    await world.send('config-changed', { config: { enrolment: 'in-place' } })
    expect(world.labels().template).toEqual(TEMPLATE)
    await world.send('pod-restarted', { pod: { name: 'web-0', uid: 'new' } })
    expect(pods(world).map(([, mesh]) => mesh)).toEqual(['on', 'on'])
    await world.send('config-changed', { config: {} })
    expect(world.labels().template).toEqual({ ...TEMPLATE, 'istio.io/use-waypoint': 'on' })
  })

  test('in-place enrolment leaves alone a pod that only looks like one of the workload’s', async () => {
    const world = createWorld()
    world.api.seed(
      [
        {
          apiVersion: 'v1',
          kind: 'Pod',
          metadata: { name: 'debug', namespace: NAMESPACE, labels: OWN },
          spec: { containers: [{ name: 'c', image: 'x' }] },
        },
      ],
      { manager: 'kubectl' },
    )
    await world.send('config-changed', { config: { enrolment: 'in-place' } })
    await world.send('relation-changed', meshRelation({ 'istio.io/use-waypoint': 'on' }))
    expect(world.object('Pod', 'debug')?.metadata.labels).toEqual(OWN)
  })
})

describe('pods of others, in place', () => {
  const labelledPods = (world: World) =>
    world.api
      .objects()
      .filter(({ kind, metadata }) => kind === 'Pod' && metadata.labels?.['istio.io/use-waypoint'] === 'on')
      .map(({ metadata }) => metadata.name)

  test('pods of others, in place are left alone when the selector has expressions only', async () => {
    const object = workload('Deployment')
    const selector = { matchExpressions: [{ key: 'app.kubernetes.io/name', operator: 'In', values: ['web'] }] }
    const db = workload('StatefulSet', 'db')
    const world = createWorld([{ ...object, spec: { ...object.spec, selector } }, service(), db])
    await world.send('config-changed', { config: { enrolment: 'in-place' } })
    await world.send('relation-changed', meshRelation({ 'istio.io/use-waypoint': 'on' }))
    expect(labelledPods(world)).toEqual([expect.stringMatching(/^web-/), expect.stringMatching(/^web-/)])
  })

  test('pods of others, in place are left alone when they have the same labels but another controller', async () => {
    const world = createWorld()
    const ownerReferences = [{ apiVersion: 'batch/v1', kind: 'Job', name: 'migrate', uid: 'j', controller: true }]
    world.api.seed(
      [
        {
          apiVersion: 'v1',
          kind: 'Pod',
          metadata: { name: 'migrate-x', namespace: NAMESPACE, labels: OWN, ownerReferences },
          spec: { containers: [{ name: 'c', image: 'x' }] },
        },
      ],
      { manager: 'kube-controller-manager' },
    )
    await world.send('config-changed', { config: { enrolment: 'in-place' } })
    await world.send('relation-changed', meshRelation({ 'istio.io/use-waypoint': 'on' }))
    expect(labelledPods(world)).toEqual(['web-0', 'web-1'])
  })
})

describe('an application is removed', () => {
  test('an application is removed, and nothing of it is left, wherever it was', async () => {
    const world = createWorld([workload(), service(), service('other')])
    await world.send('config-changed', { config: { service: 'other', labels: { extra: '1' } } })
    await world.send('relation-changed', meshRelation())
    await world.send('leader-elected', { unit: 'web/0', epoch: 3 })
    expect((await world.send('application-removed', {})).status).toBe('changed')
    expect(world.labels()).toEqual({ template: TEMPLATE, service: OWN })
    expect(world.labels('other').service).toEqual({ 'app.kubernetes.io/name': 'other' })
    await forgets(world)
  })
})
