import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { type AccessRequest, type ClusterSnapshot, evaluate } from '../../../src/ask/authorization/evaluate.ts'
import type { AuthorizationPolicy, Condition, Rule } from '../../../src/mesh/istio/authorization-policy.ts'
import { authorizationPolicies } from '../../../src/mesh/istio/grant.ts'
import { least } from '../../helpers/runs.ts'
import { custom, hardened, pods, service, world } from '../../mesh/istio/bookinfo.ts'
import { always, arbitraryCall, arbitraryPolicy, owner, request, singleObject } from '../../mesh/istio/samples.ts'
import { type Call, evaluate as evaluateByTable } from './evaluator.ts'

const some = <T>(...values: T[]): fc.Arbitrary<T[] | undefined> =>
  fc.option(fc.subarray(values, { minLength: 1 }), { nil: undefined })

const rule: fc.Arbitrary<Rule> = fc.record(
  {
    from: fc.array(
      fc.record({
        source: fc.record(
          {
            principals: some('cluster.local/ns/shop/sa/productpage', '*/sa/details', '*'),
            notPrincipals: some('cluster.local/ns/shop/sa/details'),
            namespaces: some('shop', 'ba*'),
            ipBlocks: some('10.0.0.0/8', '0.0.0.0/0'),
            requestPrincipals: some('*'),
          },
          { requiredKeys: [] },
        ),
      }),
      { maxLength: 2 },
    ),
    to: fc.array(
      fc.record({
        operation: fc.record(
          { ports: some('80', '9080'), notPorts: some('1'), methods: some('GET', 'POST'), paths: some('/a*', '/{*}') },
          { requiredKeys: [] },
        ),
      }),
      { maxLength: 2 },
    ),
    when: fc.array(
      fc.constantFrom<Condition>(
        { key: 'request.headers[x]', values: ['y'] },
        { key: 'destination.port', values: ['80'] },
      ),
      { maxLength: 1 },
    ),
  },
  { requiredKeys: [] },
)

const target = fc.constantFrom<AuthorizationPolicy['spec']>(
  service('details'),
  pods('details'),
  service('productpage'),
  {},
)

const policyWith = (actions: fc.Arbitrary<AuthorizationPolicy['spec']['action']>): fc.Arbitrary<AuthorizationPolicy> =>
  fc
    .record({ target, action: actions, rules: fc.array(rule, { maxLength: 2 }), name: fc.nat(), root: fc.boolean() })
    .map(({ target: of, action, rules, name, root }) =>
      custom(`p-${name}`, { ...of, action, rules }, { namespace: root ? 'istio-system' : 'shop' }),
    )

const anyPolicy = policyWith(fc.constantFrom('ALLOW', 'ALLOW', 'DENY', 'AUDIT', 'CUSTOM', undefined))

const arbitraryWorld: fc.Arbitrary<ClusterSnapshot> = fc
  .record({
    policies: fc.array(anyPolicy, { maxLength: 4 }),
    isHardened: fc.boolean(),
    autoAllowWaypoint: fc.boolean(),
  })
  .map(({ policies, isHardened, autoAllowWaypoint }) =>
    world([...policies, ...(isHardened ? hardened : [])], { autoAllowWaypoint }),
  )

const arbitraryRequest: fc.Arbitrary<AccessRequest> = fc.record({
  from: fc.record(
    {
      namespace: fc.constantFrom('shop', 'bank'),
      serviceAccount: fc.constantFrom('productpage', 'details'),
      address: fc.constantFrom('10.1.2.3', '192.168.0.1'),
    },
    { requiredKeys: ['namespace'] },
  ),
  to: fc.record(
    { namespace: fc.constant('shop'), application: fc.constant('details'), service: fc.constant('details') },
    { requiredKeys: ['namespace', 'application'] },
  ),
  port: fc.constantFrom(80, 9080, 1),
  method: fc.constantFrom('GET', 'POST', undefined),
  path: fc.constantFrom('/a', '/b/c', undefined),
})

