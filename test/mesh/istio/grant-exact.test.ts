import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import type { MeshPolicy } from '../../../src/core/policies/models.ts'
import { authorizationPolicies } from '../../../src/mesh/istio/grant.ts'
import { evaluate } from '../../ask/authorization/evaluator.ts'
import { charmLibrary } from '../../helpers/recorded.ts'
import { least } from '../../helpers/runs.ts'
import { always, arbitraryCall, arbitraryPolicy, owner, request, singleObject } from './samples.ts'

/** The library gives a unit policy without a target to a whole namespace. */
const hasTarget = ({ target_app_name, target_selector_labels, target_service }: MeshPolicy): boolean =>
  Boolean(target_app_name || target_service || Object.keys(target_selector_labels ?? {}).length)

const requests = fc.array(arbitraryPolicy, { maxLength: 12 })

test('what the merged objects allow is what one object for each policy allows, no more and no less', () => {
  const seen = new Set<string>()
  always(
    fc.property(requests, fc.array(arbitraryCall, { minLength: 20, maxLength: 20 }), (policies, calls) => {
      const merged = authorizationPolicies(
        policies.map((policy) => request(policy)),
        owner,
      )
      const single = policies.map((policy, index) => singleObject(policy, index))
      for (const call of calls) {
        const expected = evaluate(single, call)
        seen.add(JSON.stringify(expected))
        expect(evaluate(merged, call)).toEqual(expected)
      }
    }),
    1000,
  )
  // waypoint and pod each open, guarded and granted: the property did not hold for want of cases
  expect(seen.size).toBeGreaterThan(least(8))
})

test('order and repetition of the requests change nothing', () => {
  const shuffled = requests.chain((policies) =>
    fc.tuple(
      fc.constant(policies),
      fc.shuffledSubarray([...policies, ...policies], { minLength: policies.length * 2 }),
    ),
  )
  always(
    fc.property(shuffled, ([policies, again]) => {
      const objects = (some: MeshPolicy[]) =>
        authorizationPolicies(
          some.map((policy) => request(policy)),
          owner,
        )
      expect(JSON.stringify(objects(again))).toBe(JSON.stringify(objects(policies)))
    }),
  )
})

test.each(charmLibrary().policies.filter(({ policy }) => hasTarget(policy)))(
  'the single object of these tests for $name is that of the charm library',
  ({ policy, spec }) => expect(singleObject(policy).spec).toEqual(spec),
)
