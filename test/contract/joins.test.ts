import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { until } from '../process/helpers.ts'
import { type Cluster, isRolledOut, openCluster } from './cluster.ts'
import { noDebug } from './istio.ts'
import { DB, isServing, mesh, SLOW } from './shop.ts'

let cluster: Cluster
beforeAll(async () => {
  cluster = await openCluster()
})
afterAll(() => cluster.close())

describe.skipIf(noDebug)(`a StatefulSet that meshstep creates on a mesh of a real istiod ${noDebug ?? ''}`, () => {
  test('a StatefulSet that meshstep creates on a mesh of a real istiod is still as it was created when its first pod is ready with the labels of the mesh', {
    timeout: SLOW,
  }, async () => {
    const { kubernetes, namespace } = cluster
    await cluster.send('config-changed', { application: 'beacon', config: { mesh: {} } })
    await until('the waypoint serves', () => isServing(cluster), 60_000)
    await cluster.send('relation-changed', mesh(1, 'db'))
    await cluster.send('relation-changed', {
      application: 'beacon',
      relation: { id: 1, endpoint: 'service-mesh', interface: 'service_mesh', role: 'provides' },
      remote: { ...DB, data: {} },
    })
    await cluster.send('resync', DB)
    const podSpec = { containers: [{ name: 'db', image: 'example.invalid/db:1' }] }
    const config = {
      workload: { podSpec, deployment: { type: 'stateful' }, replicas: 1 },
      policies: [{ type: 'app', relation: 'db', endpoints: [] }],
    }
    await cluster.send('config-changed', { ...DB, config })
    const db = { kind: 'StatefulSet', namespace, name: 'db' } as const
    const found = await until('its pod is ready', async () => {
      const one = await kubernetes.find(db)
      return one !== undefined && isRolledOut(one) && one
    })
    expect(found.metadata.generation).toBe(1)
    const pod = await kubernetes.find({ kind: 'Pod', namespace, name: 'db-0' })
    expect(pod?.metadata.labels).toMatchObject({
      'istio.io/dataplane-mode': 'ambient',
      'istio.io/use-waypoint': `${namespace}-beacon-waypoint`,
    })
  })
})