const adding = ({ policies, ...rest }: ClusterSnapshot, ...more: AuthorizationPolicy[]): ClusterSnapshot => ({
  ...rest,
  policies: [...policies, ...more],
})

test('a DENY never widens', () => {
  let denials = 0
  always(
    fc.property(arbitraryRequest, arbitraryWorld, policyWith(fc.constant('DENY')), (asked, where, deny) => {
      const before = evaluate(asked, where).allowed
      const after = evaluate(asked, adding(where, deny)).allowed
      if (before && !after) denials++
      expect(after && !before).toBe(false)
    }),
    1000,
  )
  expect(denials).toBeGreaterThan(least(10))
})

test('an ALLOW beside another one of the same target never narrows', () => {
  let openings = 0
  const two = fc.tuple(policyWith(fc.constant('ALLOW')), fc.array(rule, { maxLength: 2 }))
  always(
    fc.property(arbitraryRequest, arbitraryWorld, two, (asked, where, [allow, rules]) => {
      const guarded = adding(where, allow)
      const before = evaluate(asked, guarded).allowed
      const beside = custom('beside', { ...allow.spec, rules }, { namespace: allow.metadata.namespace })
      const after = evaluate(asked, adding(guarded, beside)).allowed
      if (!before && after) openings++
      expect(before && !after).toBe(false)
    }),
    1000,
  )
  expect(openings).toBeGreaterThan(least(10))
})

test('the order of the policies changes nothing', () => {
  always(
    fc.property(arbitraryRequest, arbitraryWorld, (asked, where) => {
      const reversed = { ...where, policies: where.policies.toReversed() }
      expect(evaluate(asked, reversed).allowed).toBe(evaluate(asked, where).allowed)
    }),
  )
})

test('every answer is one sentence, and says of an allowed request that it may pass', () => {
  always(
    fc.property(arbitraryRequest, arbitraryWorld, (asked, where) => {
      const { allowed, decided, sentence } = evaluate(asked, where)
      expect(sentence).toMatch(/^[^\n]+\.$/)
      expect(sentence).toMatch(!decided ? / may or may not / : allowed ? / may (?!not|or)/ : / may not /)
    }),
    500,
  )
})

test('merged objects decide as one object for each policy does, and as an evaluator of its own says', () => {
  const where = (policies: AuthorizationPolicy[], at: Call): ClusterSnapshot => {
    const waypoint = { namespace: at.namespace, name: 'w', serviceAccount: 'w' }
    return {
      policies,
      rootNamespace: 'istio-system',
      trustDomain: 'cluster.local',
      services: [{ namespace: at.namespace, name: at.service, waypoint }],
      workloads: [{ namespace: at.namespace, name: 'pod', labels: at.labels, onMesh: true }],
      autoAllowWaypoint: false,
    }
  }
  const asking = (at: Call, to: Partial<AccessRequest['to']>): AccessRequest => ({
    ...at,
    from: { namespace: at.from.namespace, serviceAccount: at.from.application },
    to: { namespace: at.namespace, application: 'pod', ...to },
  })
  always(
    fc.property(fc.array(arbitraryPolicy, { maxLength: 8 }), arbitraryCall, (policies, at) => {
      const merged = authorizationPolicies(
        policies.map((policy) => request(policy)),
        owner,
      )
      const single = policies.map((policy, index) => singleObject(policy, index))
      const expected = evaluateByTable(single, at)
      const atServices = (objects: AuthorizationPolicy[]) => objects.filter(({ spec }) => spec.targetRefs !== undefined)
      for (const objects of [merged, single]) {
        expect(evaluate(asking(at, {}), where(objects, at)).allowed).toBe(expected.pod ?? true)
        expect(evaluate(asking(at, { service: at.service }), where(atServices(objects), at)).allowed).toBe(
          expected.waypoint ?? true,
        )
      }
    }),
    1000,
  )
})
