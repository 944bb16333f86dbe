import * as fc from 'fast-check'
import type { MeshPolicy } from '../../../src/core/policies/models.ts'
import type { RequestedPolicy } from '../../../src/core/policies/request.ts'
import type { AuthorizationPolicy } from '../../../src/mesh/istio/authorization-policy.ts'
import type { PolicyOwner } from '../../../src/mesh/istio/grant.ts'
import { runs } from '../../helpers/runs.ts'

export const owner: PolicyOwner = {
  namespace: 'shop',
  application: 'beacon',
  trustDomain: 'cluster.local',
  labels: { 'app.kubernetes.io/managed-by': 'meshstep' },
}

type MeshEndpoint = MeshPolicy['endpoints'][number]

export const endpoint = (changes: Partial<MeshEndpoint>): MeshEndpoint => ({
  hosts: null,
  ports: null,
  methods: null,
  paths: null,
  ...changes,
})

/** `web` of model `shop` may use all of the Service of `db`, but for `changes`. */
export const meshPolicy = (changes: Partial<MeshPolicy> = {}): MeshPolicy => ({
  source_namespace: 'shop',
  source_app_name: 'web',
  target_namespace: 'shop',
  target_app_name: 'db',
  target_selector_labels: null,
  target_service: null,
  target_type: 'app',
  endpoints: [],
  ...changes,
})

export const request = (policy: MeshPolicy, relation = 'relation 7 (service-mesh) of shop/db'): RequestedPolicy => ({
  policy,
  relation,
})

/** The object that the charm library makes of one MeshPolicy, written down apart from what is tested. */
export const singleObject = (policy: MeshPolicy, index = 0): AuthorizationPolicy => {
  const isApp = policy.target_type === 'app'
  const rule = {
    from: [{ source: { principals: [`cluster.local/ns/${policy.source_namespace}/sa/${policy.source_app_name}`] } }],
    to: policy.endpoints.map(({ hosts, ports, methods, paths }) => ({
      operation: {
        ...(isApp && hosts && { hosts }),
        ports: (ports ?? []).map((port) => `${port}`),
        ...(isApp && methods && { methods }),
        ...(isApp && paths && { paths }),
      },
    })),
  }
  const target = isApp
    ? { targetRefs: [{ group: '', kind: 'Service', name: policy.target_service ?? policy.target_app_name ?? '' }] }
    : {
        selector: {
          matchLabels: policy.target_selector_labels ?? { 'app.kubernetes.io/name': policy.target_app_name ?? '' },
        },
      }
  return {
    apiVersion: 'security.istio.io/v1',
    kind: 'AuthorizationPolicy',
    metadata: { name: `single-${index}`, namespace: policy.target_namespace },
    spec: { ...target, rules: [rule] },
  }
}

const NAMESPACES = ['shop', 'bank']
const APPLICATIONS = ['web', 'db', 'cart']
const lists = <T>(values: readonly T[]): fc.Arbitrary<T[] | null> =>
  fc.option(fc.array(fc.constantFrom(...values), { minLength: 1, maxLength: 3 }), { nil: null })

const ports = lists([80, 8080, 443, 9090])

const appEndpoint = fc
  .record({
    hosts: lists(['db.shop', '*.shop', 'DB*', '*']),
    ports,
    methods: lists(['GET', 'POST', 'DELETE'] as const),
    paths: lists(['/a', '/a*', '*b', '*', '/x/{*}/y', '/x/{**}']),
  })
  .filter((one) => Object.values(one).some((list) => list !== null))

const unitEndpoint = ports.filter((list) => list !== null).map((list) => endpoint({ ports: list }))

const source = { source_namespace: fc.constantFrom(...NAMESPACES), source_app_name: fc.constantFrom(...APPLICATIONS) }

const appPolicy = fc
  .record({
    ...source,
    target_namespace: fc.constantFrom(...NAMESPACES),
    target_app_name: fc.constantFrom(...APPLICATIONS),
    target_service: fc.option(fc.constantFrom('db', 'db-read'), { nil: null }),
    endpoints: fc.array(appEndpoint, { maxLength: 3 }),
  })
  .map(meshPolicy)

const LABELS = { tier: 'data', zone: 'a' }

const unitPolicy = fc
  .record({
    ...source,
    target_namespace: fc.constantFrom(...NAMESPACES),
    target: fc.constantFrom<Partial<MeshPolicy>>(
      ...APPLICATIONS.map((name) => ({ target_app_name: name })),
      { target_app_name: null, target_selector_labels: LABELS },
      { target_app_name: null, target_selector_labels: Object.fromEntries(Object.entries(LABELS).toReversed()) },
      { target_app_name: null, target_selector_labels: { 'app.kubernetes.io/name': 'db' } },
    ),
    endpoints: fc.array(unitEndpoint, { maxLength: 3 }),
  })
  .map(({ target, ...rest }) => meshPolicy({ ...rest, ...target, target_type: 'unit' }))

/** Few names and values, so that policies meet: at one target, of one source, with one operation. */
export const arbitraryPolicy = fc.oneof(appPolicy, unitPolicy)

export const arbitraryCall = fc.record({
  from: fc.record({ namespace: fc.constantFrom(...NAMESPACES), application: fc.constantFrom(...APPLICATIONS) }),
  namespace: fc.constantFrom(...NAMESPACES),
  service: fc.constantFrom('db', 'db-read', 'web', 'cart'),
  labels: fc.constantFrom<Record<string, string>>(
    ...APPLICATIONS.map((name) => ({ 'app.kubernetes.io/name': name })),
    { ...LABELS, 'app.kubernetes.io/name': 'cart' },
    { tier: 'data' },
  ),
  port: fc.constantFrom(80, 8080, 443, 9090, 1),
  method: fc.constantFrom('GET', 'POST', 'DELETE', 'PUT'),
  path: fc.constantFrom('/a', '/ab', '/b', '/x/1/y', '/x/1/2/y', '/x/', '/c'),
  host: fc.constantFrom('db.shop', 'web.shop', 'dB.other', 'other'),
})

export const always = <T>(property: fc.IProperty<T>, whole = 100): void => fc.assert(property, { numRuns: runs(whole) })
