import { describe, expect, test } from 'vitest'
import {
  ask,
  BEACON,
  configure,
  createMesh,
  edit,
  enrolled,
  guardsIn,
  path,
  policiesIn,
  policiesOf,
  related,
  remove,
  requires,
  sourcesOf,
  wire,
} from '../../helpers/beacon-world.ts'
import { service, type World } from '../../helpers/world.ts'

const DB = { application: 'db' }
const WEB = { application: 'web' }
const NAME = 'app.kubernetes.io/name'
const WAYPOINT = 'istio.io/use-waypoint'
const ofService = (name?: string) => ({ type: 'app', relation: 'db', endpoints: [], ...(name && { service: name }) })

/** `db` has `policies`, and is on the mesh; `web` may use it. */
const createShop = async (policies: unknown[], mesh: Record<string, unknown> = {}, config = {}): Promise<World> => {
  const world = createMesh(['db', 'web'])
  await configure(world, { mesh })
  await configure(world, { policies, ...config }, DB)
  await world.send('relation-changed', related(3, 'db', WEB, DB))
  await world.send('relation-changed', requires(7, DB))
  return world
}

const serviceOf = (name: string, spec: Record<string, unknown> = {}) => ({
  ...service(name),
  spec: { selector: { [NAME]: 'db' }, ports: [{ port: 80 }], ...spec },
})

const labelOf = (world: World, name: string): string | undefined =>
  world.object('Service', name)?.metadata.labels?.[WAYPOINT]

describe('without a waypoint', () => {
  test.each([
    ['waypoint: false', { waypoint: false }],
    ['units: 0', { units: 0 }],
  ])('no label names it, nothing of a Service is granted, and its pods let nobody in: %s', async (_, mesh) => {
    const world = await createShop([ofService()], mesh)
    expect(enrolled(world, 'db')).toEqual({ 'istio.io/dataplane-mode': 'ambient' })
    expect([policiesIn(world), guardsIn(world)]).toEqual([[], ['Service db: nobody', 'pods db: nobody']])
    const { status, messages } = await world.send('resync', DB)
    expect([status, messages]).toEqual([
      'waiting',
      [
        expect.stringMatching(
          /shop\/db: asks for shop\/db as a Service, which nothing guards without a waypoint: .*type unit$/,
        ),
      ],
    ])
  })

  test('pods are guarded by port as ever', async () => {
    const world = await createShop([{ type: 'unit', relation: 'db', ports: [80] }], { waypoint: false })
    expect(sourcesOf(policiesOf(world, 'db'))).toEqual(['shop/web'])
    expect((await world.send('resync', BEACON)).status).toBe('unchanged')
  })

  test('what the beacon asks for itself is said too', async () => {
    const world = createMesh(['beacon'])
    const outcome = await configure(world, { mesh: { units: 0 }, policies: [ofService()] })
    expect(outcome.messages).toContainEqual(
      expect.stringMatching(/^config of shop\/beacon: asks for shop\/beacon as a Service, which nothing guards/),
    )
    expect(guardsIn(world)).toEqual(['Service beacon: nobody', 'pods beacon: nobody'])
  })

  test('the namespace does not name it either', async () => {
    const world = createMesh(['db'])
    await configure(world, { mesh: { units: 0, modelOnMesh: true } })
    expect(world.object('Namespace', 'shop')?.metadata.labels?.[WAYPOINT]).toBeUndefined()
  })
})

