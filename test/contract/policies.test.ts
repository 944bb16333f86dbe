import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { accepted, refused } from '../mesh/istio/written-policies.ts'
import { type Cluster, noCluster, openCluster } from './cluster.ts'

let cluster: Cluster
beforeAll(async () => {
  if (!noCluster) cluster = await openCluster()
})
afterAll(() => cluster?.close())

/** Creates the policy, and answers with the status of the API server. */
const create = async (spec: unknown, annotations?: Record<string, string>): Promise<number> => {
  const metadata = {
    name: `p-${crypto.randomUUID()}`,
    namespace: cluster.namespace,
    ...(annotations && { annotations }),
  }
  const policy = { apiVersion: 'security.istio.io/v1', kind: 'AuthorizationPolicy', metadata }
  const created = cluster.create({ ...policy, ...(spec !== undefined && { spec: spec as Record<string, unknown> }) })
  return await created.then(
    () => 201,
    ({ status }: { status: number }) => status,
  )
}

describe.skipIf(noCluster)(`the CRD of AuthorizationPolicy on a real API server ${noCluster ?? ''}`, () => {
  test.each(accepted)('the CRD of AuthorizationPolicy on a real API server takes %s', async (_, spec, annotations) => {
    expect(await create(spec, annotations)).toBe(201)
  })

  test('the CRD of AuthorizationPolicy on a real API server refuses some of what is refused at the door, as invalid, and leaves the rest to the webhook of Istio', async () => {
    const statuses = await Promise.all(refused.map(([, spec, , annotations]) => create(spec, annotations)))
    // where Istio runs, its webhook refuses the rest with 400, or most of it
    expect(new Set(statuses).difference(new Set([400]))).toEqual(new Set([201, 422]))
  })
})
