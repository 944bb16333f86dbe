import { describe, expect, test } from 'vitest'
import {
  ask,
  BEACON,
  configure,
  createMesh,
  enrolled,
  guardsIn,
  policiesIn,
  policiesOf,
  related,
  remove,
  requires,
  sourcesOf,
  wire,
} from '../../helpers/beacon-world.ts'
import type { World } from '../../helpers/world.ts'

const DB = { application: 'db' }
const WEB = { application: 'web' }
const POLICY = { type: 'app', relation: 'db', endpoints: [] }
const CLOSED = ['Service db: nobody', 'pods db: waypoint']
const USE = related(3, 'db', WEB, DB)

/** `db` declares who may reach it, and is on the mesh; nobody is related to it. */
const createShop = async (mesh: Record<string, unknown> = {}, policies: unknown[] = [POLICY]): Promise<World> => {
  const world = createMesh(['db', 'web'])
  await configure(world, { mesh })
  await configure(world, { policies }, DB)
  await world.send('relation-changed', requires(7, DB))
  return world
}

const lose = (world: World, name: string) =>
  remove(world, `/api/v1/namespaces/shop/configmaps/juju-service-mesh-${name}-labels`)

describe('a target that an application declares', () => {
  test('a target that an application declares is guarded before anybody is related, and says that nobody may reach it', async () => {
    const world = await createShop()
    expect([guardsIn(world), policiesIn(world)]).toEqual([CLOSED, []])
    expect(enrolled(world, 'db')['istio.io/dataplane-mode']).toBe('ambient')
    const nobody = 'by its relations nobody may reach shop/db: no relation of endpoint db'
    expect((await world.send('resync', DB)).messages).toEqual([nobody])
    expect((await world.send('resync', BEACON)).messages).toEqual([])
    expect(await (await world.app.request('/applications/shop/db')).json()).toMatchObject({ messages: [nobody] })
  })

  test('a target that an application declares is granted and closed again in place, in one write each', async () => {
    const world = await createShop()
    const events: string[] = []
    world.api.subscribe(({ type, object: { kind, metadata } }) => {
      if (kind === 'AuthorizationPolicy') events.push(`${type} ${metadata.name}`)
    })
    await world.send('relation-changed', USE)
    expect(sourcesOf(policiesOf(world, 'db'))).toEqual(['shop/web'])
    await world.send('relation-broken', { ...DB, relation: { id: 3 } })
    expect([guardsIn(world), policiesIn(world)]).toEqual([CLOSED, []])
    expect(new Set(events).size).toBe(1)
    expect(events).toHaveLength(2)
  })

  test('a target that an application declares opens once it is declared no more', async () => {
    const world = await createShop()
    await configure(world, { policies: [] }, DB)
    expect([guardsIn(world), enrolled(world, 'db')['istio.io/dataplane-mode']]).toEqual([[], 'ambient'])
  })

  test('a target that an application declares is guarded until its application is off the mesh', async () => {
    const world = await createShop()
    const open: string[] = []
    world.api.subscribe(({ object: { kind, metadata } }) => {
      const isOnMesh = Object.keys(world.labels('db').template).some((key) => key.startsWith('istio.io/'))
      if (isOnMesh && guardsIn(world).length < 2) open.push(`${kind} ${metadata.name}`)
    })
    await world.send('relation-broken', { ...DB, relation: { id: 7 } })
    expect([guardsIn(world), enrolled(world, 'db'), open]).toEqual([[], {}, []])
  })

  test.each<[string, unknown[], string[]]>([
    ['the pods alone', [{ type: 'unit', relation: 'db', ports: [80] }], ['pods db: waypoint']],
    ['another Service', [{ ...POLICY, service: 'db-rw' }], ['Service db-rw: nobody', 'pods db: waypoint']],
  ])('a target that an application declares may be %s', async (_, policies, guards) => {
    const world = await createShop({}, policies)
    expect(guardsIn(world)).toEqual(guards)
  })

  test('of meshPolicies lets the waypoint pass at its pods', async () => {
    const world = await createShop({}, [])
    await configure(world, { meshPolicies: [wire({ target_type: 'unit' })] }, DB)
    expect(guardsIn(world)).toEqual(['pods db: nobody', 'pods db: waypoint'])
    expect(sourcesOf(policiesOf(world, 'db'))).toEqual(['shop/web'])
  })

  test('of the beacon itself is guarded before the beacon is enrolled', async () => {
    const world = createMesh(['beacon'])
    const order: string[] = []
    world.api.subscribe(({ object: { kind } }) => order.push(kind))
    await configure(world, { mesh: {}, policies: [POLICY] })
    expect(guardsIn(world)).toEqual(['Service beacon: nobody', 'pods beacon: waypoint'])
    expect(order.lastIndexOf('AuthorizationPolicy')).toBeLessThan(order.indexOf('StatefulSet'))
  })

  test('a target that an application declares is open until somebody is let in where the beacon guards only what is granted', async () => {
    const world = await createShop({ guard: 'whenGranted' })
    expect(guardsIn(world)).toEqual([])
    expect((await world.send('resync', DB)).messages).toEqual([])
    await world.send('relation-changed', USE)
    expect(guardsIn(world)).toEqual(CLOSED)
    await world.send('relation-broken', { ...DB, relation: { id: 3 } })
    expect(guardsIn(world)).toEqual([])
  })

  test.each<[string, string[]]>([
    ['the beacon', ['beacon']],
    ['its application', ['db']],
    ['both', ['db', 'beacon']],
  ])(
    'a target that an application declares stays guarded when the memory of %s is lost, and a config comes first',
    async (_, names) => {
      const world = await createShop()
      for (const name of names) lose(world, name)
      await configure(world, { mesh: {} })
      expect(guardsIn(world)).toEqual(CLOSED)
      await configure(world, { policies: [POLICY] }, DB)
      expect(guardsIn(world)).toEqual(CLOSED)
      await world.send('relation-changed', requires(7, DB))
      expect(guardsIn(world)).toEqual(CLOSED)
    },
  )
})

