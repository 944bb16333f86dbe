import { expect, test } from 'vitest'
import { calm, configure, createPair, MESH, tellRelation, USE } from '../../core/relations/pair.ts'
import { passes, worldOf } from '../../helpers/safety.ts'
import { FORBIDDEN, type World } from '../../helpers/world.ts'

const POLICIES = [{ type: 'app', relation: 'details', endpoints: [] }]
const LANTERN = { ...MESH, id: 9, provider: 'lantern' }

const isReached = (world: World): boolean =>
  passes(worldOf(world.api, { autoAllow: false }), 'productpage', { application: 'details', service: 'details' })

/** The API server refuses the policies of `lantern`, so that it grants nothing. */
const refuseLantern = (world: World): void => {
  world.intercept = ({ method, path }) =>
    method !== 'GET' && path.includes('/authorizationpolicies/') && path.includes('lantern') ? FORBIDDEN : undefined
}

test('a Service is led to the beacon that grants, while another beacon has yet to grant', async () => {
  const world = createPair()
  refuseLantern(world)
  for (const beacon of ['lantern', 'beacon']) await configure(world, beacon, { mesh: {} })
  await configure(world, 'details', { policies: POLICIES })
  await tellRelation(world, 'details', USE)
  await tellRelation(world, 'productpage', { ...MESH, id: 3, requirer: 'productpage' })
  for (const relation of [LANTERN, MESH]) {
    await tellRelation(world, relation.provider, relation)
    await tellRelation(world, 'details', relation)
  }
  await calm(world)
  expect(world.object('Service', 'details')?.metadata.labels?.['istio.io/use-waypoint']).toBe('shop-beacon-waypoint')
  expect(isReached(world)).toBe(true)
})
