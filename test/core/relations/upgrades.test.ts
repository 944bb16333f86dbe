import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { createEmptyWorld, view } from '../../helpers/application.ts'
import { runs, some } from '../../helpers/runs.ts'
import { createWorld, MESH_LABELS, service, type World, workload } from '../../helpers/world.ts'

type Data = Record<string, unknown>
type Databag = Record<string, string>

/** What a remote side that speaks some versions publishes: flat keys in version 0, a document in version 1. */
const says = (content: Databag, versions: readonly number[] | undefined): Data => ({
  ...((versions ?? [0]).includes(0) && content),
  ...(versions?.includes(1) && {
    data: JSON.stringify(Object.fromEntries(Object.entries(content).map(([key, value]) => [key, meant(value)]))),
  }),
  ...(versions && { _supported_versions: JSON.stringify(versions.map((version) => `v${version}`)) }),
})

const meant = (text: string): unknown => {
  try {
    const value = JSON.parse(text)
    return typeof value === 'number' ? text : value
  } catch {
    return text
  }
}

/** undefined publishes no versions at all, as charm libraries do. */
const REMOTE = [undefined, [0], [1], [0, 1]] as const
const LOCAL = [undefined, [0], [1]] as const

const isCommon = (local: readonly number[] | undefined, remote: readonly number[] | undefined): boolean =>
  (local ?? [0, 1]).some((version) => (remote ?? [0]).includes(version))

const MATRIX = LOCAL.flatMap((local) => REMOTE.map((remote) => ({ local, remote })))

type Interface = 'service_mesh' | 'cross_model_mesh' | 'cluster' | 'k8s-service'

/** One side of an interface: what the other side says, what it says that content for, and whether it was heard. */
type Side = {
  role: 'provides' | 'requires'
  interface: Interface
  endpoint: string
  config: Data
  content: Databag
  units?: Record<string, Databag>
  /** Beside the relation, for it to have an effect. */
  also?: (world: World) => Promise<unknown>
  isHeard: (world: World) => boolean | Promise<boolean>
}

const labelsOf = (world: World) => world.labels().template
const objects = (world: World, kind: string) => world.api.objects().filter((one) => one.kind === kind)

const meshed = (id: number, data: Data) => ({
  relation: { id, endpoint: 'service-mesh', interface: 'service_mesh', role: 'requires' },
  remote: { application: 'beacon', data },
})

const published = (world: World, application: string): string =>
  JSON.stringify(world.published.findLast(({ subject }) => subject === `shop/${application}`)?.data ?? '')

const SIDES: readonly Side[] = [
  {
    role: 'requires',
    interface: 'service_mesh',
    endpoint: 'service-mesh',
    config: {},
    content: { labels: JSON.stringify(MESH_LABELS), mesh_type: '"istio"' },
    isHeard: (world) => labelsOf(world)['istio.io/dataplane-mode'] === 'ambient',
  },
  {
    role: 'provides',
    interface: 'service_mesh',
    endpoint: 'service-mesh',
    config: { mesh: {} },
    content: {
      policies: JSON.stringify([
        {
          source_namespace: 'shop',
          source_app_name: 'client',
          target_namespace: 'shop',
          target_app_name: 'remote',
          target_service: null,
          target_type: 'app',
          endpoints: [{ ports: [80], hosts: null, methods: null, paths: null }],
        },
      ]),
    },
    isHeard: (world) => JSON.stringify(objects(world, 'AuthorizationPolicy')).includes('/sa/client'),
  },
  {
    role: 'provides',
    interface: 'cross_model_mesh',
    endpoint: 'provide-cmr-mesh',
    config: { policies: [{ type: 'app', relation: 'api', endpoints: [{ ports: [80] }] }] },
    content: { cmr_data: JSON.stringify({ app_name: 'remote', juju_model_name: 'elsewhere' }) },
    also: async (world) => {
      await world.send('relation-changed', meshed(1, { labels: '{}', mesh_type: '"istio"' }))
      await world.send('relation-changed', {
        relation: { id: 2, endpoint: 'api', interface: 'http', role: 'provides' },
        remote: { application: 'remote', data: {} },
      })
    },
    isHeard: (world) => published(world, 'beacon').includes('elsewhere'),
  },
  {
    role: 'requires',
    interface: 'k8s-service',
    endpoint: 'database',
    config: {},
    content: { 'service-name': 'db', 'service-port': '5432' },
    isHeard: async (world) => (await view(world)).services.length === 1,
  },
  {
    role: 'requires',
    interface: 'cluster',
    endpoint: 'cluster',
    config: { worker: { roles: ['a'] } },
    content: { worker_config: '"x: 1"', worker_labels: '{"istio.io/use-waypoint": "green"}' },
    isHeard: (world) => labelsOf(world)['istio.io/use-waypoint'] === 'green',
  },
  {
    role: 'provides',
    interface: 'cluster',
    endpoint: 'cluster',
    config: { coordinator: { roles: ['read'], minimalDeployment: ['read'] } },
    content: { role: '"read"' },
    units: {
      'remote/0': {
        juju_topology: '{"application": "remote", "unit": "remote/0", "charm_name": "remote"}',
        address: '"remote-0.remote-endpoints"',
      },
    },
    isHeard: async (world) => !/Missing roles|and 1 more/.test((await view(world)).status.message),
  },
]

