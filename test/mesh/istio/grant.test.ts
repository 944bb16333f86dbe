import { createHash } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import type { MeshPolicy } from '../../../src/core/policies/models.ts'
import { parseRequesters, REQUESTED_BY, requestedBy } from '../../../src/core/policies/requested-by.ts'
import { authorizationPolicies, type PolicyOwner } from '../../../src/mesh/istio/grant.ts'
import { endpoint, meshPolicy, owner, request } from './samples.ts'

const granted = (policies: readonly Partial<MeshPolicy>[], changes: Partial<PolicyOwner> = {}) =>
  authorizationPolicies(
    policies.map((policy) => request(meshPolicy(policy))),
    { ...owner, ...changes },
  )

const rulesOf = (policies: readonly Partial<MeshPolicy>[]) => granted(policies).map(({ spec }) => spec.rules)

const principal = (application: string, namespace = 'shop') => `cluster.local/ns/${namespace}/sa/${application}`
const from = (...applications: string[]) => [{ source: { principals: applications.map((one) => principal(one)) } }]

describe('one object for each target', () => {
  test('a Service, by its waypoint', () => {
    const endpoints = [endpoint({ ports: [9080, 80], methods: ['POST', 'GET'], paths: ['/health', '/details/*'] })]
    const hash = '[a-f0-9]{10}'
    expect(granted([{ endpoints }])).toEqual([
      {
        apiVersion: 'security.istio.io/v1',
        kind: 'AuthorizationPolicy',
        metadata: {
          name: expect.stringMatching(new RegExp(`^beacon-shop-policy-db-${hash}$`)),
          namespace: 'shop',
          labels: { 'app.kubernetes.io/managed-by': 'meshstep' },
          annotations: { [REQUESTED_BY]: 'relation 7 (service-mesh) of shop/db' },
        },
        spec: {
          targetRefs: [{ group: '', kind: 'Service', name: 'db' }],
          action: 'ALLOW',
          rules: [
            {
              from: from('web'),
              to: [
                { operation: { ports: ['80', '9080'], methods: ['GET', 'POST'], paths: ['/details/*', '/health'] } },
              ],
            },
          ],
        },
      },
    ])
  })

  test('pods, by their labels', () => {
    const unit = { target_type: 'unit', target_app_name: null } as const
    const specs = granted([
      { ...unit, target_app_name: 'db' },
      { ...unit, target_selector_labels: { 'app.kubernetes.io/name': 'db' }, source_app_name: 'cart' },
      { ...unit, target_selector_labels: { zone: 'a', tier: 'data' } },
      { ...unit, target_selector_labels: { tier: 'data', zone: 'a' }, source_app_name: 'cart' },
    ]).map(({ spec }) => spec)
    expect(specs).toEqual([
      {
        selector: { matchLabels: { 'app.kubernetes.io/name': 'db' } },
        action: 'ALLOW',
        rules: [{ from: from('cart', 'web') }],
      },
      {
        selector: { matchLabels: { tier: 'data', zone: 'a' } },
        action: 'ALLOW',
        rules: [{ from: from('cart', 'web') }],
      },
    ])
  })

  test('the Service that is named goes before the application', () => {
    expect(granted([{ target_service: 'db-read' }])[0]?.spec.targetRefs?.[0]?.name).toBe('db-read')
  })

  test.each(Array.from({ length: 29 }, (_, index) => [index + 2]))(
    '%i applications that all talk to each other',
    (count) => {
      const names = Array.from({ length: count }, (_, index) => `app-${index}`)
      const pairs = names.flatMap((source) =>
        names.filter((target) => target !== source).map((target) => [source, target]),
      )
      const objects = granted(
        pairs.map(([source = '', target = '']) => ({ source_app_name: source, target_app_name: target })),
      )
      expect(pairs).toHaveLength(count * (count - 1))
      expect(objects).toHaveLength(count)
      expect(new Set(objects.map(({ metadata }) => metadata.name)).size).toBe(count)
    },
  )
})

