import { describe, expect, test } from 'vitest'
import { Unavailable } from '../../../src/platform/base/errors.ts'
import type { Event } from '../../../src/platform/cloudevents/cloud-event.ts'
import { loseMemory } from '../../core/relations/pair.ts'
import { createEmptyWorld, forget, podSpec, view } from '../../helpers/application.ts'
import { event, service, type World } from '../../helpers/world.ts'

type Data = Record<string, unknown>

const flat = (name: string, port: string | number = '5432'): Data => ({ 'service-name': name, 'service-port': port })

const related = (data: Data, { id = 3, application = 'db', role = 'requires', endpoint = 'database' } = {}) => ({
  relation: { id, endpoint, interface: 'k8s-service', role },
  remote: { application, data },
})

/** What was announced, each event once: those with the same id are one. */
const announced = (world: World): Event[] => {
  const events = world.published.filter(({ type }) => type.includes('.service-'))
  return [...new Map(events.map((one) => [one.id, one])).values()].toSorted(
    (one, other) => Number(one.extensions.sequence) - Number(other.extensions.sequence),
  )
}

const told = (world: World) =>
  announced(world).map(({ type, data }) => {
    const { service, previous } = data as Record<string, { host: string; port: number } | undefined>
    const shown = (one: typeof service) => (one ? `${one.host.split('.')[0]}:${one.port}` : '-')
    return `${type.split('.')[2]} ${shown(previous)} ${shown(service)}`
  })

const databagFor = (world: World, application: string) => {
  const events = world.published.filter(
    ({ type, subject }) => type === 'dev.meshstep.relation-changed.v1' && subject === `shop/${application}`,
  )
  return (events.at(-1)?.data as { remote: { data: Data } } | undefined)?.remote.data
}

describe('a provider', () => {
  const offers = (services: Data) => ({ config: { services } })
  /** An empty namespace but for a Service. */
  const createServed = (name: string): World => {
    const world = createEmptyWorld()
    world.api.seed([service(name)], { manager: 'somebody' })
    return world
  }

  test('a provider says the name of its Service, good in every namespace, and the port as text, whichever unit leads', async () => {
    const world = createServed('db-primary')
    await world.send('config-changed', offers({ database: { name: 'db-primary', port: 5432 } }))
    await world.send('relation-changed', related({}, { application: 'api', role: 'provides' }))
    for (const unit of ['web/0', 'web/1']) await world.send('leader-elected', { unit })
    expect(databagFor(world, 'api')).toMatchObject({
      'service-name': 'db-primary.shop.svc.cluster.local',
      'service-port': '5432',
    })
    expect(world.published.filter(({ subject }) => subject === 'shop/api')).toHaveLength(1)
  })

  test('a provider offers no Service that does not exist, and says so until it does', async () => {
    const world = createEmptyWorld()
    await world.send('relation-changed', related({}, { application: 'api', role: 'provides' }))
    const message =
      'relation 3 (database): Service shop/nosuch does not exist, and is not offered: the next event after it does offers it'
    expect(await world.send('config-changed', offers({ database: { name: 'nosuch', port: 5432 } }))).toMatchObject({
      status: 'waiting',
      conditions: [{ for: ['Service shop/nosuch'], message }],
    })
    expect(await view(world)).toMatchObject({ status: { status: 'waiting', message } })
    expect(databagFor(world, 'api')).not.toHaveProperty('service-name')
    world.api.seed([service('nosuch')], { manager: 'somebody' })
    expect(await world.send('resync', {})).not.toHaveProperty('waiting')
    expect(databagFor(world, 'api')).toMatchObject({ 'service-name': 'nosuch.shop.svc.cluster.local' })
  })

  test('a provider says it again when it changes, and nothing when it offers none', async () => {
    const world = createServed('db')
    await world.send('relation-changed', related({}, { application: 'api', role: 'provides' }))
    expect(databagFor(world, 'api')).not.toHaveProperty('service-name')
    await world.send('config-changed', offers({ database: { name: 'db', port: 1 } }))
    expect(databagFor(world, 'api')).toMatchObject({ 'service-port': '1' })
    await world.send('config-changed', offers({ other: { name: 'db', port: 1 } }))
    expect(databagFor(world, 'api')).not.toHaveProperty('service-name')
  })

  test.each([
    ['an address', { name: '10.0.0.1', port: 1 }],
    ['the name of a pod', { name: 'db-0.db-endpoints', port: 1 }],
    ['no port', { name: 'db', port: 0 }],
  ])('a provider is refused %s', async (_, database) => {
    const response = await createEmptyWorld().post(event('config-changed', offers({ database })))
    expect([response.status, await response.text()]).toEqual([
      400,
      expect.stringContaining('data.config.services.database'),
    ])
  })
})

