import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { MeshPolicy, Policy } from '../../../src/core/policies/models.ts'
import { policiesDatabag } from '../../../src/core/relations/databags/policies-databag.ts'
import {
  type PolicyRelation,
  type RequestPoliciesInput,
  requestPolicies,
} from '../../../src/features/service-mesh/request-policies.ts'
import { charmLibrary } from '../../helpers/recorded.ts'

const DB: Policy = { type: 'app', relation: 'db', endpoints: [] }
const METRICS: Policy = { type: 'unit', relation: 'metrics', ports: [9113] }

const relation = (id: number, endpoint: string, application: string, namespace?: string): PolicyRelation => ({
  id,
  endpoint,
  remote: { application, namespace },
})

const ask = (request: RequestPoliciesInput): { policies: MeshPolicy[]; waiting: string[] } => {
  const { requested, waiting } = requestPolicies(request)
  return { policies: requested.map(({ policy }) => policy), waiting: waiting.map(({ message }) => message) }
}

const request = (changes: Partial<RequestPoliciesInput>) =>
  ask({ namespace: 'shop', application: 'orders', policies: [DB], relations: [], ...changes })

const sourcesOf = ({ policies }: { policies: MeshPolicy[] }) =>
  policies.map(({ source_namespace, source_app_name }) => `${source_namespace}/${source_app_name}`)

describe('a relation with another model waits until its name is known', () => {
  test.each([
    ['its namespace is another', relation(7, 'db', 'alias', 'clients')],
    ['it is marked so', { ...relation(7, 'db', 'alias'), isAlias: true }],
    ['it is marked so, with the own namespace', { ...relation(7, 'db', 'alias', 'shop'), isAlias: true }],
  ])('%s', (_, remote) => {
    expect(request({ relations: [remote] })).toEqual({
      policies: [],
      waiting: ['relation 7 (db): alias is in another model; waiting for its cmr_data (cross_model_mesh) to name it'],
    })
  })

  test.each(['clients', 'shop'])('the platform says %s and cmr_data another namespace', (namespace) => {
    const identity = { namespace: 'elsewhere', application: 'web' }
    expect(request({ relations: [{ ...relation(7, 'db', 'alias', namespace), identity }] })).toEqual({
      policies: [],
      waiting: [`relation 7 (db): alias is in ${namespace}, its cmr_data says elsewhere; waiting for them to agree`],
    })
  })

  test('once for each relation, while the others get their policies', () => {
    const relations = [relation(8, 'db', 'web'), relation(7, 'db', 'alias', 'clients')]
    const result = request({ policies: [DB, { ...DB, service: 'orders-db' }], relations })
    expect(sourcesOf(result)).toEqual(['shop/web', 'shop/web'])
    expect(result.waiting).toEqual([expect.stringContaining('relation 7 (db)')])
  })

  test('a relation with another model waits until its name is known, not for a relation that no policy is about', () => {
    expect(request({ relations: [relation(7, 'logging', 'alias', 'clients')] })).toEqual({ policies: [], waiting: [] })
  })
})

describe('who is allowed', () => {
  const identity = { namespace: 'clients', application: 'web' }

  test.each([
    ['an application of the own model', relation(1, 'db', 'web'), 'shop/web'],
    ['an application of the own model, said so', relation(1, 'db', 'web', 'shop'), 'shop/web'],
    ['one whose name every object has', relation(1, 'db', 'constructor'), 'shop/constructor'],
    ['an alias', { ...relation(1, 'db', 'alias'), identity }, 'clients/web'],
    ['an alias in a namespace', { ...relation(1, 'db', 'alias', 'clients'), identity }, 'clients/web'],
    ['an alias, marked', { ...relation(1, 'db', 'alias'), isAlias: true, identity }, 'clients/web'],
    ['itself, in a peer relation', { ...relation(1, 'db', 'alias'), role: 'peers' }, 'shop/orders'],
    [
      'itself, in a peer relation that is told otherwise',
      { ...relation(1, 'db', 'a', 'b'), role: 'peers' },
      'shop/orders',
    ],
  ] as const)('%s', (_, one, source) => {
    const result = request({ relations: [one] })
    expect({ sources: sourcesOf(result), waiting: result.waiting }).toEqual({ sources: [source], waiting: [] })
  })

  test('policies as declared, each for its relations by id', () => {
    const relations = [
      relation(10, 'db', 'ten'),
      relation(9, 'metrics', 'nine'),
      relation(2, 'db', 'two'),
      relation(1, 'other', 'one'),
    ]
    const { policies } = request({ policies: [METRICS, DB, { ...DB, relation: 'none' }], relations })
    expect(policies.map((policy) => `${policy.target_type} ${policy.source_app_name}`)).toEqual([
      'unit nine',
      'app two',
      'app ten',
    ])
  })
})