const sideName = ({ role, interface: name }: Side) => `${name}, ${role}`

const relate = (world: World, side: Side, data: Data) =>
  world.send('relation-changed', {
    relation: { id: 7, endpoint: side.endpoint, interface: side.interface, role: side.role },
    remote: { application: 'remote', data, ...(side.units && { units: side.units }) },
  })

const configure = (world: World, { config, interface: name }: Side, local: readonly number[] | undefined) =>
  world.send('config-changed', { config: { ...config, ...(local && { versions: { [name]: local } }) } })

const NAMES = (versions: readonly number[]) => versions.map((version) => `v${version}`).join(', ')

describe.each(SIDES.map((side) => [sideName(side), side] as const))('%s', (_, side) => {
  const begin = async (local: readonly number[] | undefined) => {
    const world = createWorld([workload(), service()])
    await configure(world, side, local)
    await side.also?.(world)
    return world
  }

  test.each(MATRIX)(
    '$local here and $remote there: spoken, or blocked with both ranges named',
    async ({ local, remote }) => {
      const world = await begin(local)
      const outcome = await relate(world, side, says(side.content, remote))
      const { status } = await view(world)
      if (isCommon(local, remote)) {
        expect(await side.isHeard(world)).toBe(true)
        expect(outcome.messages.join()).not.toContain('no version in common')
        return
      }
      const why = `${side.interface}: no version in common: ${NAMES(local ?? [0, 1])} here, ${NAMES(remote ?? [0])} there`
      expect(outcome.messages.join()).toContain(why)
      expect(outcome.applicationStatus).toEqual(status)
      expect(status).toMatchObject({ status: 'blocked', message: expect.stringContaining(why) })
    },
  )

  test('both sides may be upgraded and downgraded in any order: what was agreed once holds throughout', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(
          fc.oneof(fc.record({ local: fc.constantFrom(...LOCAL) }), fc.record({ remote: fc.constantFrom(...REMOTE) })),
          { maxLength: 8 },
        ),
        async (changes) => {
          const world = await begin(undefined)
          await relate(world, side, says(side.content, [0, 1]))
          let [local, remote]: (readonly number[] | undefined)[] = [undefined, [0, 1]]
          for (const change of changes) {
            if ('local' in change) local = change.local
            else remote = change.remote
            if ('local' in change) await configure(world, side, local)
            else await relate(world, side, says(side.content, remote))
            expect(await side.isHeard(world)).toBe(true)
            const message = (await view(world)).status.message
            expect(message.includes('no version in common')).toBe(!isCommon(local, remote))
          }
        },
      ),
      { numRuns: runs(25), seed: 4 },
    )
  })
})

