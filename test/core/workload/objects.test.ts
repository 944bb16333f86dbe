import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { PodWorkload } from '../../../src/core/workload/config.ts'
import { endpointsName, workloadObjects } from '../../../src/core/workload/objects.ts'
import { servicePorts } from '../../../src/core/workload/service-ports.ts'
import { podSpec, reordered, SUBJECT, workload } from './samples.ts'

const LABELS = { 'app.kubernetes.io/name': 'web' }
const metadata = (name = 'web') => ({
  name,
  namespace: 'shop',
  labels: LABELS,
})
const HTTP = { name: 'http', port: 80, protocol: 'TCP', targetPort: 80 }
const STORAGE = [{ metadata: { name: 'data' }, spec: { resources: { requests: { storage: '1Gi' } } } }]

const objects = (changes: Partial<PodWorkload> = {}) => workloadObjects(SUBJECT, workload(changes))
const names = (changes: Partial<PodWorkload> = {}) =>
  objects(changes).map(({ kind, metadata: { name } }) => `${kind} ${name}`)
const workloadIn = (all: ReturnType<typeof objects>) =>
  all.find(({ kind }) => kind === 'Deployment' || kind === 'StatefulSet')?.spec
const serviceOf = (changes: Partial<PodWorkload>) =>
  objects(changes).find(({ kind, metadata: { name } }) => kind === 'Service' && name === 'web')?.spec

describe('which objects', () => {
  test.each([
    ['stateless', {}, ['ServiceAccount web', 'Deployment web', 'Service web']],
    [
      'stateful',
      { deployment: { type: 'stateful' } },
      ['ServiceAccount web', 'StatefulSet web', 'Service web-endpoints', 'Service web'],
    ],
    ['no Service', { 'kubernetes-service-type': 'omit' }, ['ServiceAccount web', 'Deployment web']],
    [
      'stateful without a Service of its own',
      { deployment: { type: 'stateful', service: 'omit' } },
      ['ServiceAccount web', 'StatefulSet web', 'Service web-endpoints'],
    ],
    [
      'an account of somebody else',
      { podSpec: { ...podSpec(), serviceAccountName: 'robot' } },
      ['Deployment web', 'Service web'],
    ],
  ] as const)('%s', (_, changes, wanted) => {
    expect(names(changes as Partial<PodWorkload>)).toEqual(wanted)
  })

  test('the name of the endpoints fits where the application has a long one', () => {
    expect(endpointsName('a'.repeat(53))).toBe(`${'a'.repeat(53)}-endpoints`)
    expect(endpointsName('a'.repeat(63))).toHaveLength(63)
    expect(endpointsName('a'.repeat(63))).not.toBe(endpointsName(`${'a'.repeat(62)}b`))
  })
})

