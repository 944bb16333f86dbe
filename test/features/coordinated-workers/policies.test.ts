import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { evaluate } from '../../../src/ask/authorization/evaluate.ts'
import { MeshPolicy, Policy } from '../../../src/core/policies/models.ts'
import { parseRequesters } from '../../../src/core/policies/requested-by.ts'
import type { Relation } from '../../../src/core/state/relation.ts'
import { clusterPolicies, externalPolicies, notCovered } from '../../../src/features/coordinated-workers/policies.ts'
import { authorizationPolicies, type PolicyOwner } from '../../../src/mesh/istio/grant.ts'
import { charmLibrary } from '../../helpers/recorded.ts'
import { runs } from '../../helpers/runs.ts'
import { CONFIG, configWith, inNamespace, READER, topology, WRITER, workers } from './samples.ts'

const TEMPO = { namespace: 'shop', application: 'tempo' }
const OWNER: PolicyOwner = { ...TEMPO, trustDomain: 'cluster.local', labels: {} }

const requests = (relations: readonly Relation[], config = CONFIG) =>
  clusterPolicies(TEMPO, topology(relations, config), config)
const policies = (relations: readonly Relation[], config = CONFIG) =>
  requests(relations, config).map(({ policy }) => policy)
const objects = (relations: readonly Relation[], config = CONFIG) =>
  authorizationPolicies(requests(relations, config), OWNER)

const toPods = (source: string, ports?: number[]): MeshPolicy => ({
  source_namespace: 'shop',
  source_app_name: source,
  target_namespace: 'shop',
  target_app_name: null,
  target_selector_labels: { 'app.kubernetes.io/part-of': 'tempo' },
  target_service: null,
  target_type: 'unit',
  endpoints: ports === undefined ? [] : [{ hosts: null, ports, methods: null, paths: null }],
})
const toService = (source: string, ports?: number[]): MeshPolicy => ({
  ...toPods(source, ports),
  target_app_name: 'tempo',
  target_selector_labels: null,
  target_type: 'app',
})

/** Whether `application` of `namespace` reaches the pods of `to` directly, or the coordinator's Service. */
const reaches = (relations: readonly Relation[], application: string, to: 'writer' | 'Service', namespace = 'shop') => {
  const labels = { 'app.kubernetes.io/part-of': 'tempo' }
  const waypoint = { namespace: 'shop', name: 'waypoint', serviceAccount: 'waypoint' }
  const world = {
    policies: objects(relations),
    rootNamespace: 'istio-system',
    trustDomain: 'cluster.local',
    services: [{ namespace: 'shop', name: 'tempo', waypoint }],
    workloads: ['tempo', 'writer'].map((name) => ({ namespace: 'shop', name, labels, onMesh: true })),
    autoAllowWaypoint: true,
  }
  const target = to === 'Service' ? { application: 'tempo', service: 'tempo' } : { application: to }
  const from = { namespace, serviceAccount: application }
  return evaluate({ from, to: { namespace: 'shop', ...target }, port: 3300, method: 'POST', path: '/' }, world).allowed
}

describe('what is not allowed', () => {
  test.each([
    ['pods, for a stranger', 'web', 'writer', 'shop'],
    ['the Service, for a stranger', 'web', 'Service', 'shop'],
    ['pods, for a namesake in another namespace', 'reader', 'writer', 'bank'],
    ['the Service, for the coordinator itself', 'tempo', 'Service', 'shop'],
  ] as const)('%s', (_, application, to, namespace) => {
    expect(reaches([READER, WRITER], application, to, namespace)).toBe(false)
  })

  test('anything, for a worker that went', () => {
    expect(reaches([READER, WRITER], 'reader', 'writer')).toBe(true)
    expect(reaches([READER, WRITER], 'reader', 'Service')).toBe(true)
    for (const left of [[WRITER], [workers(4, 'reader', 'read', []), WRITER]]) {
      expect(reaches(left, 'reader', 'writer')).toBe(false)
      expect(reaches(left, 'reader', 'Service')).toBe(false)
      expect(reaches(left, 'tempo', 'writer')).toBe(true)
    }
  })
})

describe('the policies of a cluster', () => {
  test('the coordinator to all pods, each worker to all pods and to the Service, by relation id', () => {
    expect(policies([WRITER, READER])).toEqual([
      toPods('tempo'),
      toPods('reader'),
      toService('reader'),
      toPods('writer'),
      toService('writer'),
    ])
  })

  test('the policies of a cluster without workers are for the coordinator alone', () => {
    expect(policies([])).toEqual([toPods('tempo')])
  })

  test('the policies of a cluster are good ones', () => {
    const all = policies([READER, inNamespace('other', WRITER)])
    expect(all.map((policy) => MeshPolicy.parse(policy))).toEqual(all)
  })

  test('the policies of a cluster say which relation asked', () => {
    expect(objects([READER, WRITER]).map(parseRequesters)).toEqual([
      ['cluster of shop/tempo', 'relation 4 (cluster) of shop/tempo', 'relation 5 (cluster) of shop/tempo'],
      ['relation 4 (cluster) of shop/tempo', 'relation 5 (cluster) of shop/tempo'],
    ])
  })

  test('the policies of a cluster are two objects, however many workers there are', () => {
    const application = fc.stringMatching(/^[a-z]{1,8}$/)
    fc.assert(
      fc.property(fc.uniqueArray(application, { minLength: 1, maxLength: 40 }), fc.boolean(), (names, least) => {
        const config = configWith(least ? { leastPrivilege: true, workerPorts: [9095] } : {})
        const relations = names.map((name, index) => workers(index, name, 'read'))
        const [pods, service, ...more] = objects(relations, config)
        expect(more).toEqual([])
        expect(pods?.spec.selector).toEqual({ matchLabels: { 'app.kubernetes.io/part-of': 'tempo' } })
        expect(service?.spec.targetRefs).toEqual([{ group: '', kind: 'Service', name: 'tempo' }])
        const principals = [pods, service].map(
          (object) => object?.spec.rules?.[0]?.from?.[0]?.source?.principals?.length,
        )
        expect(principals).toEqual([new Set([...names, 'tempo']).size, new Set(names).size])
        expect(objects(relations.toReversed(), config)).toEqual([pods, service])
      }),
      { numRuns: runs(30) },
    )
  })
})

