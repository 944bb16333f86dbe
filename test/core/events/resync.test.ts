import { describe, expect, test } from 'vitest'
import { sweep } from '../../../src/core/events/sweep.ts'
import type { Handled } from '../../../src/core/reconcile/outcome.ts'
import { features } from '../../../src/features.ts'
import { createLog } from '../../../src/platform/base/log.ts'
import { createKubernetes } from '../../../src/platform/kubernetes/client.ts'
import type { KubernetesObject } from '../../../src/platform/kubernetes/objects.ts'
import { pods } from '../../helpers/application.ts'
import { configure, createMesh, provides, related, requires, wire } from '../../helpers/beacon-world.ts'
import { createCluster, relate } from '../../helpers/cluster.ts'
import {
  createWorld,
  event,
  isWrite,
  meshRelation,
  NAMESPACE,
  service,
  type World,
  workload,
} from '../../helpers/world.ts'

const ALL = { namespace: NAMESPACE, application: undefined }
const USE_WAYPOINT = 'istio.io/use-waypoint'

const resync = (world: World): Promise<Handled> => world.send('resync', ALL)

const sentIn = (world: World): (string | undefined)[] =>
  world.published.filter(({ type }) => type === 'dev.meshstep.resync.v1').map(({ subject }) => subject)

/** Applications that select no pods of each other. */
const application = (name: string): KubernetesObject[] => {
  const labels = { 'app.kubernetes.io/name': name }
  const [deployed, reached] = [workload('StatefulSet', name), service(name)]
  const template = { ...(deployed.spec?.template as object), metadata: { labels } }
  return [
    { ...deployed, spec: { ...deployed.spec, selector: { matchLabels: labels }, template } },
    { ...reached, spec: { ...reached.spec, selector: labels } },
  ]
}

const namesOf = (count: number): string[] => Array.from({ length: count }, (_, index) => `app-${index}`)

type Options = NonNullable<Parameters<typeof createWorld>[1]>

/** Applications with labels of their own, and nothing to do. */
const createMany = async (count: number, options: Options = { isOwnSink: true }): Promise<World> => {
  const world = createWorld(namesOf(count).flatMap(application), options)
  for (const name of namesOf(count))
    await world.send('config-changed', { application: name, config: { labels: { [USE_WAYPOINT]: 'own' } } })
  world.calls.length = 0
  world.published.length = 0
  return world
}

/** Somebody takes a label off a Service. */
const drift = (world: World, name: string, value: string | null = null) =>
  world.api.handle({
    method: 'PATCH',
    path: `/api/v1/namespaces/${NAMESPACE}/services/${name}?fieldManager=somebody`,
    headers: { 'content-type': 'application/merge-patch+json' },
    body: JSON.stringify({ metadata: { labels: { [USE_WAYPOINT]: value } } }),
  })

const labelOf = (world: World, name: string) => world.labels(name).service[USE_WAYPOINT]

/** LISTs of memories, documents, StatefulSets, Deployments, Services, pods and nine kinds that applications own, and the namespace. */
const SHARED = 16

/** The calls for a part of an application's resync alone. */
const unshared = (calls: readonly string[]): string[] => calls.filter((call) => !call.includes('limit=500'))

describe('a resync of a namespace with nothing to do', () => {
  test.each([
    ['in a process that is its own sink', true],
    ['with a broker', false],
  ])('a resync of a namespace with nothing to do makes no call for any application, %s', async (_, isOwnSink) => {
    for (const count of [3, 24]) {
      const world = await createMany(count, { isOwnSink })
      const { messages } = await resync(world)
      expect(messages).toEqual([`looked at ${count} applications, and sent a resync to 0 of them`])
      expect(world.calls).toHaveLength(SHARED)
      expect(world.published).toEqual([])
    }
  })

  test('a resync of a namespace with nothing to do lists 500 objects of a kind at a time', async () => {
    const world = await createMany(3)
    world.api.seed(
      Array.from({ length: 1_200 }, (_, index) => service(`other-${index}`)),
      { manager: 'juju' },
    )
    await resync(world)
    expect(world.calls).toHaveLength(SHARED + 2)
  })

  test('a resync of a namespace with nothing to do makes one call for each application that may keep secrets, and for each name that has no memory', async () => {
    const world = createWorld(
      namesOf(5).flatMap((name) => [service(name)]),
      { isOwnSink: true },
    )
    const podSpec = { containers: [{ name: 'c', image: 'x:1' }] }
    for (const name of namesOf(5))
      await world.send('config-changed', { application: name, config: { workload: { podSpec } } })
    for (const name of namesOf(5))
      await world.send('relation-changed', related(1, 'db', { application: 'stranger' }, { application: name }))
    await resync(world)
    world.calls.length = 0
    await resync(world)
    expect(unshared(world.calls).filter((call) => !call.includes('/secrets/'))).toEqual([
      `GET /api/v1/namespaces/${NAMESPACE}`,
      `GET /api/v1/namespaces/${NAMESPACE}/configmaps/juju-service-mesh-stranger-labels`,
    ])
    expect(unshared(world.calls).filter((call) => call.includes('/secrets/'))).toHaveLength(5)
  })
})

