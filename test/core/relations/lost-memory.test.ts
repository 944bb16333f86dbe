import { describe, expect, test } from 'vitest'
import { edit } from '../../helpers/beacon-world.ts'
import { some } from '../../helpers/runs.ts'
import { FORBIDDEN, type World } from '../../helpers/world.ts'
import {
  applyDocument,
  atEveryWrite,
  CONFIGS,
  calm,
  configDocument,
  configure,
  createPair,
  createStarted,
  DELIVERIES,
  DETAILS_CONFIG,
  deleteDocument,
  deliver,
  effects,
  endRelation,
  isCaptured,
  loseMemory,
  MESH,
  OFF,
  relationDocument,
  resync,
  say,
  startPair,
  tellRelation,
  toldTo,
  USE,
  WORKING,
} from './pair.ts'

type Speak = (world: World, name: string) => Promise<unknown>

const EVENTS: readonly (readonly [name: string, speak: Speak])[] = [
  [
    'a pod-restarted',
    (world, application) => say(world, 'pod-restarted', { application, pod: { name: `${application}-0`, uid: 'u' } }),
  ],
  ['a resync', resync],
  ['its config', (world, name) => configure(world, name, CONFIGS[name] ?? {})],
]

const CASES = [['details'], ['beacon'], ['details', 'beacon']].flatMap((told) =>
  ['details', 'beacon'].flatMap((lost) =>
    ['details', 'beacon'].flatMap((to) => EVENTS.map(([event, speak]) => ({ told, lost, to, event, speak }))),
  ),
)

/** A relation is known to both sides when what one of them asks for next reaches the cluster, and its end too. */
const expectAlive = async (world: World): Promise<void> => {
  const { policies } = DETAILS_CONFIG
  await configure(world, 'beacon', CONFIGS.beacon ?? {})
  await configure(world, 'details', { policies: [...policies, { type: 'app', relation: 'admin', endpoints: [] }] })
  expect(effects(world)).toEqual(WORKING)
  await tellRelation(world, 'details', { ...USE, id: 20, endpoint: 'admin', requirer: 'reviews' })
  expect(effects(world)).toEqual({ mesh: 'on', principals: ['shop/productpage', 'shop/reviews'] })
  await endRelation(world, 'details', MESH)
  expect(effects(world)).toEqual(OFF)
}

describe.each(DELIVERIES)('with the delivery: %s', (delivery) => {
  test.each(some(CASES, 7))(
    'the memory of $lost is lost, the relation was told to $told: $event told to $to opens and un-enrols nothing',
    async ({ told, lost, to, speak }) => {
      const world = await createStarted(delivery, { others: ['reviews'], sides: told })
      expect(effects(world)).toEqual(WORKING)
      loseMemory(world, lost)
      const seen = atEveryWrite(world, () => effects(world))
      await speak(world, to)
      expect(seen).toEqual([WORKING])
    },
  )
})

test.each(some(CASES, 7))(
  'the memory of $lost is lost, the relation was told to $told: after $event told to $to it works as before',
  async ({ told, lost, to, speak }) => {
    const world = await createStarted('broker', { others: ['reviews'], sides: told })
    loseMemory(world, lost)
    await speak(world, to)
    await expectAlive(world)
  },
)

test('relations and configs that are documents outlive the memories of both sides, and nothing is opened meanwhile', async () => {
  const world = createPair()
  const documents = [
    configDocument('beacon'),
    configDocument('details'),
    relationDocument('details', MESH),
    relationDocument('details', USE),
  ]
  await deliver(
    world,
    documents.map((one) => applyDocument(world, one)),
  )
  for (const lost of ['details', 'beacon']) loseMemory(world, lost)
  const seen = atEveryWrite(world, () => effects(world))
  await resync(world, undefined)
  expect(seen).toEqual([WORKING])
  await deliver(world, [deleteDocument(world, relationDocument('details', MESH))])
  expect(effects(world)).toEqual(OFF)
})