describe('a requirer', () => {
  test.each([
    ['the keys of the interface', flat('db.data')],
    ['a port that is a number', flat('db.data', 5432)],
    ['keys of other libraries', { name: 'db.data', port: '5432' }],
    ['a document in YAML', { _supported_versions: '- v1\n', data: 'service-name: db.data\nservice-port: "5432"\n' }],
    [
      'a document in JSON',
      { _supported_versions: '["v0", "v1"]', data: '{"service-name": "db.data", "service-port": 5432}' },
    ],
  ])('a requirer reads %s', async (_, data) => {
    const world = createEmptyWorld()
    await world.send('relation-changed', related(data))
    expect((await view(world)).services).toEqual([
      { relation: 3, endpoint: 'database', application: 'db', host: 'db.data.svc.cluster.local', port: 5432 },
    ])
    expect(told(world)).toEqual(['service-available - db:5432'])
  })

  test('a requirer is told when a service is newly complete, changed and gone, once each, and not in between', async () => {
    const world = createEmptyWorld()
    const steps: [Data, number][] = [
      [{}, 0],
      [{ 'service-name': 'db' }, 0],
      [flat('db'), 1],
      [flat('db'), 1],
      [flat('db', 5432), 1],
      [{ ...flat('db'), unrelated: 'x' }, 1],
      [flat('db', 1), 2],
      [flat('db', ''), 3],
      [flat('db', 1), 4],
    ]
    for (const [data, count] of steps) {
      await world.send('relation-changed', related(data))
      await world.send('resync', {})
      expect(told(world)).toHaveLength(count)
    }
    await world.send('relation-broken', { relation: { id: 3 } })
    await world.send('resync', {})
    expect(told(world)).toEqual([
      'service-available - db:5432',
      'service-changed db:5432 db:1',
      'service-unavailable db:1 -',
      'service-available - db:1',
      'service-unavailable db:1 -',
    ])
    expect(world.published.filter(({ type }) => type.includes('.service-'))).toHaveLength(5)
    world.clock.advance(25 * 60 * 60 * 1_000)
    await world.send('resync', {})
    expect(world.memory()).toBeUndefined()
  })

  test('a requirer has several by the id of the relation, in whatever order they are told', async () => {
    for (const ids of [
      [1, 2, 10],
      [10, 2, 1],
      [2, 10, 1],
    ]) {
      const world = createEmptyWorld()
      for (const id of ids)
        await world.send('relation-changed', related(flat(`db${id}`), { id, application: `db${id}` }))
      expect((await view(world)).services.map(({ relation }) => relation)).toEqual([1, 2, 10])
      expect(announced(world)).toHaveLength(3)
    }
  })

  test('a requirer keeps what it has while it cannot be read, and is told why', async () => {
    const world = createEmptyWorld()
    await world.send('relation-changed', related(flat('db')))
    for (const data of [flat('10.1.2.3'), flat('db', 'http'), { _supported_versions: '["v1"]', data: '{' }]) {
      const outcome = await world.send('relation-changed', related(data))
      expect(outcome.messages[0]).toContain('relation 3 (database)')
      expect((await view(world)).services).toHaveLength(1)
    }
    expect(told(world)).toEqual(['service-available - db:5432'])
  })

  test('a requirer has nothing of it in a unit’s memory: a pod that comes or goes changes nothing', async () => {
    const world = createEmptyWorld()
    await world.send('config-changed', { config: { workload: { podSpec: podSpec() } } })
    await world.send('relation-changed', related(flat('db')))
    await world.send('config-changed', { config: { workload: { podSpec: podSpec('web:2') } } })
    expect(told(world)).toEqual(['service-available - db:5432'])
  })

  test('a requirer is told again, later than before, when its memory was lost', async () => {
    const world = createEmptyWorld()
    await world.send('relation-changed', related(flat('db')))
    forget(world)
    world.clock.advance(1_000)
    await world.send('relation-changed', related(flat('db')))
    expect(told(world)).toEqual(['service-available - db:5432', 'service-available - db:5432'])
  })

  test('a requirer that is removed is told that all is gone', async () => {
    const world = createEmptyWorld()
    await world.send('relation-changed', related(flat('db')))
    await world.send('application-removed', {})
    expect(told(world)).toEqual(['service-available - db:5432', 'service-unavailable db:5432 -'])
  })
})