describe('a resync of a namespace with something to do', () => {
  test('a resync of a namespace with something to do repairs the one application of many that drifted', async () => {
    const world = await createMany(40)
    drift(world, 'app-7')
    const { messages, effects } = await resync(world)
    expect(messages).toEqual(['looked at 40 applications, and sent a resync to 1 of them'])
    expect(effects).toMatchObject([
      { application: 'app-7', status: 'changed', drift: [{ object: 'Service shop/app-7', label: USE_WAYPOINT }] },
    ])
    expect(labelOf(world, 'app-7')).toBe('own')
    const own = unshared(world.calls).filter((call) => !call.endsWith(`/namespaces/${NAMESPACE}`))
    expect(own.filter((call) => !call.includes('app-7'))).toEqual([])
    expect(own.filter(isWrite)).toHaveLength(3)
  })

  test('a resync of a namespace with something to do sends an event to a broker for that one alone, and its step reads for itself', async () => {
    const world = await createMany(40, {})
    drift(world, 'app-7')
    await resync(world)
    expect(sentIn(world)).toEqual(['shop/app-7'])
    expect([labelOf(world, 'app-7'), world.calls.filter(isWrite)]).toEqual([undefined, []])
    for (const one of world.published) expect((await world.post(one)).status).toBe(200)
    expect(labelOf(world, 'app-7')).toBe('own')
  })

  test('a resync of a namespace with something to do sends one also for an application that only has something to say', async () => {
    const world = await createMany(3, {})
    world.api.handle({ method: 'DELETE', path: `/api/v1/namespaces/${NAMESPACE}/services/app-1`, headers: {} })
    await resync(world)
    expect(sentIn(world)).toEqual(['shop/app-1'])
    const own = await createMany(3)
    own.api.handle({ method: 'DELETE', path: `/api/v1/namespaces/${NAMESPACE}/services/app-1`, headers: {} })
    const { effects, messages } = await resync(own)
    expect(effects).toMatchObject([{ application: 'app-1', status: 'waiting' }])
    // once, to note since when it waits
    expect(messages).toEqual(['looked at 3 applications, and sent a resync to 1 of them'])
    own.calls.length = 0
    const again = await resync(own)
    expect(again.effects).toMatchObject([{ application: 'app-1', status: 'waiting' }])
    expect(again.messages).toEqual(['looked at 3 applications, and sent a resync to 0 of them'])
    expect(own.calls).toHaveLength(SHARED)
  })

  test('a resync of a namespace with something to do has the other side in another namespace look again, as that is not resynced', async () => {
    const world = await createMany(2)
    const beacon = { namespace: 'bank', application: 'beacon' }
    world.api.seed([{ ...service('beacon'), metadata: { name: 'beacon', namespace: 'bank' } }], { manager: 'juju' })
    await configure(world, { mesh: {} }, beacon)
    await world.send('relation-changed', requires(1, { application: 'app-1' }, beacon))
    for (const _ of [1, 2]) {
      world.calls.length = 0
      const { messages } = await resync(world)
      expect(messages).toEqual(['looked at 2 applications, and sent a resync to 1 of them'])
      expect(world.calls).toContain('GET /api/v1/namespaces/bank/configmaps/juju-service-mesh-beacon-labels')
    }
  })

  test('a resync of a namespace with something to do has a line in the log for each application, whoever had nothing to do', async () => {
    const lines: Record<string, unknown>[] = []
    const log = createLog('info', (line) => void lines.push(JSON.parse(line)))
    const world = await createMany(3, { log })
    lines.length = 0
    await resync(world)
    expect(
      lines.filter(({ msg }) => msg === 'step done').map(({ application, status }) => [application, status]),
    ).toEqual(expect.arrayContaining([...namesOf(3).map((name) => [name, 'unchanged']), [undefined, 'unchanged']]))
  })

  test('a resync of a namespace with something to do leaves a memory that cannot be read to a person, and repairs all others', async () => {
    const world = await createMany(12)
    world.api.handle({
      method: 'PATCH',
      path: `/api/v1/namespaces/${NAMESPACE}/configmaps/juju-service-mesh-app-3-labels?fieldManager=x`,
      headers: { 'content-type': 'application/merge-patch+json' },
      body: '{"data":{"state":"{"}}',
    })
    for (const name of namesOf(12)) drift(world, name)
    const { messages } = await resync(world)
    expect(messages).toEqual([
      'looked at 12 applications, and sent a resync to 11 of them',
      expect.stringContaining('ConfigMap shop/juju-service-mesh-app-3-labels: data.state is not a state'),
    ])
    expect(namesOf(12).filter((name) => labelOf(world, name) !== 'own')).toEqual(['app-3'])
  })
})