describe('a Service that policies name', () => {
  test('a Service that policies name gets the label of the waypoint once it exists, and loses it with the policy', async () => {
    const world = await createShop([ofService('db-rw')])
    const { status, messages } = await world.send('resync', DB)
    expect([status, messages]).toEqual(['waiting', [expect.stringMatching(/^Service shop\/db-rw does not exist: /)]])
    expect(guardsIn(world)).toContain('Service db-rw: nobody')
    world.api.seed([serviceOf('db-rw')])
    expect((await world.send('resync', DB)).status).toBe('changed')
    expect([labelOf(world, 'db-rw'), labelOf(world, 'db')]).toEqual(['shop-beacon-waypoint', 'shop-beacon-waypoint'])
    await world.send('resync', BEACON)
    expect(sourcesOf(policiesOf(world, 'db-rw'))).toEqual(['shop/web'])
    await configure(world, { policies: [] }, DB)
    expect([labelOf(world, 'db-rw'), labelOf(world, 'db')]).toEqual([undefined, 'shop-beacon-waypoint'])
  })

  test('of another application is left alone, and said', async () => {
    const world = await createShop([ofService('web')])
    expect(labelOf(world, 'web')).toBeUndefined()
    expect((await world.send('resync', DB)).messages).toContainEqual(
      expect.stringMatching(/^Service shop\/web does not select the pods of db by app.kubernetes.io\/name/),
    )
    expect(guardsIn(world)).toEqual([])
  })

  test.each([
    ['by default', ofService()],
    ['by name', ofService('db')],
  ])('a Service that policies name is labelled where the config names no Service: %s', async (_, policy) => {
    const world = await createShop([policy], {}, { service: null })
    expect(labelOf(world, 'db')).toBe('shop-beacon-waypoint')
  })

  test.each([
    ['the one of its name', 'db'],
    ['another', 'db-rw'],
  ])('a Service that policies name is said to be headless: %s', async (_, name) => {
    const world = await createShop([ofService(name)])
    if (name === 'db') remove(world, '/api/v1/namespaces/shop/services/db')
    world.api.seed([serviceOf(name, { clusterIP: 'None' })])
    const { status, messages } = await world.send('resync', DB)
    expect(status).toBe('waiting')
    expect(messages).toEqual([expect.stringMatching(new RegExp(`^Service shop/${name} is headless, .* type unit$`))])
  })

  test('a Service that policies name and that is headless is granted to nobody', async () => {
    const world = createMesh(['db'], false)
    world.api.seed([serviceOf('db-rw', { clusterIP: 'None' })])
    await configure(world, { mesh: {} })
    const { status, messages } = await ask(world, [wire({ target_service: 'db-rw' })])
    expect([status, messages]).toEqual(['waiting', [expect.stringMatching(/Service shop\/db-rw is headless/)]])
    expect([policiesIn(world), guardsIn(world)]).toEqual([[], ['Service db-rw: nobody', 'pods db: waypoint']])
  })
})

describe('a policy of which Istio says', () => {
  const condition = (changes: Record<string, unknown>) => ({
    type: 'WaypointAccepted',
    status: 'True',
    reason: 'Accepted',
    message: 'bound to shop/shop-beacon-waypoint',
    ...changes,
  })
  const judge = (world: World, changes: Record<string, unknown>) => {
    const [policy] = policiesIn(world)
    if (policy === undefined) throw new Error('there is no policy')
    edit(world, `${path(policy)}/status`, { status: { conditions: [condition(changes)] } }, 'pilot-discovery')
  }

  test.each<[string, Record<string, unknown>, RegExp]>([
    [
      'that its Service has no waypoint',
      { status: 'False', reason: 'AncestorNotBound', message: 'Service shop/db is not bound to a waypoint' },
      /^AuthorizationPolicy shop\/\S+ is not enforced: Service shop\/db is not bound to a waypoint \(AncestorNotBound\); it is enforced once/,
    ],
    [
      'that its Service is not there',
      { status: 'False', reason: 'TargetNotFound', message: 'Service shop/db was not found' },
      /was not found \(TargetNotFound\); it is enforced once that is there$/,
    ],
    [
      'that some of its targets are not bound',
      { reason: 'PartiallyInvalid', message: 'Invalid targetRefs: Service.core:shop/x' },
      /is enforced in part: Invalid targetRefs: Service.core:shop\/x \(PartiallyInvalid\)$/,
    ],
    [
      'that a ztunnel cannot see what it asks for',
      { type: 'ZtunnelAccepted', reason: 'UnsupportedValue', message: 'ztunnel does not support HTTP attributes' },
      /is enforced in part: ztunnel does not support HTTP attributes \(UnsupportedValue\)$/,
    ],
  ])('%s is waited for', async (_, changes, message) => {
    const world = await createShop([ofService()])
    judge(world, changes)
    const { status, messages } = await world.send('resync', DB)
    expect([status, messages]).toEqual(['waiting', [expect.stringMatching(message)]])
  })

  test.each<[string, Record<string, unknown>]>([
    ['that it is bound', {}],
    ['something else', { type: 'Ready', status: 'False' }],
    [
      'nothing of it as it is now, which it was written just before',
      { status: 'False', reason: 'AncestorNotBound', observedGeneration: '7' },
    ],
    ['what nobody understands', { status: 'Perhaps' }],
  ])('%s is done', async (_, changes) => {
    const world = await createShop([ofService()])
    judge(world, changes)
    const { status, messages } = await world.send('resync', DB)
    expect([status, messages]).toEqual(['unchanged', []])
  })
})
