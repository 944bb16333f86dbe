import { describe, expect, test } from 'vitest'
import {
  createEmptyWorld,
  deployed,
  deployedObjects,
  forget,
  imageOf,
  patch,
  podSpec,
  pods,
  STATEFUL,
  templateOf,
  view,
  writesOf,
} from '../../helpers/application.ts'
import { createWorld, event, MESH_LABELS, meshRelation, service, type World, workload } from '../../helpers/world.ts'
import { answerTo } from '../answers.ts'
import { reordered } from './samples.ts'

const running = async (data: Record<string, unknown> = deployed()) => {
  const world = createEmptyWorld()
  await world.send('config-changed', data)
  return world
}

/** The API server refuses objects of a kind, 422, which it took when they were tried. */
const refuse = (world: World, plural: string) => {
  world.intercept = ({ method, path }) =>
    method === 'PATCH' && path.includes(`/${plural}/`) && !path.includes('dryRun=All')
      ? {
          status: 422,
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify({
            kind: 'Status',
            status: 'Failure',
            code: 422,
            reason: 'Invalid',
            message: 'is invalid: x',
          }),
        }
      : undefined
}

const managersOf = (world: World, kind: string) =>
  (world.object(kind)?.metadata.managedFields ?? [])
    .filter(({ operation }) => operation === 'Apply')
    .map(({ manager }) => manager)