describe('provider and requirer in one process', () => {
  test('one event on one side tells the other, and its end both', async () => {
    const world = createEmptyWorld({ isOwnSink: true })
    world.api.seed([service('db')], { manager: 'somebody' })
    await world.send('config-changed', {
      application: 'db',
      config: { services: { database: { name: 'db', port: 5432 } } },
    })
    await world.send('relation-changed', related({}))
    expect((await view(world)).services).toMatchObject([{ host: 'db.shop.svc.cluster.local', port: 5432 }])
    await world.send('relation-broken', { application: 'db', relation: { id: 3 } })
    expect(await view(world)).not.toHaveProperty('services.0')
  })
})

describe('a provider that lost its memory', () => {
  const OFFER = { application: 'db', config: { services: { database: { name: 'db', port: 5432 } } } }

  const lostWorld = async (): Promise<World> => {
    const world = createEmptyWorld()
    world.api.seed([service('db')], { manager: 'juju' })
    for (const [name, data] of [
      ['config-changed', OFFER],
      ['relation-changed', related({})],
    ] as const)
      await say(world, name, data)
    expect(told(world)).toEqual(['service-available - db:5432'])
    loseMemory(world, 'db')
    return world
  }

  /** Delivers what is told to applications, and keeps what is told of services. */
  const say = async (world: World, name: string, data: Data) => {
    await world.send(name, data)
    for (let sent = world.published.findIndex(isWord); sent >= 0; sent = world.published.findIndex(isWord))
      for (const one of world.published.splice(sent, 1)) await world.post(one)
  }
  const isWord = ({ type }: Event) => type.includes('.relation-')

  test.each<[string, Data]>([
    ['its requirer', { application: 'web' }],
    ['itself', { application: 'db' }],
    ['the namespace', { namespace: 'shop' }],
  ])('a provider that lost its memory still offers what it did, with a resync of %s', async (_, about) => {
    const world = await lostWorld()
    for (let times = 0; times < 2; times += 1) await say(world, 'resync', about)
    expect(world.memory('db')).toBeDefined()
    expect(told(world)).toEqual(['service-available - db:5432'])
    expect((await view(world)).services).toMatchObject([{ host: 'db.shop.svc.cluster.local', port: 5432 }])
  })

  test('a provider that lost its memory still offers what it did once it is told data that are no config', async () => {
    const world = await lostWorld()
    await say(world, 'config-changed', { application: 'db', databag: { database: { quota: '5' } } })
    expect(told(world)).toEqual(['service-available - db:5432'])
  })

  test.each<[string, string, Data, string[]]>([
    ['the same, of which nothing is said', 'config-changed', OFFER, []],
    [
      'another address',
      'config-changed',
      { ...OFFER, config: { services: { database: { name: 'db', port: 1 } } } },
      ['service-changed db:5432 db:1'],
    ],
    ['none', 'config-changed', { ...OFFER, config: {} }, ['service-unavailable db:5432 -']],
    ['none, as it is removed', 'application-removed', { application: 'db' }, ['service-unavailable db:5432 -']],
  ])('a provider that lost its memory offers what is told then: %s', async (_, name, data, expected) => {
    const world = await lostWorld()
    await say(world, 'resync', { application: 'web' })
    await say(world, name, data)
    expect(told(world)).toEqual(['service-available - db:5432', ...expected])
  })
})

