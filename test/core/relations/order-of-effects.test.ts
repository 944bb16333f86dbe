import { describe, expect, test } from 'vitest'
import { some } from '../../helpers/runs.ts'
import type { World } from '../../helpers/world.ts'
import {
  atEveryWrite,
  BEACON_CONFIG,
  calm,
  configure,
  createPair,
  createStarted,
  DELIVERIES,
  DETAILS_CONFIG,
  effects,
  endRelation,
  isCaptured,
  MESH,
  OFF,
  principalsAt,
  resync,
  say,
  tellRelation,
  USE,
  WORKING,
  word,
} from './pair.ts'

const USER = 'shop/productpage'

/** On the mesh, where nobody who may use it is let in: what was open is refused. */
const isShut = (world: World): boolean => isCaptured(world, 'details') && !principalsAt(world, 'details').includes(USER)

const SIDES = [['details'], ['beacon'], ['details', 'beacon'], ['beacon', 'details']]
const CASES = DELIVERIES.flatMap((delivery) => SIDES.map((told) => ({ delivery, told })))

describe('enrolment and policies', () => {
  test.each(some(CASES, 3))(
    'an application whose users are named is enrolled only once they are let in, told to $told, delivered by: $delivery',
    async (one) => {
      const world = await createStarted(one.delivery, { sides: [] })
      const seen = atEveryWrite(world, () => isShut(world))
      for (const side of one.told) await tellRelation(world, side, MESH)
      expect(effects(world)).toEqual(WORKING)
      expect(seen).toEqual([false])
    },
  )

  test.each(some(CASES, 3))(
    'an application whose users are named is un-enrolled before they are shut out, ended at $told, delivered by: $delivery',
    async (one) => {
      const world = await createStarted(one.delivery, { sides: ['details', 'beacon'] })
      const seen = atEveryWrite(world, () => isShut(world))
      for (const side of one.told) await endRelation(world, side, MESH)
      expect(effects(world)).toEqual(OFF)
      expect(seen).toEqual([false])
    },
  )

  test.each(DELIVERIES)(
    'an application whose users are named is un-enrolled before they are shut out when the beacon is removed, delivered by: %s',
    async (d) => {
      const world = await createStarted(d)
      const seen = atEveryWrite(world, () => isShut(world))
      await say(world, 'application-removed', { application: 'beacon' })
      for (const name of ['details', 'beacon']) await resync(world, name)
      expect(effects(world)).toEqual(OFF)
      expect(seen).toEqual([false])
    },
  )

  test('an application whose users are named is not enrolled while its requests are not granted, and says what it waits for', async () => {
    const world = await createStarted('broker', { sides: [] })
    world.intercept = ({ path, method }) =>
      method !== 'GET' && path.includes('/authorizationpolicies') ? refusal(403) : undefined
    await tellRelation(world, 'beacon', MESH)
    expect(effects(world)).toEqual(OFF)
    const { status, messages } = await resync(world, 'details')
    expect([status, messages.join()]).toEqual(['waiting', expect.stringContaining('shop/beacon')])
    world.intercept = undefined
    for (const name of ['beacon', 'details']) await resync(world, name)
    expect(effects(world)).toEqual(WORKING)
  })

  test('an application whose users are named stays enrolled when it names others, and when it names nobody any more', async () => {
    const world = await createStarted()
    const seen = atEveryWrite(world, () => effects(world).mesh)
    await configure(world, 'details', { policies: [{ type: 'unit', relation: 'details', ports: [9080] }] })
    await configure(world, 'details', {})
    await configure(world, 'details', DETAILS_CONFIG)
    expect(seen).toEqual(['on'])
  })

  test.each(DELIVERIES)(
    'an application whose users are named is un-enrolled first by a config that does both, delivered by: %s',
    async (delivery) => {
      const world = await createStarted(delivery)
      const seen = atEveryWrite(world, () => isShut(world))
      await configure(world, 'details', { workload: null, service: null })
      expect(effects(world)).toEqual(OFF)
      expect(seen).toEqual([false])
    },
  )

  test('an application whose users are named keeps its users let in while it cannot be un-enrolled, and no longer', async () => {
    const world = await createStarted()
    const seen = atEveryWrite(world, () => isShut(world))
    world.intercept = ({ path, method }) =>
      method !== 'GET' && path.includes('/statefulsets/details') ? refusal(503) : undefined
    await world.post(word('relation-broken', { application: 'beacon', relation: { id: MESH.id } }))
    await calm(world)
    expect(principalsAt(world, 'details')).toEqual([USER])
    world.intercept = undefined
    for (const name of ['details', 'beacon']) await resync(world, name)
    expect(effects(world)).toEqual(OFF)
    expect(seen).toEqual([false])
  })
})

const refusal = (status: number) => ({
  status,
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify({ kind: 'Status', status: 'Failure', code: status, message: 'not now' }),
})

describe('modelOnMesh', () => {
  const CONSUMERS = ['details', 'productpage']

  const isNamespaceOn = (world: World): boolean =>
    world.api
      .objects()
      .some(
        ({ kind, metadata }) =>
          kind === 'Namespace' &&
          metadata.name === 'shop' &&
          metadata.labels?.['istio.io/dataplane-mode'] === 'ambient',
      )

  const offMesh = (world: World): string[] =>
    isNamespaceOn(world) ? [] : CONSUMERS.filter((name) => !isCaptured(world, name))

  const createModel = async (delivery: 'own sink' | 'broker', side = 'details') => {
    const world = createPair(delivery)
    await configure(world, 'beacon', { mesh: { modelOnMesh: true } })
    await configure(world, 'details', DETAILS_CONFIG)
    await tellRelation(world, 'details', USE)
    for (const [index, name] of CONSUMERS.entries())
      await tellRelation(world, side === 'details' ? name : side, { ...MESH, id: 30 + index, requirer: name })
    expect(offMesh(world)).toEqual([])
    return world
  }

  test.each(DELIVERIES.flatMap((delivery) => ['details', 'beacon'].map((side) => ({ delivery, side }))))(
    'a beacon that put its namespace on the mesh and does so no longer keeps its labels until the applications hold theirs, told to $side, delivered by: $delivery',
    async ({ delivery, side }) => {
      const world = await createModel(delivery, side)
      const seen = atEveryWrite(world, () => offMesh(world))
      await configure(world, 'beacon', BEACON_CONFIG)
      for (const name of [...CONSUMERS, 'beacon']) await resync(world, name)
      expect(seen).toEqual([[]])
      expect([isNamespaceOn(world), effects(world)]).toEqual([false, WORKING])
    },
  )

  test('a beacon that put its namespace on the mesh and does so no longer says whom it waits for', async () => {
    const world = await createModel('broker')
    const { id, source } = word('config-changed', {})
    const handled = await world.send('config-changed', { application: 'beacon', config: BEACON_CONFIG }, { id, source })
    expect([handled.status, isNamespaceOn(world)]).toEqual(['waiting', true])
    for (const name of CONSUMERS) expect(handled.messages.join()).toContain(`shop/${name}`)
    await calm(world)
    await resync(world, 'beacon')
    expect(isNamespaceOn(world)).toBe(false)
  })

  test('a beacon that put its namespace on the mesh takes the labels of the applications off only once its own are there', async () => {
    const world = await createModel('broker')
    await configure(world, 'beacon', BEACON_CONFIG)
    const seen = atEveryWrite(world, () => offMesh(world))
    await configure(world, 'beacon', { mesh: { modelOnMesh: true } })
    expect(seen).toEqual([[]])
    expect(isNamespaceOn(world)).toBe(true)
  })
})