describe('a workload of its own', () => {
  test.each([
    ['stateless', {}, ['Deployment web', 'Service web', 'ServiceAccount web']],
    ['stateful', STATEFUL, ['Service web', 'Service web-endpoints', 'ServiceAccount web', 'StatefulSet web']],
    ['without a Service', { deployment: { service: 'omit' } }, ['Deployment web', 'ServiceAccount web']],
    [
      'with an account of its own',
      { podSpec: { ...podSpec(), serviceAccountName: 'other' } },
      ['Deployment web', 'Service web'],
    ],
  ])('%s', async (_, changes, expected) => {
    const world = await running(deployed(changes))
    expect(deployedObjects(world)).toEqual(expected)
    const kind = world.object('Deployment') ? 'Deployment' : 'StatefulSet'
    expect(managersOf(world, kind)).toEqual(['meshstep-workload/web'])
    expect((await view(world)).status).toEqual({ status: 'active', message: '' })
  })

  test.each([
    ['cluster', {}, { type: 'ClusterIP' }],
    ['loadbalancer', { deployment: { service: 'loadbalancer' } }, { type: 'LoadBalancer' }],
    [
      'external',
      { deployment: { service: 'external', externalName: 'db.example.com' } },
      { type: 'ExternalName', externalName: 'db.example.com' },
    ],
    [
      'the user’s wish before the author’s',
      { deployment: { service: 'cluster' }, 'kubernetes-service-type': 'loadbalancer' },
      { type: 'LoadBalancer' },
    ],
  ])('its Service: %s', async (_, changes, spec) => {
    const world = await running(deployed(changes))
    expect(world.object('Service')?.spec).toMatchObject(spec)
  })

  test('its Service changes from any kind to any other, and back', async () => {
    const world = await running()
    const kinds = [
      'external',
      'cluster',
      'loadbalancer',
      'omit',
      'external',
      'omit',
      'cluster',
      'external',
      'loadbalancer',
    ]
    const types: Record<string, string> = {
      cluster: 'ClusterIP',
      loadbalancer: 'LoadBalancer',
      external: 'ExternalName',
    }
    for (const kind of kinds) {
      const outcome = await world.send(
        'config-changed',
        deployed({ deployment: { externalName: 'a.example.com' }, 'kubernetes-service-type': kind }),
      )
      expect([kind, outcome.status, world.object('Service')?.spec?.type]).toEqual([kind, 'changed', types[kind]])
    }
  })

  const CLAIMS = { volumeClaimTemplates: [{ metadata: { name: 'data' }, spec: {} }] }

  test.each([
    ['storage without a type', CLAIMS, 'expected stateful'],
    ['storage, stateless', { ...CLAIMS, deployment: { type: 'stateless' } }, 'expected stateful'],
    ['a type that is not known', { deployment: { type: 'daemon' } }, 'one of stateless stateful'],
    [
      'a Service that is not known',
      { deployment: { service: 'nodeport' } },
      'one of cluster loadbalancer external omit',
    ],
    ['a wish that is not known', { 'kubernetes-service-type': 'any' }, 'one of cluster loadbalancer external omit'],
    [
      'external without a name',
      { deployment: { service: 'external' } },
      'data.config.workload.deployment.externalName',
    ],
    ['no containers', { podSpec: { containers: [] } }, 'expected at least one container'],
    [
      'a Service without a port',
      { podSpec: podSpec('a', { ports: [] }), deployment: { service: 'cluster' } },
      'needs a port',
    ],
  ])('%s is refused at the door, and what runs stays', async (_, changes, message) => {
    const world = await running()
    const before = world.api.objects()
    const { status, text } = await answerTo(world, deployed(changes))
    expect(status).toBe(400)
    expect(text).toContain(message)
    expect(world.api.objects()).toEqual(before)
  })

  test('the same one again writes nothing but that it was told, whatever the order of its keys', async () => {
    const world = await running()
    const written = await writesOf(world, () => world.send('config-changed', reordered(deployed())))
    expect(written.filter((call) => !call.includes('/configmaps/juju-service-mesh-web-labels'))).toEqual([])
  })

  test('drift in it is taken back, but for replicas, which are nobody’s', async () => {
    const world = await running()
    patch(world, 'Deployment', { spec: { replicas: 3, template: { spec: { serviceAccountName: 'evil' } } } })
    patch(world, 'Service', { spec: { selector: { 'app.kubernetes.io/name': 'other' } } })
    await world.send('resync', {})
    expect(templateOf(world)?.spec).toMatchObject({ serviceAccountName: 'web' })
    expect(world.object('Deployment')?.spec?.replicas).toBe(3)
    expect(world.object('Service')?.spec?.selector).toEqual({ 'app.kubernetes.io/name': 'web' })
  })

  test('a workload of its own changes between stateless and stateful, and nothing of the former is left', async () => {
    const world = await running()
    const stateless = deployedObjects(world)
    await world.send('config-changed', deployed(STATEFUL))
    expect(deployedObjects(world)).toEqual([
      'Service web',
      'Service web-endpoints',
      'ServiceAccount web',
      'StatefulSet web',
    ])
    expect(pods(world).map(({ metadata }) => metadata.name)).toEqual(['web-0'])
    await world.send('config-changed', deployed())
    expect(deployedObjects(world)).toEqual(stateless)
  })
})

describe('a spec that the API server refuses', () => {
  test('a spec that the API server refuses is an error, and changes nothing that runs until it is right', async () => {
    const world = await running()
    const before = world.api.objects().filter(({ kind }) => kind !== 'ConfigMap')
    refuse(world, 'deployments')
    const bad = deployed({ podSpec: podSpec('web:2', { ports: [{ containerPort: 81 }] }) })
    const outcome = await world.send('config-changed', bad)
    expect(outcome).toMatchObject({
      status: 'waiting',
      applicationStatus: { status: 'error', message: expect.stringContaining('is invalid: x') },
    })
    expect(world.api.objects().filter(({ kind }) => kind !== 'ConfigMap')).toEqual(before)
    expect((await view(world)).status.status).toBe('error')
    world.intercept = undefined
    await world.send('resync', {})
    expect([imageOf(world), (await view(world)).status.status]).toEqual(['web:2', 'active'])
  })

  test('a spec that the API server refuses does not take away what it was to replace, nor its labels, nor its units', async () => {
    const world = await running()
    await world.send('relation-changed', meshRelation())
    const before = world.api.objects().filter(({ kind }) => kind !== 'ConfigMap')
    const { units } = await view(world)
    refuse(world, 'statefulsets')
    await world.send('config-changed', deployed({ deployment: { type: 'stateful', service: 'omit' } }))
    expect(world.api.objects().filter(({ kind }) => kind !== 'ConfigMap')).toEqual(before)
    expect((await view(world)).units).toEqual(units)
    world.intercept = undefined
    await world.send('resync', {})
    expect(deployedObjects(world)).toEqual(['Service web-endpoints', 'ServiceAccount web', 'StatefulSet web'])
    expect(templateOf(world)?.metadata.labels).toMatchObject(MESH_LABELS)
  })

  test('a spec that the API server refuses does not keep what runs on the mesh that it leaves', async () => {
    const world = await running()
    await world.send('relation-changed', meshRelation())
    refuse(world, 'statefulsets')
    await world.send('config-changed', deployed(STATEFUL))
    await world.send('relation-broken', { relation: { id: 7 } })
    expect(templateOf(world)?.metadata.labels).toEqual({ 'app.kubernetes.io/name': 'web' })
  })
})