describe('one rule for each distinct set of operations', () => {
  const read = endpoint({ ports: [80], methods: ['GET'] })
  const write = endpoint({ ports: [80], methods: ['POST'] })
  const operations = {
    read: { operation: { ports: ['80'], methods: ['GET'] } },
    write: { operation: { ports: ['80'], methods: ['POST'] } },
  }

  test('sources with the same operations share it, whatever order these came in', () => {
    expect(
      rulesOf([
        { endpoints: [read, write, read] },
        { source_app_name: 'cart', endpoints: [write] },
        { source_app_name: 'cart', endpoints: [read] },
        { source_app_name: 'audit', endpoints: [read] },
      ]),
    ).toEqual([
      [
        { from: from('cart', 'web'), to: [operations.read, operations.write] },
        { from: from('audit'), to: [operations.read] },
      ],
    ])
  })

  test('everything absorbs what else the same source may do, and nothing of another', () => {
    expect(rulesOf([{ endpoints: [] }, { endpoints: [read] }, { source_app_name: 'cart', endpoints: [read] }])).toEqual(
      [[{ from: from('web') }, { from: from('cart'), to: [operations.read] }]],
    )
  })

  test('an empty list is as absent', () => {
    expect(rulesOf([{ endpoints: [endpoint({ hosts: [], ports: [80], methods: [], paths: [] })] }])).toEqual([
      [{ from: from('web'), to: [{ operation: { ports: ['80'] } }] }],
    ])
  })
})

describe('what cannot be granted never becomes more', () => {
  test.each<[string, Partial<MeshPolicy>]>([
    ['an endpoint that says nothing', { endpoints: [endpoint({})] }],
    ['methods at a pod', { target_type: 'unit', endpoints: [endpoint({ ports: [80], methods: ['GET'] })] }],
    ['a unit policy without a target', { target_type: 'unit', target_app_name: null }],
    [
      'a unit policy with an empty selector',
      { target_type: 'unit', target_app_name: null, target_selector_labels: {} },
    ],
    ['an app policy without a target', { target_app_name: null }],
  ])('%s', (_, policy) => {
    expect(granted([policy])).toEqual([])
  })

  test('what cannot be granted never becomes more, and leaves the rest as it is', () => {
    expect(rulesOf([{ endpoints: [endpoint({}), endpoint({ ports: [80] })] }])).toEqual([
      [{ from: from('web'), to: [{ operation: { ports: ['80'] } }] }],
    ])
  })
})

describe('identities', () => {
  test('the trust domain, and the ServiceAccount of an application', () => {
    const serviceAccount = (namespace: string, application: string) => `${namespace}-${application}-sa`
    const [object] = granted([{ source_namespace: 'bank' }], { trustDomain: 'td.example', serviceAccount })
    expect(object?.spec.rules?.[0]?.from?.[0]?.source?.principals).toEqual(['td.example/ns/bank/sa/bank-web-sa'])
  })

  test('two applications that run as one ServiceAccount are one source', () => {
    const [object] = granted([{}, { source_app_name: 'cart' }], { serviceAccount: () => 'default' })
    expect(object?.spec.rules).toEqual([{ from: from('default') }])
  })
})

describe('names', () => {
  const nameOf = (policy: Partial<MeshPolicy>, changes: Partial<PolicyOwner> = {}) =>
    granted([policy], changes)[0]?.metadata.name ?? ''

  test('names depend on the target alone, not on who may do what there', () => {
    expect(nameOf({ source_app_name: 'cart', endpoints: [endpoint({ ports: [80] })] })).toBe(nameOf({}))
  })

  test.each<[string, Partial<MeshPolicy>, Partial<PolicyOwner>]>([
    ['another owner', {}, { application: 'other' }],
    ['owners whose names run together', {}, { application: 'beacon-shop', namespace: 'x' }],
    ['another prefix', {}, { prefix: 'beacon-shop-cluster' }],
    ['another kind of target', { target_type: 'unit' }, {}],
    ['another namespace', { target_namespace: 'bank' }, {}],
    ['another Service', { target_service: 'db-read' }, {}],
  ])('names differ for %s', (_, policy, changes) => {
    expect(nameOf(policy, changes)).not.toBe(nameOf({}))
  })

  test.each<[string, Partial<MeshPolicy>, Partial<PolicyOwner>]>([
    ['long ones', { target_app_name: 'd'.repeat(63) }, { application: 'a'.repeat(63), namespace: 'n'.repeat(63) }],
    ['very long ones', { target_service: 'd'.repeat(400) }, { prefix: 'p'.repeat(300) }],
    ['capitals and underscores', { target_app_name: 'Target_App.' }, { prefix: '_Beacon..' }],
    ['nothing but punctuation', { target_app_name: '...' }, { prefix: '---' }],
  ])('of %s are RFC 1123 subdomains of at most 253 characters', (_, policy, changes) => {
    const name = nameOf(policy, changes)
    expect(name).toMatch(/^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/)
    expect(name.length).toBeLessThanOrEqual(253)
  })
})