const FIRSTS: readonly (readonly [name: string, speak: (world: World) => Promise<unknown>])[] = [
  ['the config of details', (world) => configure(world, 'details', DETAILS_CONFIG)],
  ['the config of the beacon', (world) => configure(world, 'beacon', CONFIGS.beacon ?? {})],
  ['a resync of details', (world) => resync(world, 'details')],
  ['a resync of the beacon', (world) => resync(world, 'beacon')],
  ['a resync of the namespace', (world) => resync(world, undefined)],
  ['the end of another relation', (world) => endRelation(world, 'details', { ...USE, id: 9 }, { isNamed: true })],
]

const PAIRS = FIRSTS.flatMap(([first, one]) => FIRSTS.map(([second, two]) => ({ first, second, speak: [one, two] })))

describe('both memories are lost, and nothing is a document', () => {
  const lose = async (): Promise<World> => {
    const world = await createStarted('broker', { others: ['reviews'] })
    await tellRelation(world, 'productpage', { ...MESH, id: 3, requirer: 'productpage' })
    for (const lost of ['details', 'beacon', 'productpage']) loseMemory(world, lost)
    return world
  }

  test.each(some(PAIRS, 5))('$first, then $second, opens nothing and takes nobody off the mesh', async ({ speak }) => {
    const world = await lose()
    const seen = atEveryWrite(world, () => [effects(world), isCaptured(world, 'productpage')])
    for (const one of [...speak, ...speak]) await one(world)
    expect(seen).toEqual([[WORKING, true]])
  })

  test.each(FIRSTS)('after %s all is as before once its relations are told again', async (_, speak) => {
    const world = await lose()
    await speak(world)
    const seen = atEveryWrite(world, () => effects(world))
    await startPair(world)
    expect(seen).toEqual([WORKING])
    await expectAlive(world)
  })

  test.each<[string, (world: World) => Promise<unknown>]>([
    ['the end of its relation', (world) => endRelation(world, 'details', MESH, { isNamed: true })],
    ['its removal', (world) => say(world, 'application-removed', { application: 'details' })],
  ])('%s takes the application off the mesh', async (_, end) => {
    const world = await lose()
    await configure(world, 'beacon', CONFIGS.beacon ?? {})
    await configure(world, 'details', DETAILS_CONFIG)
    await end(world)
    await resync(world, undefined)
    expect(effects(world)).toEqual(OFF)
  })
})

test('both memories are lost, and the beacon is told of its relation first: what was granted stays', async () => {
  const world = await createStarted()
  for (const lost of ['details', 'beacon']) loseMemory(world, lost)
  const seen = atEveryWrite(world, () => effects(world))
  await configure(world, 'beacon', CONFIGS.beacon ?? {})
  await tellRelation(world, 'beacon', MESH)
  expect(seen).toEqual([WORKING])
})

test('a beacon that lost its memory and is told the end of a relation revokes nothing before the labels are off', async () => {
  const world = await createStarted()
  await configure(world, 'beacon', CONFIGS.beacon ?? {})
  loseMemory(world, 'beacon')
  world.api.seed([configDocument('beacon')], { manager: 'kubectl' })
  const seen = atEveryWrite(world, () => [isCaptured(world, 'details'), effects(world).principals.length])
  await endRelation(world, 'beacon', MESH)
  await resync(world, undefined)
  expect([seen[0], effects(world)]).toEqual([[true, 1], OFF])
  expect(seen.filter(([captured, granted]) => captured && granted !== 1)).toEqual([])
})

test.each([
  ['can', {}],
  ['cannot', { versions: { service_mesh: [0] } }],
])(
  'a beacon that lost its memory, and %s read what was asked for, revokes the grant of a relation that is over once its labels are off',
  async (_, versions) => {
    const world = await createStarted()
    const config = { ...DETAILS_CONFIG, versions: { service_mesh: [1] } }
    await configure(world, 'details', config)
    loseMemory(world, 'beacon')
    world.intercept = ({ method, path }) =>
      method === 'PATCH' && path.includes('/statefulsets/details?') ? FORBIDDEN : undefined
    await endRelation(world, 'details', MESH)
    await configure(world, 'beacon', { ...CONFIGS.beacon, ...versions })
    expect([isCaptured(world, 'details'), effects(world).principals]).toEqual([true, WORKING.principals])
    world.intercept = undefined
    await configure(world, 'details', config)
    expect(effects(world)).toEqual(OFF)
  },
)