describe('what is in them', () => {
  test('a Deployment', () => {
    const [account, deployment, service] = objects({ replicas: 2 })
    expect(account).toEqual({ apiVersion: 'v1', kind: 'ServiceAccount', metadata: metadata() })
    expect(service).toEqual({
      apiVersion: 'v1',
      kind: 'Service',
      metadata: metadata(),
      spec: { type: 'ClusterIP', selector: LABELS, ports: [HTTP] },
    })
    expect(deployment).toEqual({
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata: metadata(),
      spec: {
        replicas: 2,
        selector: { matchLabels: LABELS },
        template: {
          metadata: { labels: LABELS },
          spec: {
            containers: [
              {
                ...podSpec().containers[0],
                ports: [{ containerPort: 80, name: 'http', protocol: 'TCP' }],
              },
            ],
            serviceAccountName: 'web',
          },
        },
      },
    })
  })

  test('a StatefulSet has a Service for the names of its pods, and its storage', () => {
    const all = objects({ deployment: { type: 'stateful' }, volumeClaimTemplates: STORAGE })
    expect(all.find(({ metadata: { name } }) => name === 'web-endpoints')).toEqual({
      apiVersion: 'v1',
      kind: 'Service',
      metadata: metadata('web-endpoints'),
      spec: {
        type: 'ClusterIP',
        clusterIP: 'None',
        publishNotReadyAddresses: true,
        selector: LABELS,
        ports: [HTTP],
      },
    })
    expect(workloadIn(all)).toMatchObject({
      serviceName: 'web-endpoints',
      podManagementPolicy: 'Parallel',
      volumeClaimTemplates: STORAGE,
      selector: { matchLabels: LABELS },
    })
  })

  test('without a port there is none in the Service of the endpoints', () => {
    const silent = { containers: [{ name: 'web', image: 'web:1' }] }
    const all = objects({ deployment: { type: 'stateful' }, podSpec: silent })
    expect(all.find(({ kind }) => kind === 'Service')?.spec).not.toHaveProperty('ports')
  })

  test('replicas that nobody gave are nobody’s', () => {
    expect(workloadIn(objects())).not.toHaveProperty('replicas')
    expect(workloadIn(objects({ replicas: 0 }))).toHaveProperty('replicas', 0)
  })

  test.each([
    ['cluster', { deployment: { service: 'cluster' } }, { type: 'ClusterIP', selector: LABELS, ports: [HTTP] }],
    [
      'loadbalancer',
      { deployment: { service: 'loadbalancer' } },
      { type: 'LoadBalancer', selector: LABELS, ports: [HTTP] },
    ],
    [
      'external',
      { deployment: { service: 'external', externalName: 'db.example.com' } },
      { type: 'ExternalName', externalName: 'db.example.com' },
    ],
    [
      'a wish goes first',
      { deployment: { service: 'cluster', externalName: 'db.example.com' }, 'kubernetes-service-type': 'external' },
      { type: 'ExternalName', externalName: 'db.example.com' },
    ],
  ] as const)('Service: %s', (_, changes, spec) => {
    expect(serviceOf(changes)).toEqual(spec)
  })

  test('an account of somebody else is left alone', () => {
    for (const field of ['serviceAccountName', 'serviceAccount']) {
      const spec = { ...podSpec(), [field]: 'robot' }
      const template = workloadIn(objects({ podSpec: spec }))?.template
      expect(template).toMatchObject({ spec: { containers: [{}], [field]: 'robot' } })
      expect(template).not.toHaveProperty('spec.serviceAccountName', 'web')
    }
  })

  test('ports: one for each number and protocol, each with a name that does not tell Istio a protocol', () => {
    const ports = [
      { containerPort: 53 },
      { containerPort: 53, protocol: 'UDP' as const },
      { containerPort: 80, name: 'http' },
    ]
    expect(servicePorts({ containers: [{ ports }, { ports: [{ containerPort: 80, name: 'again' }] }, {}] })).toEqual([
      { name: 'port-53', port: 53, protocol: 'TCP' },
      { name: 'port-53-udp', port: 53, protocol: 'UDP' },
      { name: 'http', port: 80, protocol: 'TCP' },
    ])
  })
})

test('nothing of the mesh is in them: its labels are another field manager’s', () => {
  const text = JSON.stringify([objects(), objects({ deployment: { type: 'stateful' } })])
  expect(text).not.toMatch(/istio/)
})

const anything = fc.jsonValue({ maxDepth: 4 })

test('specs that are equal but for the order of keys make equal objects', () => {
  fc.assert(
    fc.property(fc.dictionary(fc.string(), anything), fc.constantFrom('stateless', 'stateful'), (fields, type) => {
      const given = workload({ podSpec: { ...fields, ...podSpec() }, deployment: { type } })
      const before = structuredClone(given)
      const made = workloadObjects(SUBJECT, given)
      expect(workloadObjects(SUBJECT, reordered(given))).toEqual(made)
      expect(given).toEqual(before)
    }),
  )
})
