import fc from 'fast-check'
import type { MeshPolicy } from '../../../src/core/policies/models.ts'

const name = fc.stringMatching(/^[a-z0-9_]{1,12}$/)
const label = fc.constantFrom('', 'db', '0_A.-z')
const port = fc.integer({ min: 1, max: 65535 })
const ports = fc.option(fc.array(port, { maxLength: 3 }))
const method = fc.constantFrom('GET' as const, 'POST' as const, 'DELETE' as const)
const path = fc.constantFrom('/', '/a', '/a/*', '*', '/proxy/{*}/metrics', '/ü "quoted"')
const host = fc.constantFrom('example.com', '*.example.com', 'ü.example')

const hasContent = (endpoint: Record<string, readonly unknown[] | null>): boolean =>
  Object.values(endpoint).some((list) => list !== null && list.length > 0)

const appEndpoint = fc
  .record({
    hosts: fc.option(fc.array(host, { maxLength: 2 })),
    ports,
    methods: fc.option(fc.array(method, { maxLength: 2 })),
    paths: fc.option(fc.array(path, { maxLength: 2 })),
  })
  .filter(hasContent)

const noneOf = fc.constantFrom(null, []).map((list): never[] | null => list && [])
const unitEndpoint = fc.record({ hosts: noneOf, ports, methods: noneOf, paths: noneOf }).filter(hasContent)

const parties = { source_namespace: name, source_app_name: name, target_namespace: name }
const selector = fc.dictionary(fc.constantFrom('app', 'constructor', 'example.com/tier'), label, { minKeys: 1 })

const appPolicy = fc.record({
  ...parties,
  target_app_name: name,
  target_selector_labels: fc.constant(null),
  target_service: fc.option(name),
  target_type: fc.constant('app' as const),
  endpoints: fc.array(appEndpoint, { maxLength: 3 }),
})

const unitTarget = fc.oneof(
  fc.record({ target_app_name: name, target_selector_labels: fc.constant(null) }),
  fc.record({ target_app_name: fc.constant(null), target_selector_labels: selector }),
)

const unitPolicy = fc
  .tuple(fc.record({ ...parties, endpoints: fc.array(unitEndpoint, { maxLength: 3 }) }), unitTarget)
  .map(([common, target]) => ({ ...common, ...target, target_service: null, target_type: 'unit' as const }))

/** Good policies, in the wire form. */
export const meshPolicy: fc.Arbitrary<MeshPolicy> = fc.oneof(appPolicy, unitPolicy)

const anything = fc.jsonValue({ maxDepth: 3 })
const almost = <T>(arbitrary: fc.Arbitrary<T>) => fc.oneof({ weight: 4, arbitrary }, { weight: 1, arbitrary: anything })

/** JSON that looks like policies here and there. */
export const almostPolicies = fc.array(
  almost(
    fc.record(
      {
        source_namespace: almost(name),
        source_app_name: almost(name),
        target_namespace: almost(name),
        target_app_name: almost(fc.option(name)),
        target_selector_labels: almost(fc.option(fc.dictionary(fc.string(), anything))),
        target_service: almost(fc.option(name)),
        target_type: almost(fc.constantFrom('app', 'unit')),
        endpoints: almost(fc.array(almost(appEndpoint), { maxLength: 3 })),
      },
      { requiredKeys: [] },
    ),
  ),
  { maxLength: 4 },
)
