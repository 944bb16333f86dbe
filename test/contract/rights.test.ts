import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { meshRelation } from '../helpers/world.ts'
import { type Cluster, noCluster, openCluster, service, workload } from './cluster.ts'

let cluster: Cluster
beforeAll(async () => {
  cluster = await openCluster(['mesh'])
})
afterAll(() => cluster.close())

const relation = (id: number, endpoint: string, name: string, role: 'requires' | 'provides') => ({
  id,
  endpoint,
  interface: name,
  role,
})

const podSpec = { containers: [{ name: 'x', image: 'example.invalid/x:1', ports: [{ containerPort: 80 }] }] }

const rawPolicy = (namespace: string) => ({
  apiVersion: 'security.istio.io/v1',
  kind: 'AuthorizationPolicy',
  metadata: { name: 'web-raw', namespace },
  spec: { selector: { matchLabels: { app: 'web' } } },
})

const beacon = { mesh: { units: 1, modelOnMesh: true } }

type Told = [what: string, type: string, data: (namespace: string) => Record<string, unknown>]

/** Events in this order, in which an application has every kind of object once, and lets go of it. */
const life: Told[] = [
  ['a beacon', 'config-changed', () => ({ application: 'beacon', config: beacon })],
  ['a consumer', 'relation-changed', () => ({ application: 'web', ...meshRelation() })],
  [
    'a relation',
    'relation-changed',
    () => ({
      application: 'web',
      relation: relation(8, 'service-mesh', 'service_mesh', 'requires'),
      remote: { application: 'beacon', data: {} },
    }),
  ],
  [
    'a policy',
    'config-changed',
    (namespace) => ({ application: 'web', config: { rawPolicies: [rawPolicy(namespace)] } }),
  ],
  ['enrolment in place', 'config-changed', () => ({ application: 'web', config: { enrolment: 'in-place' } })],
  ['a pod', 'pod-restarted', () => ({ application: 'web', pod: { name: 'web-0', uid: 'uid' } })],
  ['a leader', 'leader-elected', () => ({ application: 'web', unit: 'web/0' })],
  ['a stateless workload', 'config-changed', () => ({ application: 'own', config: { workload: { podSpec } } })],
  [
    'a stateful workload',
    'config-changed',
    () => ({ application: 'own', config: { workload: { podSpec, deployment: { type: 'stateful' } } } }),
  ],
  [
    'secret values',
    'config-changed',
    () => ({
      application: 'own',
      config: {
        workload: {
          podSpec: { containers: [{ ...podSpec.containers[0], env: [{ name: 'TOKEN', value: 'hush' }] }] },
          secrets: { 'own-tls': { key: 'hush' } },
        },
      },
    }),
  ],
  [
    'a coordinator',
    'config-changed',
    () => ({ application: 'coordinator', config: { coordinator: { roles: ['all'] } } }),
  ],
  ['a resync of the namespace', 'resync', () => ({})],
  [
    'a beacon without a waypoint',
    'config-changed',
    () => ({ application: 'beacon', config: { mesh: { waypoint: false } } }),
  ],
  ['an end of a relation', 'relation-broken', () => ({ application: 'web', relation: { id: 8 } })],
  ...['web', 'own', 'coordinator', 'beacon'].map(
    (application): Told => [`an end of ${application}`, 'application-removed', () => ({ application })],
  ),
]

describe(`the account of the manifests ${noCluster ? '(whose rights need a cluster)' : ''}`, () => {
  test('the account of the manifests may do all that the functions do in the life of applications', async () => {
    const web = workload('StatefulSet', cluster.namespace)
    await cluster.create({ ...web, metadata: { ...web.metadata, name: 'web' } })
    await cluster.create(service(cluster.namespace, {}, 'web'))
    for (const [what, type, data] of life) {
      const { messages } = await cluster.send(type, data(cluster.namespace)).catch((error: Error) => {
        throw new Error(`${what}: ${error.message}`, { cause: error })
      })
      expect(
        messages.filter((message) => /forbidden/i.test(message)),
        what,
      ).toEqual([])
    }
  })
})