describe('split where the limits of the CRD force it', () => {
  /** Each with its own operations, hence its own rule. */
  const policies = (count: number) =>
    Array.from({ length: count }, (_, index) => ({
      source_app_name: `web-${index}`,
      endpoints: [endpoint({ ports: [index + 1] })],
    }))
  const digests = (some: readonly Partial<MeshPolicy>[]) =>
    new Map(
      granted(some).map(({ metadata, spec }) => [
        metadata.name,
        createHash('sha256').update(JSON.stringify(spec)).digest('hex'),
      ]),
    )

  test('512 rules are one object, 513 are two, that say the same', () => {
    expect(granted(policies(512))).toHaveLength(1)
    const two = granted(policies(513))
    expect(two.map(({ metadata }) => metadata.name)).toEqual([
      expect.stringMatching(/-0$/),
      expect.stringMatching(/-1$/),
    ])
    expect(two.flatMap(({ spec }) => spec.rules ?? [])).toHaveLength(513)
    expect(two.every(({ spec }) => (spec.rules?.length ?? 0) <= 512)).toBe(true)
  })

  test('10,000 sources with the same operations are one rule', () => {
    const [object, ...others] = granted(policies(10_000).map((policy) => ({ ...policy, endpoints: [] })))
    expect(others).toEqual([])
    expect(object?.spec.rules?.[0]?.from?.[0]?.source?.principals).toHaveLength(10_000)
  })

  test('no object passes what etcd takes', () => {
    const long = 'n'.repeat(60)
    const objects = granted(policies(20_000).map((policy) => ({ ...policy, source_namespace: long, endpoints: [] })))
    expect(objects.length).toBeGreaterThan(1)
    for (const object of objects) expect(JSON.stringify(object).length).toBeLessThan(1.2 * 1024 * 1024)
  })

  test('a change in one source changes one part', () => {
    const before = digests(policies(3000))
    const after = digests(
      policies(3000).with(1234, {
        source_app_name: 'web-1234',
        endpoints: [endpoint({ ports: [1], methods: ['GET'] })],
      }),
    )
    expect(before.size).toBeGreaterThan(5)
    expect([...after.keys()]).toEqual([...before.keys()])
    expect([...after].filter(([name, digest]) => before.get(name) !== digest)).toHaveLength(1)
  })
})

describe('the annotation', () => {
  test('the annotation names each relation once, sorted, and can be read back', () => {
    const relations = ['relation 9 (mesh) of shop/db', 'relation 12 (mesh) of shop/db', 'relation 9 (mesh) of shop/db']
    const [object] = authorizationPolicies(
      relations.map((relation) => request(meshPolicy(), relation)),
      owner,
    )
    expect(object?.metadata.annotations?.[REQUESTED_BY]).toBe(
      'relation 12 (mesh) of shop/db, relation 9 (mesh) of shop/db',
    )
    expect(object && parseRequesters(object)).toEqual(['relation 12 (mesh) of shop/db', 'relation 9 (mesh) of shop/db'])
  })

  test('the annotation is bounded', () => {
    const text = requestedBy(
      Array.from({ length: 10_000 }, (_, index) => `relation ${index} (service-mesh) of shop/db`),
    )
    expect(Buffer.byteLength(text)).toBeLessThan(64 * 1024)
    expect(text).toMatch(/, and \d+ more$/)
    const listed = text.split(', ').length - 1
    expect(text.endsWith(`and ${10_000 - listed} more`)).toBe(true)
  })
})