describe('with the least privilege', () => {
  test.each([
    [{ leastPrivilege: true, workerPorts: [9095, 7946] }, [7946, 8080, 9095], [3300, 3302, 3303]],
    [
      { leastPrivilege: { ports: [9009] }, workerPorts: { read: [9095] }, tls: true },
      [8080, 9095],
      [3301, 3302, 3303, 9009],
    ],
    [
      { leastPrivilege: { ports: [3300] }, workerPorts: [8080], workerMetricsPort: 3200 },
      [3200, 8080],
      [3300, 3302, 3303],
    ],
  ])('%j', (changes, pods, service) => {
    expect(policies([READER], configWith(changes))).toEqual([
      toPods('tempo', pods),
      toPods('reader', pods),
      toService('reader', service),
    ])
  })

  test.each([true, { ports: [] }])('no port of the Service is open where none is configured: %j', (leastPrivilege) => {
    const config = configWith({ leastPrivilege, workerPorts: [9095], telemetryProxy: undefined })
    expect(policies([READER], config)).toEqual([toPods('tempo', [8080, 9095]), toPods('reader', [8080, 9095])])
  })

  test('ports of the Service stay open without the least privilege', () => {
    expect(policies([READER], configWith({ leastPrivilege: false }))).toEqual(policies([READER]))
  })
})

describe('a worker in another namespace', () => {
  const foreign = inNamespace('other', READER)

  test('a worker in another namespace may reach the cluster under its own identity', () => {
    expect(policies([foreign]).slice(1)).toEqual([
      { ...toPods('reader'), source_namespace: 'other' },
      { ...toService('reader'), source_namespace: 'other' },
    ])
    expect(reaches([foreign], 'reader', 'writer', 'other')).toBe(true)
    expect(reaches([foreign], 'reader', 'writer', 'shop')).toBe(false)
  })

  test('a worker in another namespace is named, as nothing lets the cluster reach its pods', () => {
    expect(notCovered('shop', topology([foreign, WRITER]))).toEqual([
      'relation 4 (cluster): reader is in other; it may reach the cluster, but the cluster reaches its pods only if a policy in other allows that',
    ])
  })
})

describe('who may reach the coordinator from outside', () => {
  const own: Policy = { type: 'app', relation: 'tracing', endpoints: [{ ports: [4318] }] }
  const exporter = { type: 'unit', relation: 'metrics-endpoint', ports: [9113] }
  const proxy = (port: number) => ({
    type: 'app',
    relation: 'metrics-endpoint',
    endpoints: [{ ports: [port], methods: ['GET'], paths: ['/proxy/worker/{*}/metrics'] }],
  })

  test.each([
    ['without a proxy', { telemetryProxy: undefined }, [exporter, own]],
    ['with a proxy', {}, [exporter, proxy(3300), own]],
    ['with TLS', { tls: true }, [exporter, proxy(3301), own]],
    [
      'with names and ports of its own',
      { telemetryProxy: undefined, nginxExporterPort: 9114, endpoints: { metrics: 'self-metrics' } },
      [{ type: 'unit', relation: 'self-metrics', ports: [9114] }, own],
    ],
  ])('%s', (_, changes, expected) => {
    const made = externalPolicies(configWith(changes), [own])
    expect(made).toEqual(expected)
    expect(made.map((policy) => Policy.parse(policy))).toEqual(made)
  })
})

test('a worker may reach the Service as the charm library lets it', () => {
  const recorded = charmLibrary().policies.find(({ name }) => name === 'a worker to its coordinator')
  const [, , { policy } = {}] = clusterPolicies(recorded?.owner ?? OWNER, topologyOfCos(), CONFIG)
  expect(policy).toEqual(recorded?.policy)
  const [object] = authorizationPolicies([{ policy: MeshPolicy.parse(policy), relation: 'any' }], OWNER)
  const [{ to: _, ...rule } = {}] = recorded?.spec?.rules ?? []
  expect(object?.spec).toEqual({ ...recorded?.spec, action: 'ALLOW', rules: [rule] })
})

const topologyOfCos = () => topology([inNamespace('cos', workers(4, 'tempo-worker', 'all'))])
