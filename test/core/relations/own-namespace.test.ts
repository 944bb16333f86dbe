import { describe, expect, test } from 'vitest'
import { configure, createMesh, enrolled, policiesOf, related, sourcesOf } from '../../helpers/beacon-world.ts'
import type { World } from '../../helpers/world.ts'

const DB = { application: 'db' }
const BEACON = { application: 'beacon' }
const ASKED = { policies: [{ type: 'app', relation: 'db', endpoints: [{ ports: [80] }] }] }

type Side = 'requires' | 'provides'

/** The relation of `db` with its beacon as one side is told, with or without the namespace that both are in. */
const told = (role: Side, isNamed: boolean) => {
  const remote = { ...(role === 'requires' ? BEACON : DB), data: {}, ...(isNamed && { namespace: 'shop' }) }
  const relation = { id: 7, endpoint: role === 'requires' ? 'service-mesh' : 'mesh', interface: 'service_mesh', role }
  return { ...(role === 'requires' ? DB : BEACON), relation, remote }
}

const stateOf = (world: World, application: string) =>
  JSON.parse(world.object('ConfigMap', `juju-service-mesh-${application}-labels`)?.data?.state ?? '{}')

const keysOf = (world: World, application: string): string[] => Object.keys(stateOf(world, application).relations)

const createBeacon = async (): Promise<World> => {
  const world = createMesh(['db', 'cart'])
  await configure(world, { mesh: {} })
  await configure(world, ASKED, DB)
  await world.send('relation-changed', related(3, 'db', { application: 'cart' }, DB))
  return world
}

const expectOne = async (world: World): Promise<void> => {
  for (const data of [{}, DB, BEACON]) await world.send('resync', data)
  expect([keysOf(world, 'db'), keysOf(world, 'beacon')]).toEqual([
    ['3/provides/http/cart', '7/requires/service_mesh/beacon'],
    ['7/provides/service_mesh/db'],
  ])
  for (const data of [DB, BEACON]) expect((await world.send('resync', data)).messages).toEqual([])
  expect([enrolled(world, 'db'), sourcesOf(policiesOf(world, 'db'))]).toEqual([
    expect.objectContaining({ 'istio.io/dataplane-mode': 'ambient' }),
    ['shop/cart'],
  ])
}

describe('a relation within the namespace is one, whether the namespace is told', () => {
  test.each<[string, [Side, boolean][]]>([
    [
      'to one side and not to the other',
      [
        ['requires', false],
        ['provides', true],
      ],
    ],
    [
      'to the first side and not to the second',
      [
        ['provides', true],
        ['requires', false],
      ],
    ],
    [
      'to a side at first and not again',
      [
        ['requires', true],
        ['requires', false],
        ['provides', true],
      ],
    ],
    [
      'to a side at last',
      [
        ['provides', false],
        ['provides', true],
        ['requires', true],
      ],
    ],
  ])('%s', async (_, words) => {
    const world = await createBeacon()
    for (const word of words) await world.send('relation-changed', told(...word))
    await expectOne(world)
    await world.send('relation-broken', { ...DB, relation: { id: 7 }, remote: { ...BEACON, namespace: 'shop' } })
    await world.send('resync', {})
    expect([enrolled(world, 'db'), sourcesOf(policiesOf(world, 'db'))]).toEqual([{}, []])
  })

  test('a relation within the namespace is one, whether the namespace is told by a document', async () => {
    const world = await createBeacon()
    await world.send('relation-changed', told('provides', false))
    const { application, relation, remote } = told('requires', true)
    const labels = { 'meshstep.dev/kind': 'relation' }
    const data = { application, relation: JSON.stringify(relation), remote: JSON.stringify(remote) }
    world.api.seed([
      { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'mesh', namespace: 'shop', labels }, data },
    ])
    await expectOne(world)
  })
})
