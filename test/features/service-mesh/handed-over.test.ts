import { describe, expect, test } from 'vitest'
import {
  ask,
  BEACON,
  configure,
  createMesh,
  guardsIn,
  objectsOf,
  policiesOf,
  requires,
  sourcesOf,
  wire,
  writes,
} from '../../helpers/beacon-world.ts'
import { FORBIDDEN, type World } from '../../helpers/world.ts'

const DB = { application: 'db' }
const AT_PODS = wire({ target_type: 'unit' })
const POLICY = /authorizationpolicies\/beacon-shop-policy-db/

/** The beacon puts the whole namespace on the mesh, and its own config lets `web` reach the pods of `db`. */
const createShop = async (mesh: Record<string, unknown> = {}): Promise<World> => {
  const world = createMesh(['db', 'web'])
  world.api.seed([{ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'istio-system' } }])
  await configure(world, { mesh: { modelOnMesh: true, ...mesh }, meshPolicies: [AT_PODS] })
  await world.send('resync', BEACON)
  return world
}

/** Runs `act`, and returns what is wrong after any change of a policy. */
const duringChanges = async <T>(world: World, look: () => T[], act: () => Promise<unknown>): Promise<T[]> => {
  const seen: T[] = []
  const stop = world.api.subscribe(({ object: { kind } }) => {
    if (kind === 'AuthorizationPolicy') seen.push(...look())
  })
  await act().catch(() => undefined)
  stop()
  return seen
}

const owners = (world: World): (string | undefined)[] =>
  policiesOf(world, 'db').map(({ metadata }) => metadata.labels?.['meshstep.dev/application'])

const isClosedTo = (world: World, source: string): string[] =>
  sourcesOf(policiesOf(world, 'db')).includes(source) ? [] : [source]

const join = (world: World) => world.send('relation-changed', requires(7, DB))

describe('a policy that the own config of a beacon asks for at an application', () => {
  test.each([{}, { hardened: true }])(
    'stands at every moment while the application becomes a consumer: %j',
    async (mesh) => {
      const world = await createShop(mesh)
      expect(owners(world)).toEqual(['beacon'])
      expect(
        await duringChanges(
          world,
          () => isClosedTo(world, 'shop/web'),
          () => join(world),
        ),
      ).toEqual([])
      expect(owners(world)).toEqual(['db'])
      world.calls.length = 0
      await world.send('resync', { application: undefined })
      expect(writes(world)).toEqual([])
    },
  )

  test('stays the beacon’s while the API server refuses the consumer to take it over, and follows the config', async () => {
    const world = await createShop()
    world.intercept = ({ method, path, body = '' }) =>
      method === 'PATCH' && POLICY.test(path) && body.includes('"meshstep.dev/application":"db"')
        ? FORBIDDEN
        : undefined
    await join(world)
    for (const _ of [1, 2]) await world.send('resync', { application: undefined })
    expect([owners(world), sourcesOf(policiesOf(world, 'db'))]).toEqual([['beacon'], ['shop/web']])
    await configure(world, {
      mesh: { modelOnMesh: true },
      meshPolicies: [AT_PODS, wire({ target_type: 'unit', source_app_name: 'cart' })],
    })
    expect(sourcesOf(policiesOf(world, 'db'))).toEqual(['shop/cart', 'shop/web'])
    world.intercept = undefined
    await world.send('resync', DB)
    expect([owners(world), sourcesOf(policiesOf(world, 'db'))]).toEqual([['db'], ['shop/cart', 'shop/web']])
  })

  test('that admits the waypoint in hardened mode stays until the consumer has taken it over', async () => {
    const world = createMesh(['db'], false)
    world.api.seed([{ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'istio-system' } }])
    await configure(world, { mesh: { hardened: true } })
    await ask(world, [])
    const guards = guardsIn(world)
    // db has a memory now, and does not know of the relation
    await configure(world, {}, DB)
    for (const _ of [1, 2]) await world.send('resync', BEACON)
    expect([guards, guardsIn(world)]).toEqual([['pods db: waypoint'], ['pods db: waypoint']])
    await join(world)
    await world.send('resync', BEACON)
    expect([guardsIn(world), appliers(world)]).toEqual([['pods db: waypoint'], ['meshstep/db']])
  })

  test('is not written by the beacon once the consumer owns it, although that has not said so yet', async () => {
    const world = await createShop()
    let isTaken = false
    world.intercept = ({ method, path }) => {
      if (isTaken && method !== 'GET') throw new Error('the process is gone')
      isTaken ||= method === 'PATCH' && POLICY.test(path)
      return undefined
    }
    await join(world).catch(() => undefined)
    world.intercept = undefined
    expect(owners(world)).toEqual(['db'])
    const seen = await duringChanges(
      world,
      () => owners(world),
      async () => expect((await world.send('resync', BEACON)).conflicts).toEqual([]),
    )
    await world.send('resync', DB)
    expect([new Set(seen), owners(world), appliers(world)]).toEqual([new Set(['db']), ['db'], ['meshstep/db']])
  })

  test('keeps no field of the beacon, also where somebody else wrote between the consumer and that', async () => {
    const world = await createShop()
    world.intercept = ({ method, path, body = '' }) => {
      if (method !== 'PATCH' || !POLICY.test(path) || body.includes('spec')) return undefined
      world.intercept = undefined
      return CONFLICT
    }
    await join(world)
    expect([world.intercept, appliers(world)]).toEqual([undefined, ['meshstep/db']])
  })
})

const CONFLICT = {
  ...FORBIDDEN,
  status: 409,
  body: JSON.stringify({ kind: 'Status', status: 'Failure', reason: 'Conflict', message: 'no', code: 409 }),
}

const appliers = (world: World): string[] =>
  objectsOf(world, 'AuthorizationPolicy')
    .filter(({ metadata }) => metadata.name.startsWith('beacon-shop-policy-db'))
    .flatMap(({ metadata }) => (metadata.managedFields ?? []).map(({ manager }) => manager))
    .filter((manager) => manager.startsWith('meshstep/'))