/** Sends each event until it is taken, with a crash at the call of that number. */
const withCrashAt = async (crash: number): Promise<{ world: World; calls: number }> => {
  const world = createEmptyWorld()
  let calls = 0
  world.intercept = () => {
    calls += 1
    if (calls === crash) throw new Error('crash')
    return undefined
  }
  const events = [
    event('relation-changed', related(flat('db')), { extensions: { sequence: '1' } }),
    event('relation-changed', related(flat('db', 1)), { extensions: { sequence: '2' } }),
    event('relation-broken', { relation: { id: 3 } }, { extensions: { sequence: '3' } }),
  ]
  for (const one of events) if ((await world.post(one)).status !== 200) await world.post(one)
  return { world, calls }
}

const STORY = ['service-available - db:5432', 'service-changed db:5432 db:1', 'service-unavailable db:1 -']

describe('a crash', () => {
  test('a crash at any call loses no announcement, and repeats one at most as the same event', async () => {
    const { calls } = await withCrashAt(0)
    expect(calls).toBeGreaterThan(10)
    for (let crash = 1; crash <= calls; crash += 1) {
      const { world } = await withCrashAt(crash)
      expect([crash, told(world)]).toEqual([crash, STORY])
    }
  })

  test('of the sink loses none either: what it missed comes with the next delivery', async () => {
    for (const missed of [0, 1, 2]) {
      const world = createEmptyWorld()
      const events = [
        event('relation-changed', related(flat('db'))),
        event('relation-changed', related(flat('db', 1))),
        event('relation-broken', { relation: { id: 3 } }),
      ]
      for (const [index, one] of events.entries()) {
        if (index === missed) {
          world.refusePublishing = new Unavailable('away')
          expect((await world.post(one)).status).toBe(503)
          world.refusePublishing = undefined
        }
        await world.post(one)
      }
      expect([missed, told(world)]).toEqual([missed, STORY])
    }
  })

  test('a crash that outlasts a change leaves what is true in the end', async () => {
    const world = createEmptyWorld()
    world.refusePublishing = new Unavailable('away')
    for (const port of [1, 2, 3]) await world.post(event('relation-changed', related(flat('db', port))))
    world.refusePublishing = undefined
    await world.send('resync', {})
    expect(told(world)).toEqual(['service-available - db:1', 'service-changed db:1 db:2', 'service-changed db:2 db:3'])
  })
})

test('providers of one name in two namespaces are told apart', async () => {
  const world = createEmptyWorld()
  for (const [id, namespace] of [
    [3, 'one'],
    [4, 'two'],
  ] as const)
    await world.send('relation-changed', {
      relation: { id, endpoint: 'database', interface: 'k8s-service', role: 'requires' },
      remote: { application: 'db', namespace, data: flat('db') },
    })
  expect(
    announced(world).map(({ type, data }) => [type, (data as { service: { host: string } }).service.host]),
  ).toEqual([
    ['dev.meshstep.service-available.v1', 'db.one.svc.cluster.local'],
    ['dev.meshstep.service-available.v1', 'db.two.svc.cluster.local'],
  ])
})

test('a sink that refuses one announcement for good stops no later event of the application', async () => {
  const world = createEmptyWorld()
  await world.send('config-changed', { config: {} })
  const taken: string[] = []
  world.sink = async ({ type }) => {
    taken.push(type)
    return type.includes('.service-') ? 400 : 202
  }
  const outcome = await world.send('relation-changed', related(flat('db')))
  expect(outcome).toMatchObject({
    status: 'waiting',
    messages: expect.arrayContaining([expect.stringContaining('400')]),
  })
  expect(taken.filter((type) => type.includes('.service-'))).toHaveLength(1)
  for (const data of [related(flat('db')), related(flat('db'), { id: 4 })])
    expect((await world.post(event('relation-changed', data))).status).toBe(200)
})

test('a sink that redirects is told an announcement once it accepts', async () => {
  const world = createEmptyWorld()
  await world.send('config-changed', { config: {} })
  world.sink = async () => 302
  const one = event('relation-changed', related(flat('db')))
  expect((await world.post(one)).status).toBe(503)
  world.sink = undefined
  expect((await world.post(one)).status).toBe(200)
  expect(told(world)).toEqual(['service-available - db:5432'])
})