describe('what is published', () => {
  test.each([
    ['all versions', undefined, ['service-name', 'data']],
    ['version 0 alone', [0], ['service-name']],
    ['version 1 alone', [1], ['data']],
  ] as const)('%s, with the versions beside it', async (_, local, keys) => {
    const world = createEmptyWorld()
    world.api.seed([service('db')], { manager: 'juju' })
    const config = {
      services: { database: { name: 'db', port: 1 } },
      ...(local && { versions: { 'k8s-service': local } }),
    }
    await world.send('config-changed', { config })
    await world.send('relation-changed', {
      relation: { id: 7, endpoint: 'database', interface: 'k8s-service', role: 'provides' },
      remote: { application: 'api', data: {} },
    })
    const [first] = world.published
    const { data } = (first?.data as { remote?: { data?: Data } } | undefined)?.remote ?? {}
    expect(Object.keys(data ?? {}).toSorted()).toEqual(
      [...keys, ...(keys[0] === 'service-name' ? ['service-port'] : []), '_supported_versions'].toSorted(),
    )
  })
})

describe('an upgrade or a downgrade', () => {
  test('never takes the labels off the workload for a moment, whichever side it is and whatever it speaks', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.tuple(fc.constantFrom(...LOCAL), fc.constantFrom(...REMOTE), fc.boolean()), { maxLength: 6 }),
        async (changes) => {
          const world = createWorld([workload(), service()])
          const content = { labels: JSON.stringify(MESH_LABELS), mesh_type: '"istio"' }
          await world.send('relation-changed', meshed(7, says(content, undefined)))
          let without = 0
          world.api.subscribe(({ object }) => {
            const labels = object.kind === 'StatefulSet' ? labelsOf(world) : object.metadata.labels
            const isTarget = object.metadata.name === 'web' && ['StatefulSet', 'Service'].includes(object.kind)
            if (isTarget && labels?.['istio.io/use-waypoint'] === undefined) without += 1
          })
          const events = changes.map(([local, remote, isRemote]) =>
            isRemote
              ? () => world.send('relation-changed', meshed(7, says(content, remote)))
              : () => world.send('config-changed', { config: local ? { versions: { service_mesh: local } } : {} }),
          )
          for (const change of events) await change()
          expect(without).toBe(0)
          expect(world.labels()).toMatchObject({ template: MESH_LABELS, service: MESH_LABELS })
        },
      ),
      { numRuns: runs(40), seed: 5 },
    )
  })

  test('of a provider, of its configuration alone, never announces a service again', async () => {
    const world = createEmptyWorld()
    const content = { 'service-name': 'db', 'service-port': '5432' }
    for (const remote of [undefined, [0], [0, 1], [1], [0, 1], undefined])
      await world.send('relation-changed', {
        relation: { id: 7, endpoint: 'database', interface: 'k8s-service', role: 'requires' },
        remote: { application: 'db', data: says(content, remote) },
      })
    expect(world.published.filter(({ type }) => type.includes('.service-'))).toHaveLength(1)
  })

  test('of both ends in one process comes to the same, whatever each of them speaks', async () => {
    for (const { local, remote } of some(
      MATRIX.filter(({ remote: there }) => there !== undefined),
      2,
    )) {
      const world = createWorld([workload(), service()], { isOwnSink: true })
      const versions = (spoken: readonly number[] | undefined) => (spoken ? { versions: { service_mesh: spoken } } : {})
      await world.send('config-changed', { application: 'beacon', config: { mesh: {}, ...versions(remote) } })
      await world.send('config-changed', { config: versions(local) })
      await world.send('relation-changed', meshed(7, {}))
      const isLabelled = labelsOf(world)['istio.io/use-waypoint'] === 'shop-beacon-waypoint'
      expect([local, remote, isLabelled]).toEqual([local, remote, isCommon(local, remote)])
      expect((await view(world, 'beacon')).status.status === 'blocked').toBe(!isCommon(local, remote))
      // upgraded at last
      await world.send('config-changed', { config: {} })
      expect(labelsOf(world)['istio.io/use-waypoint']).toBe('shop-beacon-waypoint')
      expect((await view(world)).status.status).toBe('active')
    }
  })
})