describe('a spec that people change', () => {
  const DAY = 24 * 60 * 60 * 1_000

  test('a spec that people change is applied each time: a month of image updates, and a rollback', async () => {
    const world = await running()
    for (const day of Array.from({ length: 30 }).keys()) {
      world.clock.advance(DAY)
      expect(await world.send('config-changed', deployed({ podSpec: podSpec(`web:${day}`) }))).toMatchObject({
        status: 'changed',
      })
      expect(imageOf(world)).toBe(`web:${day}`)
    }
    await world.send('config-changed', deployed({ podSpec: podSpec('web:28') }))
    expect([imageOf(world), (await view(world)).status.status]).toEqual(['web:28', 'active'])
  })
})

describe('the mesh’s labels on the same template', () => {
  test('the mesh’s labels on the same template and the spec are one manager’s business: each changes without the other', async () => {
    const world = await running()
    await world.send('relation-changed', meshRelation())
    await world.send('config-changed', deployed({ podSpec: podSpec('web:2') }))
    expect([imageOf(world), templateOf(world)?.metadata.labels]).toEqual([
      'web:2',
      { 'app.kubernetes.io/name': 'web', ...MESH_LABELS },
    ])
    expect(managersOf(world, 'Deployment')).toEqual(['meshstep-workload/web'])
    await world.send('relation-broken', { relation: { id: 7 } })
    expect([imageOf(world), templateOf(world)?.metadata.labels]).toEqual(['web:2', { 'app.kubernetes.io/name': 'web' }])
    await world.send('relation-changed', { ...meshRelation(), relation: { ...meshRelation().relation, id: 8 } })
    expect(templateOf(world)?.metadata.labels).toMatchObject(MESH_LABELS)
  })

  test('drift of each is repaired, and then both are quiet', async () => {
    const world = await running()
    await world.send('relation-changed', meshRelation())
    patch(world, 'Deployment', {
      spec: {
        template: { metadata: { labels: { 'istio.io/dataplane-mode': null } }, spec: { serviceAccountName: 'x' } },
      },
    })
    await world.send('resync', {})
    expect(templateOf(world)).toMatchObject({ metadata: { labels: MESH_LABELS }, spec: { serviceAccountName: 'web' } })
    expect(await writesOf(world, () => world.send('resync', {}))).toEqual([])
  })

  test('the mesh’s labels on the same template are there with the workload, when both are told at the same moment', async () => {
    const world = createEmptyWorld()
    const answers = await Promise.all([
      world.post(event('config-changed', deployed())),
      world.post(event('relation-changed', meshRelation())),
    ])
    expect(answers.map(({ status }) => status)).toEqual([200, 200])
    expect(world.labels()).toMatchObject({ template: MESH_LABELS, service: MESH_LABELS })
    expect((await view(world)).units).toHaveLength(1)
  })

  test('the mesh’s labels on the same template are there when the relation was told first, while there was nothing to label', async () => {
    const world = createEmptyWorld()
    expect(await world.send('relation-changed', meshRelation())).toMatchObject({ status: 'waiting' })
    expect(await world.send('config-changed', deployed())).toMatchObject({ status: 'changed' })
    expect(world.labels()).toMatchObject({ template: MESH_LABELS, service: MESH_LABELS })
  })
})