describe('what changes after the lists were read', () => {
  /** Does something once, when the last of the lists was read. */
  const afterLists = (world: World, act: () => void): void => {
    let left = SHARED
    world.intercept = (request) => {
      const answer = world.api.handle(request)
      left -= 1
      if (left === 0) act()
      return answer
    }
  }

  test('what changes after the lists were read is not written twice where another step repaired it', async () => {
    const world = await createMany(5)
    drift(world, 'app-2')
    let told: Promise<unknown> = Promise.resolve()
    afterLists(world, () => {
      told = world.send('resync', { application: 'app-2' })
    })
    const { effects } = await resync(world)
    await told
    expect(world.calls.filter(isWrite).filter((call) => call.includes('/services/'))).toHaveLength(1)
    expect([labelOf(world, 'app-2'), effects]).toEqual(['own', undefined])
  })

  test('what changes after the lists were read is a conflict where somebody else took it', async () => {
    const world = await createMany(5)
    drift(world, 'app-2')
    afterLists(world, () => drift(world, 'app-2', 'theirs'))
    expect((await resync(world)).effects).toMatchObject([
      { application: 'app-2', conflicts: [{ manager: 'somebody', value: 'theirs', wanted: 'own' }] },
    ])
    expect(labelOf(world, 'app-2')).toBe('theirs')
  })

  test('what changes after the lists were read is what a config says that came meanwhile', async () => {
    const world = await createMany(5)
    drift(world, 'app-2')
    let told: Promise<unknown> = Promise.resolve()
    afterLists(world, () => {
      told = world.send('config-changed', { application: 'app-2', config: { labels: { [USE_WAYPOINT]: 'new' } } })
    })
    await resync(world)
    await told
    expect([labelOf(world, 'app-2'), world.labels('app-2').template[USE_WAYPOINT]]).toEqual(['new', 'new'])
  })

  test('what changes after the lists were read stays gone with an application that was removed', async () => {
    const world = await createMany(5)
    drift(world, 'app-2')
    let told: Promise<unknown> = Promise.resolve()
    afterLists(world, () => {
      told = world.send('application-removed', { application: 'app-2' })
    })
    await resync(world)
    await told
    await resync(world)
    expect(labelOf(world, 'app-2')).toBeUndefined()
  })

  test('what changes after the lists were read is repaired by the next one where this one had nothing to do', async () => {
    const world = await createMany(5)
    afterLists(world, () => drift(world, 'app-2'))
    await resync(world)
    expect(labelOf(world, 'app-2')).toBeUndefined()
    world.intercept = undefined
    await resync(world)
    expect(labelOf(world, 'app-2')).toBe('own')
  })
})