describe('what is allowed', () => {
  const common = {
    source_namespace: 'shop',
    source_app_name: 'web',
    target_namespace: 'shop',
    target_app_name: 'orders',
    target_selector_labels: null,
  }
  const port = (number: number) => ({ hosts: null, ports: [number], methods: null, paths: null })
  const app = { ...common, target_type: 'app', target_service: null }
  const unit = { ...common, target_type: 'unit', target_service: null }

  test.each([
    [
      { type: 'app', endpoints: [] },
      { ...app, endpoints: [] },
    ],
    [
      { type: 'app', endpoints: [], service: 'api' },
      { ...app, target_service: 'api', endpoints: [] },
    ],
    [
      { type: 'app', endpoints: [{ ports: [80], paths: [] }, { methods: ['GET'] }] },
      {
        ...app,
        endpoints: [
          { hosts: null, ports: [80], methods: null, paths: [] },
          { hosts: null, ports: null, methods: ['GET'], paths: null },
        ],
      },
    ],
    [
      { type: 'unit', ports: [81] },
      { ...unit, endpoints: [port(81)] },
    ],
    [
      { type: 'unit', ports: [] },
      { ...unit, endpoints: [] },
    ],
    [
      { type: 'unit', ports: null },
      { ...unit, endpoints: [] },
    ],
    [{ type: 'unit' }, { ...unit, endpoints: [] }],
  ])('%j', (policy, wanted) => {
    const policies = [Policy.parse({ relation: 'db', ...policy })]
    expect(request({ policies, relations: [relation(1, 'db', 'web')] }).policies).toEqual([wanted])
  })
})

const name = fc.constantFrom('a', 'b', 'c')
const anyRelation = fc.record({
  endpoint: fc.constantFrom('db', 'metrics'),
  role: fc.constantFrom('provides' as const, 'requires' as const, 'peers' as const),
  remote: fc.record({ application: name, namespace: fc.option(fc.constantFrom('shop', 'x', 'y'), { nil: undefined }) }),
  isAlias: fc.boolean(),
  identity: fc.option(fc.record({ namespace: fc.constantFrom('shop', 'x'), application: name }), { nil: undefined }),
})

test('each relation gets all of its policies or waits, all of them good, in an order of its own', () => {
  fc.assert(
    fc.property(
      fc.array(anyRelation, { maxLength: 6 }).map((relations) => relations.map((one, id) => ({ ...one, id }))),
      fc.array(fc.constantFrom(DB, METRICS, { ...DB, service: 'api' }), { maxLength: 4 }),
      (relations, policies) => {
        const result = request({ relations, policies })
        expect(request({ relations: relations.toReversed(), policies })).toEqual(result)
        expect(result.policies.map((policy) => MeshPolicy.parse(policy))).toEqual(result.policies)
        const waits = (id: number) => result.waiting.some((entry) => entry.startsWith(`relation ${id} (`))
        const granted = relations.filter(({ id }) => !waits(id))
        const pairs = policies.flatMap(({ relation: endpoint }) => granted.filter((one) => one.endpoint === endpoint))
        expect(result.policies).toHaveLength(pairs.length)
      },
    ),
  )
})

const { namespace, application: consumer, relations: recorded, cases } = charmLibrary().databags

test.each(cases)('the databag of $name is that of the charm library', ({ policies, databag }) => {
  const result = ask({
    namespace,
    application: consumer,
    policies: policies.map((policy) => Policy.parse(policy)),
    relations: recorded.map(({ endpoint, application, real: identity }, id) => ({
      ...relation(id, endpoint, application),
      ...(identity && { identity }),
    })),
  })
  expect(result.waiting).toEqual([])
  expect(policiesDatabag(result.policies)).toBe(databag)
})
