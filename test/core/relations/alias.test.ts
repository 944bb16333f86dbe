import { describe, expect, test } from 'vitest'
import type { World } from '../../helpers/world.ts'
import {
  applyDocument,
  atEveryWrite,
  BEACON_CONFIG,
  configure,
  createPair,
  DELIVERIES,
  deliver,
  endRelation,
  MESH,
  principalsAt,
  type Related,
  relationDocument,
  resync,
  say,
  tellRelation,
} from './pair.ts'

const CONFIG = { policies: [{ type: 'app', relation: 'api', endpoints: [] }] }
const API: Related = { id: 10, requirer: 'f-x', provider: 'a', endpoint: 'api', interface: 'http' }
const NAMING: Related = {
  id: 11,
  requirer: 'f-x',
  provider: 'a',
  endpoint: 'provide-cmr-mesh',
  interface: 'cross_model_mesh',
}
const REAL = ['x2/f']
const LOCAL = 'shop/f-x'

/** `a` is on the mesh, and whoever is related to its endpoint `api` may use it. */
const createModel = async (delivery: 'own sink' | 'broker' = 'broker', others: readonly string[] = []) => {
  const world = createPair(delivery, ['a', ...others])
  await configure(world, 'beacon', BEACON_CONFIG)
  await configure(world, 'a', CONFIG)
  await tellRelation(world, 'a', { ...MESH, requirer: 'a' })
  return world
}

const tellName = (world: World, name: Record<string, string> = { app_name: 'f', juju_model_name: 'x2' }) =>
  say(world, 'relation-changed', {
    application: 'a',
    relation: { id: 11, endpoint: 'provide-cmr-mesh', interface: 'cross_model_mesh', role: 'provides' },
    remote: { application: 'f-x', data: { cmr_data: JSON.stringify(name) } },
  })

const hasMemory = (world: World): boolean => world.memory('f-x') !== undefined

describe.each(DELIVERIES)('with the delivery: %s', (delivery) => {
  test.each(['after', 'before'])('an alias is let in as who it is, told so %s its relation', async (when) => {
    const world = await createModel(delivery)
    if (when === 'before') await tellName(world)
    await tellRelation(world, 'a', API)
    if (when === 'after') await tellName(world)
    expect(principalsAt(world, 'a')).toEqual(REAL)
    const seen = atEveryWrite(world, () => principalsAt(world, 'a'))
    for (const name of ['a', 'beacon', undefined]) await resync(world, name)
    await configure(world, 'a', CONFIG)
    expect(seen).toEqual([REAL])
  })

  test('an alias that is known before its relation is never let in under its local name', async () => {
    const world = await createModel(delivery)
    const seen = atEveryWrite(world, () => principalsAt(world, 'a'))
    await tellName(world)
    await tellRelation(world, 'a', API)
    expect(seen).toEqual([[], REAL])
  })

  test.each(['after', 'before'])('an alias gets no memory, told who it is %s its relation', async (when) => {
    const world = await createModel(delivery)
    const seen = atEveryWrite(world, () => hasMemory(world))
    if (when === 'before') await tellName(world)
    await tellRelation(world, 'a', API)
    if (when === 'after') await tellName(world)
    for (const name of ['a', undefined]) await resync(world, name)
    await endRelation(world, 'a', API)
    await endRelation(world, 'a', NAMING)
    expect(seen).toEqual([false])
  })
})

test('an alias gets no memory by a document of the application that is related to it', async () => {
  const world = await createModel()
  await deliver(world, [applyDocument(world, relationDocument('a', API))])
  for (const name of ['f-x', 'a', undefined]) await resync(world, name)
  expect(Object.values(world.memory('a')?.state.relations ?? {}).map(({ id }) => id)).toContain(API.id)
  expect(hasMemory(world)).toBe(false)
})