describe('a resync of a namespace for which there is not enough time', () => {
  const COUNT = 30

  /** Applications that all drifted, on a cluster of which each call takes time. */
  const createSlow = async () => {
    const world = await createMany(COUNT)
    for (const name of namesOf(COUNT)) drift(world, name)
    world.intercept = () => {
      world.clock.advance(120)
      return undefined
    }
    return world
  }
  const repaired = (world: World) => namesOf(COUNT).filter((name) => labelOf(world, name) === 'own')

  test('a resync of a namespace for which there is not enough time goes on where it did not come to, until all is done', async () => {
    const world = await createSlow()
    let before = 0
    for (let times = 0; repaired(world).length < COUNT; times += 1) {
      const { status } = await world.post(event('resync', ALL))
      const after = repaired(world).length
      expect([status, after > before]).toEqual([after < COUNT ? 503 : 200, true])
      expect(times).toBeLessThan(20)
      before = after
    }
    expect((await world.post(event('resync', ALL))).status).toBe(200)
  })

  test('a resync of a namespace for which there is not enough time begins no step that it cannot end, and says how many it did not come to', async () => {
    const world = await createSlow()
    const response = await world.post(event('resync', ALL))
    const { message } = (await response.json()) as { message: string }
    const [, failed] = /resync failed for (\d+) of 30 applications/.exec(message) ?? []
    const seen = namesOf(COUNT).filter((name) => unshared(world.calls).some((call) => call.includes(`/${name}`)))
    expect(Number(failed)).toBeGreaterThan(COUNT / 2)
    expect(seen.length).toBeLessThan(COUNT / 2)
  })

  test.each([
    ['first', 0, 'app-0'],
    ['last', 0.999, 'app-9'],
  ])(
    'a resync of a namespace for which there is not enough time begins with any application: the %s',
    async (_, chance, name) => {
      const world = await createSlow()
      world.clock.random = () => chance
      await world.post(event('resync', ALL))
      expect(repaired(world)).toContain(name)
      expect(repaired(world).length).toBeLessThan(COUNT)
    },
  )
})

describe('what is found in shared lists', () => {
  /** The data of each application's event, as a resync of the namespace sends it. */
  const sweptIn = async (world: World) => {
    const { clock } = world
    const transport = async (request: Parameters<World['api']['handle']>[0]) => world.api.handle(request)
    const kubernetes = createKubernetes({ transport, clock, deadline: clock.now() + 10_000 })
    return (await sweep(features, kubernetes, NAMESPACE)).applications
  }

  const createGuarded = async (): Promise<World> => {
    const world = createMesh(['db', 'web'])
    await configure(world, { mesh: { hardened: true } })
    await configure(world, { policies: [{ type: 'unit', relation: 'db', ports: [5432] }] }, { application: 'db' })
    await world.send('relation-changed', requires(1, { application: 'db' }))
    await world.send('relation-changed', requires(2, { application: 'web' }))
    await world.send('relation-changed', provides(3, { application: 'other' }, JSON.stringify([wire()])))
    await world.send('relation-changed', related(4, 'db', { application: 'web' }, { application: 'db' }))
    return world
  }

  const createWorkers = async (): Promise<World> => {
    const world = await createCluster()
    for (const [index, name] of ['querier', 'ingester'].entries()) await relate(world, name, index + 1)
    await world.send('leader-elected', { application: 'querier', unit: 'querier/0' })
    return world
  }

  const createDocumented = async (): Promise<World> => {
    const world = createWorld(undefined, { isOwnSink: true })
    const { relation, remote } = meshRelation()
    world.api.seed(
      [
        {
          ...{ apiVersion: 'v1', kind: 'ConfigMap' },
          metadata: { name: 'mesh', namespace: NAMESPACE, labels: { 'meshstep.dev/kind': 'relation' } },
          data: { application: 'web', relation: JSON.stringify(relation), remote: JSON.stringify(remote) },
        },
        {
          ...{ apiVersion: 'v1', kind: 'ConfigMap' },
          metadata: { name: 'wrong', namespace: NAMESPACE, labels: { 'meshstep.dev/kind': 'config' } },
          data: { application: 'web', config: '{ "labels": 7 }' },
        },
      ],
      { manager: 'kubectl' },
    )
    await world.send('config-changed', { config: { enrolment: 'in-place', services: {} } })
    return world
  }

  test.each([
    ['of a mesh', createGuarded],
    ['of a cluster', createWorkers],
    ['of documents', createDocumented],
  ])('what is found in shared lists is what each step would find for itself: %s', async (_, create) => {
    const world = await create()
    for (const _times of [1, 2]) await resync(world)
    const { effects = [] } = await resync(world)
    world.calls.length = 0
    for (const { former, owned, ...data } of await sweptIn(world)) {
      const { status, messages, written, conflicts } = await world.send('resync', { ...data })
      const besidesMemory = written.filter((name) => !name.startsWith('ConfigMap shop/juju-service-mesh-'))
      expect([former, owned, besidesMemory]).toEqual([[], [], []])
      const { application } = data
      const found = effects.filter((effect) => effect.application === application)
      const isQuiet = status === 'unchanged' && messages.length === 0
      expect(found).toMatchObject(isQuiet ? [] : [{ status, messages, conflicts, written }])
    }
  })
})