describe('a databag in which something is wrong', () => {
  const bad = { endpoints: [{ methods: ['get'] }] }

  test.each<[string, unknown, string[]]>([
    ['the only policy of a Service', [wire(bad)], CLOSED],
    ['the only policy of pods', [wire({ target_type: 'unit', endpoints: [{ ports: [0] }] })], ['pods db: waypoint']],
    ['who is let in', [wire({ source_app_name: '*' })], CLOSED],
    ['all of a policy', [7], CLOSED],
  ])('a databag in which something is wrong keeps its target guarded: %s', async (_, policies, guards) => {
    const world = createMesh(['db'], false)
    await configure(world, { mesh: {} })
    await ask(world, [wire()])
    const { messages } = await ask(world, policies)
    expect(messages.length).toBeGreaterThan(0)
    expect([guardsIn(world), policiesIn(world)]).toEqual([guards, []])
  })

  test('a databag in which something is wrong says that nobody may reach the target', async () => {
    const world = createMesh(['db'], false)
    await configure(world, { mesh: {} })
    expect((await ask(world, [wire(bad)])).messages).toEqual([
      expect.stringMatching(/shop\/db: policies\[0\].endpoints\[0\].methods\[0\]: expected a method/),
      'by its relations nobody may reach shop/db: nothing is granted there',
    ])
  })

  test('a databag in which something is wrong guards nothing that is not its own', async () => {
    const world = createMesh(['db', 'web'], false)
    await configure(world, { mesh: {} })
    await ask(world, [wire({ target_app_name: 'web', ...bad }), wire({ target_namespace: 'bank' })])
    expect(guardsIn(world)).toEqual([])
  })
})

describe('trust domains', () => {
  const principals = (world: World) =>
    policiesIn(world)
      .flatMap(({ spec }) => spec.rules ?? [])
      .flatMap(({ from = [] }) => from.flatMap(({ source }) => source?.principals ?? []))

  test('trust domains are those of the mesh and its aliases, and of a namespace that has others those', async () => {
    const world = createMesh(['db'], false)
    const mesh = {
      trustDomain: 'east.example',
      trustDomainAliases: ['old.example'],
      trustDomains: { bank: 'west.example', both: ['east.example', 'west.example'] },
    }
    await configure(world, { mesh })
    await ask(world, [wire(), wire({ source_namespace: 'bank' }), wire({ source_namespace: 'both' })])
    expect(principals(world)).toEqual([
      'east.example/ns/both/sa/web',
      'east.example/ns/shop/sa/web',
      'old.example/ns/shop/sa/web',
      'west.example/ns/bank/sa/web',
      'west.example/ns/both/sa/web',
    ])
  })

  test.each<[string, Record<string, unknown>]>([
    ['a wildcard', { trustDomains: { bank: '*' } }],
    ['no domain', { trustDomains: { bank: [] } }],
    ['no namespace', { trustDomains: { 'bank/sa': 'east.example' } }],
    ['an alias that is none', { trustDomainAliases: ['a/b'] }],
  ])('trust domains are refused where there is %s', async (_, mesh) => {
    await expect(configure(createMesh([], false), { mesh })).rejects.toThrow(/400/)
  })
})
