import { describe, expect, test } from 'vitest'
import type { World } from '../helpers/world.ts'
import {
  applyDocument,
  atEveryWrite,
  CONFIGS,
  configDocument,
  configure,
  createPair,
  DELIVERIES,
  DETAILS_CONFIG,
  deleteDocument,
  deliver,
  effects,
  endRelation,
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
  test.each(CASES)(
    'the memory of $lost is lost, the relation was told to $told: $event told to $to opens and un-enrols nothing',
    async ({ told, lost, to, speak }) => {
      const world = await startPair(createPair(delivery, ['reviews']), told)
      expect(effects(world)).toEqual(WORKING)
      loseMemory(world, lost)
      const seen = atEveryWrite(world, () => effects(world))
      await speak(world, to)
      expect(seen).toEqual([WORKING])
    },
  )
})

test.each(CASES)(
  'the memory of $lost is lost, the relation was told to $told: after $event told to $to it works as before',
  async ({ told, lost, to, speak }) => {
    const world = await startPair(createPair('broker', ['reviews']), told)
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
    const world = await startPair(createPair())
    loseMemory(world, lost)
    await endRelation(world, lost === 'details' ? 'beacon' : 'details', MESH)
    for (const name of ['details', 'beacon']) await configure(world, name, CONFIGS[name] ?? {})
    for (const name of ['beacon', 'details']) await resync(world, name)
    expect([lost, effects(world)]).toEqual([lost, OFF])
  }
})