describe('a resync of a namespace of which not all may be listed', () => {
  const forbidden = (verb: string, resource: string) => ({
    ...{ status: 403, headers: {} },
    body: JSON.stringify({
      ...{ kind: 'Status', reason: 'Forbidden' },
      message: `${resource} is forbidden: User "x" cannot ${verb} resource "${resource}"`,
    }),
  })
  const unlisted = (world: World, resource: string): void => {
    world.intercept = ({ method, path }) =>
      method === 'GET' && new RegExp(`/${resource}\\?`).test(path) ? forbidden('list', resource) : undefined
  }
  const labelsOnPods = (world: World) => pods(world).map(({ metadata }) => metadata.labels?.[USE_WAYPOINT])

  test.each([
    ['statefulsets', 'StatefulSet'],
    ['deployments', 'Deployment'],
    ['services', 'Service'],
    ['pods', 'Pod'],
  ])(
    'a resync of a namespace of which not all may be listed repairs what it can without the list of %s, and says what to grant',
    async (resource, kind) => {
      const world = await createMany(3)
      drift(world, 'app-1')
      unlisted(world, resource)
      const { status, messages } = await resync(world)
      expect(labelOf(world, 'app-1')).toBe('own')
      expect([status, messages]).toEqual([
        'waiting',
        [
          'looked at 3 applications, and sent a resync to 1 of them',
          expect.stringMatching(
            new RegExp(
              `^LIST ${kind} shop: 403 .*Grant it with a Role and a RoleBinding.* a lost memory left behind is found$`,
            ),
          ),
        ],
      ])
    },
  )

  test('a resync of a namespace of which not all may be listed asks for no list but the refused one a second time', async () => {
    const world = await createMany(3)
    unlisted(world, 'services')
    await resync(world)
    expect(unshared(world.calls).toSorted()).toEqual([
      `GET /api/v1/namespaces/${NAMESPACE}`,
      ...namesOf(3).map((name) => `GET /api/v1/namespaces/${NAMESPACE}/services/${name}`),
    ])
  })

  test('a resync of a namespace of which not all may be listed reports those that need what may not be read at all, and repairs the others', async () => {
    const world = await createMany(2)
    await world.send('config-changed', {
      application: 'app-1',
      config: { labels: { [USE_WAYPOINT]: 'own' }, service: null },
    })
    drift(world, 'app-1', 'other')
    world.intercept = ({ method, path }) =>
      method === 'GET' && /\/services(\?|\/app-0$)/.test(path) ? forbidden('get', 'services') : undefined
    const { status, effects } = await resync(world)
    expect([status, effects]).toMatchObject([
      'waiting',
      [{ application: 'app-0', status: 'waiting', messages: [expect.stringContaining('GET Service shop/app-0: 403')] }],
    ])
  })

  test('a resync of a namespace of which not all may be listed repairs all that need nothing of the namespace itself, where that may not be read', async () => {
    const world = await createMany(3)
    drift(world, 'app-1')
    world.intercept = ({ path }) =>
      path === `/api/v1/namespaces/${NAMESPACE}` ? forbidden('get', 'namespaces') : undefined
    expect(await resync(world)).toMatchObject({ status: 'unchanged', effects: [{ application: 'app-1' }] })
    expect(labelOf(world, 'app-1')).toBe('own')
  })

  test('a resync of a namespace of which not all may be listed takes no labels from pods whose workload it does not see', async () => {
    const world = createWorld([workload('StatefulSet', 'web'), service('web')], { isOwnSink: true })
    const config = { enrolment: 'in-place', labels: { [USE_WAYPOINT]: 'own' } }
    await world.send('config-changed', { application: 'web', config })
    expect(labelsOnPods(world)).toEqual(['own', 'own'])
    world.intercept = ({ path }) => (path.includes('/statefulsets') ? forbidden('get', 'statefulsets') : undefined)
    await resync(world)
    expect(labelsOnPods(world)).toEqual(['own', 'own'])
  })

  test('a resync of a namespace of which not all may be listed fails where its memories may not be listed', async () => {
    const world = await createMany(3)
    unlisted(world, 'configmaps')
    const response = await world.post(event('resync', ALL))
    expect([response.status, await response.json()]).toEqual([500, expect.objectContaining({ reason: 'Forbidden' })])
  })
})