describe('a namesake of an alias', () => {
  const createNamesake = async () => {
    const world = await createModel('broker', ['f-x'])
    await configure(world, 'f-x', {})
    return world
  }

  test('a local application that has the name of an alias is not let in', async () => {
    const world = await createNamesake()
    const seen = atEveryWrite(world, () => principalsAt(world, 'a').includes(LOCAL))
    await tellName(world)
    await tellRelation(world, 'a', API)
    await configure(world, 'f-x', { policies: [] })
    for (const name of ['f-x', 'a', undefined]) await resync(world, name)
    expect(principalsAt(world, 'a')).toEqual(REAL)
    expect(seen).toEqual([false])
  })

  test('a local application that has the name of an alias is not believed when it says who it is', async () => {
    const world = await createNamesake()
    await tellName(world)
    await tellRelation(world, 'a', API)
    await tellRelation(world, 'f-x', { ...NAMING, endpoint: 'require-cmr-mesh' })
    for (const name of ['f-x', 'a', undefined]) await resync(world, name)
    expect(principalsAt(world, 'a')).toEqual(REAL)
  })

  test('a local application that has the name of an alias ends no relation of the alias', async () => {
    const world = await createNamesake()
    await tellName(world)
    await tellRelation(world, 'a', API)
    await say(world, 'application-removed', { application: 'f-x' })
    for (const name of ['f-x', 'a', undefined]) await resync(world, name)
    expect(principalsAt(world, 'a')).toEqual(REAL)
  })
})

describe('a client of another model that is told with its namespace', () => {
  const tellFar = (world: World, name: Record<string, string>) =>
    say(world, 'relation-changed', {
      application: 'a',
      relation: { id: 11, endpoint: 'provide-cmr-mesh', interface: 'cross_model_mesh', role: 'provides' },
      remote: { application: 'f-x', namespace: 'x2', data: { cmr_data: JSON.stringify(name) } },
    })

  test('a local application of the same name is let in as itself, and gives its access to nobody', async () => {
    const world = await createModel('broker', ['f-x'])
    await configure(world, 'f-x', {})
    await tellRelation(world, 'a', API)
    const seen = atEveryWrite(world, () => principalsAt(world, 'a'))
    await tellFar(world, { app_name: 'f', juju_model_name: 'x2' })
    for (const name of ['f-x', 'a', undefined]) await resync(world, name)
    expect(principalsAt(world, 'a')).toEqual([LOCAL])
    expect(seen.every((one) => one.includes(LOCAL))).toBe(true)
  })

  test('it names nobody of a third namespace', async () => {
    const world = await createModel()
    const relation = { id: 12, endpoint: 'api', interface: 'http', role: 'provides' }
    const remote = { application: 'f-x', namespace: 'x3', data: {} }
    await say(world, 'relation-changed', { application: 'a', relation, remote })
    await tellFar(world, { app_name: 'f', juju_model_name: 'x3' })
    expect(principalsAt(world, 'a')).toEqual([])
  })
})

test('an application whose platform says that it is in this namespace, under its own name, is no alias', async () => {
  const world = await createModel('broker', ['f-x'])
  await configure(world, 'f-x', {})
  await tellRelation(world, 'a', API)
  await tellName(world, { app_name: 'f-x', juju_model_name: 'shop' })
  expect(principalsAt(world, 'a')).toEqual([LOCAL])
  await endRelation(world, 'f-x', API)
  expect(principalsAt(world, 'a')).toEqual([])
})

test('an event that says to be from an application that never named the relation grants it nothing', async () => {
  const world = await createModel()
  const phantom = { application: 'phantom', namespace: 'shop', endpoint: 'api', data: {} }
  const relation = { id: 66, endpoint: 'api', interface: 'http', role: 'provides' }
  const source = '/meshstep/shop/phantom'
  await say(world, 'relation-changed', { application: 'a', relation, remote: phantom }, { source })
  await resync(world, 'a')
  expect(principalsAt(world, 'a')).toEqual([])
  expect(world.memory('phantom')).toBeUndefined()
})
