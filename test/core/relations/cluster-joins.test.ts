import { expect, test } from 'vitest'
import { COORDINATOR, meshOf, ON_MESH, PART_OF, policies, startedCluster, WORKERS } from '../../helpers/cluster.ts'
import { FORBIDDEN } from '../../helpers/world.ts'

const own = (name: string) => ({ 'app.kubernetes.io/name': name, ...PART_OF })

test('a coordinator that joins a mesh takes its workers along once the policies between them stand', async () => {
  const world = await startedCluster()
  world.intercept = ({ method, path }) =>
    method !== 'GET' && path.includes('/authorizationpolicies') ? FORBIDDEN : undefined
  await world.send('relation-changed', { application: COORDINATOR, ...meshOf() })
  for (const application of WORKERS) await world.send('resync', { application })
  expect(policies(world)).toEqual([])
  for (const name of WORKERS) expect(world.labels(name).service).toEqual(own(name))

  world.intercept = undefined
  await world.send('resync', { application: COORDINATOR })
  expect(policies(world)).toHaveLength(2)
  for (const name of WORKERS) expect(world.labels(name).service).toEqual({ ...own(name), ...ON_MESH })
})