describe('the end of a workload', () => {
  const others = (name: string) => [workload('StatefulSet', name), service(name)]

  test.each([
    ['the application is removed', 'application-removed', {}],
    ['the config has none any more', 'config-changed', { config: {} }],
  ])('%s: all that was made for it goes, and nothing of others', async (_, type, data) => {
    const world = createWorld(others('db'))
    await world.send('config-changed', deployed(STATEFUL))
    await world.send('relation-changed', meshRelation())
    await world.send(type, data)
    expect(deployedObjects(world)).toEqual(['Service db', 'StatefulSet db'])
    expect(pods(world).map(({ metadata }) => metadata.name)).toEqual(['db-0', 'db-1'])
  })

  test('namesakes that are somebody else’s are left alone, from the beginning to the end', async () => {
    const account = { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: 'web', namespace: 'shop' } }
    const world = createWorld([workload('Deployment'), service(), account])
    const before = world.api.objects().filter(({ kind }) => kind !== 'ConfigMap')
    const outcome = await world.send('config-changed', deployed())
    expect(outcome).toMatchObject({ status: 'conflict' })
    expect(outcome.conflicts.map(({ object }) => object).toSorted()).toEqual([
      'Deployment shop/web',
      'Service shop/web',
      'ServiceAccount shop/web',
    ])
    await world.send('application-removed', {})
    expect(world.api.objects().filter(({ kind }) => kind !== 'ConfigMap')).toEqual(before)
  })

  test('one that comes between looking and making is told like one that was there', async () => {
    const before = createWorld([workload('Deployment')])
    const expected = await before.send('config-changed', deployed())
    const world = createEmptyWorld()
    world.intercept = ({ method, path }) => {
      if (method !== 'PATCH' || !path.includes('/deployments/') || path.includes('dryRun')) return undefined
      world.intercept = undefined
      world.api.seed([workload('Deployment')], { manager: 'juju' })
      return undefined
    }
    const { status, conflicts, messages } = await world.send('config-changed', deployed())
    expect({ status, conflicts, messages }).toEqual({
      status: 'conflict',
      conflicts: expected.conflicts,
      messages: expected.messages,
    })
    expect(conflicts.map(({ object }) => object)).toEqual(['Deployment shop/web'])
    expect(imageOf(world)).toBe(imageOf(before))
  })

  test('a namesake of what is to replace it keeps it running', async () => {
    const world = await running()
    world.api.seed([workload('StatefulSet')], { manager: 'juju' })
    expect(await world.send('config-changed', deployed(STATEFUL))).toMatchObject({ status: 'conflict' })
    expect(world.object('Deployment')).toBeDefined()
  })
})

describe('a memory that was lost', () => {
  test('a memory that was lost is told again: nothing is written but itself', async () => {
    const world = await running()
    const before = world.api.objects().filter(({ kind }) => kind !== 'ConfigMap')
    forget(world)
    await world.send('config-changed', deployed())
    expect(world.api.objects().filter(({ kind }) => kind !== 'ConfigMap')).toEqual(before)
  })

  test('a memory that was lost is not told again: what runs goes on running, until the application is removed', async () => {
    const world = createEmptyWorld({ isOwnSink: true })
    await world.send('config-changed', deployed(STATEFUL))
    const before = deployedObjects(world)
    forget(world)
    await world.post({ ...event('resync', {}), data: { namespace: 'shop' } })
    expect(deployedObjects(world)).toEqual(before)
    await world.send('application-removed', {})
    expect(deployedObjects(world)).toEqual([])
  })
})