test('a beacon that is removed keeps its waypoint until a consumer has left that asks for nothing and lost its memory', async () => {
  const world = createPair()
  await configure(world, 'beacon', CONFIGS.beacon ?? {})
  await tellRelation(world, 'details', MESH)
  loseMemory(world, 'details')
  const hasWaypoint = () => world.api.objects().some(({ kind }) => kind === 'Gateway')
  const seen = atEveryWrite(world, () => [isCaptured(world, 'details'), hasWaypoint()])
  await say(world, 'application-removed', { application: 'beacon' })
  expect(seen).toEqual([
    [true, true],
    [false, true],
    [false, false],
  ])
})

test('a beacon that is removed keeps its waypoint until a consumer has left whose memory was restored from before their relation', async () => {
  const world = createPair()
  await configure(world, 'beacon', CONFIGS.beacon ?? {})
  await configure(world, 'details', {})
  const path = '/api/v1/namespaces/shop/configmaps/juju-service-mesh-details-labels'
  const { body } = world.api.handle({ method: 'GET', path, headers: {} })
  const { data } = JSON.parse(body)
  await tellRelation(world, 'details', MESH)
  edit(world, path, { data: { labels: null, ...data } }, 'restore')
  const hasWaypoint = () => world.api.objects().some(({ kind }) => kind === 'Gateway')
  const seen = atEveryWrite(world, () => [isCaptured(world, 'details'), hasWaypoint()])
  await say(world, 'application-removed', { application: 'beacon' })
  await resync(world, undefined)
  expect(seen).toEqual([
    [true, true],
    [false, true],
    [false, false],
  ])
})

test('a relation of the mesh takes the place of another one without a moment off the mesh', async () => {
  const world = await createStarted()
  const seen = atEveryWrite(world, () => effects(world))
  // its nudge is on its way still
  await world.send('relation-changed', toldTo('details', { ...MESH, id: 11 }))
  await world.send('relation-broken', { application: 'details', relation: { id: 1 } })
  await calm(world)
  expect(seen).toEqual([WORKING])
})

test('a relation that was told to the side that lost its memory is known there again from the other side', async () => {
  const world = createPair()
  await startPair(world)
  await say(world, 'relation-changed', toldTo('productpage', { ...MESH, id: 3, requirer: 'productpage' }))
  loseMemory(world, 'details')
  await resync(world, 'productpage')
  await configure(world, 'details', DETAILS_CONFIG)
  expect(effects(world)).toEqual(WORKING)
  await endRelation(world, 'details', USE)
  expect(effects(world)).toEqual({ mesh: 'on', principals: [] })
})

test('a relation that ended while the memory of one side was lost does not come back with it', async () => {
  for (const lost of ['details', 'beacon']) {
    const world = await createStarted()
    loseMemory(world, lost)
    await endRelation(world, lost === 'details' ? 'beacon' : 'details', MESH)
    for (const name of ['details', 'beacon']) await configure(world, name, CONFIGS[name] ?? {})
    for (const name of ['beacon', 'details']) await resync(world, name)
    expect([lost, effects(world)]).toEqual([lost, OFF])
  }
})

test('data that are no config, told after the memory was lost, revoke nothing that the config had asked for', async () => {
  const world = await createStarted()
  loseMemory(world, 'details')
  const seen = atEveryWrite(world, () => effects(world))
  await say(world, 'config-changed', { application: 'details', databag: { 'service-mesh': { quota: '5' } } })
  await resync(world, undefined)
  expect(seen).toEqual([WORKING])
  await configure(world, 'details', {})
  expect(effects(world)).toEqual({ mesh: 'on', principals: [] })
})
