import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { MeshPolicy } from '../../../../src/core/policies/models.ts'
import { policiesDatabag, readPolicies as readAll } from '../../../../src/core/relations/databags/policies-databag.ts'
import type { Databag } from '../../../../src/core/state/relation.ts'
import { almostPolicies, meshPolicy } from '../../../features/service-mesh/arbitraries.ts'
import { runs } from '../../../helpers/runs.ts'

const GOOD = { source_namespace: 'clients', source_app_name: 'web', target_namespace: 'shop', target_app_name: 'db' }
const READ = MeshPolicy.parse(GOOD)

/** What is read, where each policy that is not good has a problem. */
const readPolicies = (databag: Databag) => {
  const result = readAll(databag)
  if ('unreadable' in result) return result
  const { invalid, ...read } = result
  expect(invalid).toHaveLength(read.problems.length)
  return read
}

describe('what cannot be read is not the same as nothing asked for', () => {
  test.each([
    ['broken JSON', '[{"source_namespace":'],
    ['an empty string', ''],
    ['text', 'none'],
    ['an object', {}],
    ['one policy without its list', GOOD],
    ['a string of an object', '{}'],
    ['null', null],
    ['a string of null', 'null'],
    ['a number', 0],
  ])('%s', (_, policies) => {
    const result = readPolicies({ policies })
    expect(result).toEqual({ unreadable: expect.stringMatching(/^policies: .*expected a list of policies/) })
  })

  test.each([
    ['absent', {}],
    ['an empty list', { policies: [] }],
    ['a string of an empty list', { policies: '[]' }],
    ['another key', { constructor: 'x', labels: '{}' }],
  ])('nothing is asked for: %s', (_, databag) => {
    expect(readPolicies(databag)).toEqual({ policies: [], problems: [] })
  })
})

describe('a bad policy is named, and the others are kept', () => {
  const endpoint = (value: unknown) => ({ ...GOOD, endpoints: [{ ports: [80] }, value] })
  const deep = JSON.parse(`${'['.repeat(100_000)}${']'.repeat(100_000)}`)

  test.each([
    ['a number', 7, 'policies[1]: expected a policy: an object, got 7'],
    ['null', null, 'policies[1]: expected a policy: an object, got null'],
    ['a list', [], 'policies[1]: expected a policy: an object, got []'],
    ['nesting without end', deep, 'policies[1]: expected a policy: an object, got a list'],
    [
      'nesting without end in a field',
      { ...GOOD, target_service: deep },
      'policies[1].target_service: expected a Service: a string, got a list',
    ],
    [
      'a field that is not there',
      { ...GOOD, source_namespace: undefined },
      'policies[1].source_namespace: expected a namespace: a string, got nothing',
    ],
    [
      'a port',
      endpoint({ ports: [443, 70000] }),
      'policies[1].endpoints[1].ports[1]: expected a port: an integer from 1 to 65535, got 70000',
    ],
    [
      'two ports',
      endpoint({ ports: [true, 443, 'x'.repeat(100)] }),
      'policies[1].endpoints[1].ports[0]: expected a port: an integer from 1 to 65535, got true (and 1 more)',
    ],
    [
      'an endpoint with nothing in it',
      endpoint({}),
      'policies[1].endpoints[1]: expected hosts, ports, methods or paths in an endpoint; to allow everything, give no endpoint at all: [], got {}',
    ],
    [
      'paths of a unit',
      { ...endpoint({ ports: [1], paths: ['/'] }), target_type: 'unit' },
      'policies[1].endpoints[1].paths: expected no paths with target_type unit: pods are guarded by port alone, got a list',
    ],
    [
      'a label',
      { ...GOOD, target_app_name: null, target_type: 'unit', target_selector_labels: { 'a b': 'x' } },
      'policies[1].target_selector_labels["a b"]: not a label: the name of the key must be letters, digits, - _ . and begin and end with a letter or digit, got "x"',
    ],
    [
      'no target',
      { ...GOOD, target_app_name: '' },
      'policies[1]: Bad policy configuration. Neither target_app_name nor target_service specified for MeshPolicy with target_type PolicyTargetType.app',
    ],
  ])('%s', (_, bad, problem) => {
    expect(readPolicies({ policies: [GOOD, bad, GOOD] })).toEqual({ policies: [READ, READ], problems: [problem] })
  })

  test('a value of any length is told in a line', () => {
    const result = readPolicies({ policies: [{ ...GOOD, endpoints: [{ methods: ['x'.repeat(100_000)] }] }] })
    expect(result).toEqual({ policies: [], problems: [expect.stringMatching(/, got "x{60}…"$/)] })
  })
})

test.each([
  ['JSON values', [GOOD, GOOD]],
  ['a string of JSON, as in Juju', JSON.stringify([GOOD, GOOD])],
])('%s', (_, policies) => {
  expect(readPolicies({ policies })).toEqual({ policies: [READ, READ], problems: [] })
})

test('ten thousand policies, every third of them bad', () => {
  const bad = { ...GOOD, endpoints: [{ ports: [0], methods: ['get'] }] }
  const good = { ...GOOD, endpoints: [{ ports: [80, 443], methods: ['GET'], paths: ['/a', '/b/{*}'] }] }
  const policies = JSON.stringify(Array.from({ length: 10_000 }, (_, index) => (index % 3 === 0 ? bad : good)))
  const result = readPolicies({ policies })
  expect(result).toMatchObject({ policies: { length: 6666 }, problems: { length: 3334 } })
})

describe('what is written', () => {
  test('every key, in the order of the wire, whatever order it came in', () => {
    const policy = MeshPolicy.parse({
      ...GOOD,
      target_app_name: null,
      target_type: 'unit',
      target_selector_labels: { tier: 'back', app: 'db' },
      endpoints: [{ paths: [], ports: ['80', 443] }],
    })
    const shuffled = {
      ...(Object.fromEntries(Object.entries(policy).toReversed()) as MeshPolicy),
      endpoints: policy.endpoints.map(({ hosts, ...others }) => ({ ...others, hosts })),
    }
    expect(policiesDatabag([shuffled])).toBe(
      '[{"source_namespace": "clients", "source_app_name": "web", "target_namespace": "shop", "target_app_name": null, ' +
        '"target_selector_labels": {"tier": "back", "app": "db"}, "target_service": null, "target_type": "unit", ' +
        '"endpoints": [{"hosts": null, "ports": [80, 443], "methods": null, "paths": []}]}]',
    )
  })

  test('nothing', () => {
    expect(policiesDatabag([])).toBe('[]')
  })

  test('what is written is read as it was', () => {
    fc.assert(
      fc.property(fc.array(meshPolicy), (policies) => {
        const databag = policiesDatabag(policies)
        expect(readPolicies({ policies: databag })).toEqual({ policies, problems: [] })
        expect(databag).toMatch(/^[\x20-\x7e]*$/)
      }),
    )
  })
})

test('any JSON is read without an exception, and what is kept is good', () => {
  let kept = 0
  fc.assert(
    fc.property(fc.oneof(almostPolicies, fc.jsonValue()), fc.boolean(), (value, asText) => {
      const result = readPolicies({ policies: asText ? JSON.stringify(value) : value })
      expect('unreadable' in result).toBe(!Array.isArray(value))
      if ('unreadable' in result) return
      expect(result.policies.length + result.problems.length).toBe((value as unknown[]).length)
      expect(readPolicies({ policies: policiesDatabag(result.policies) })).toEqual({ ...result, problems: [] })
      for (const problem of result.problems) expect(problem.length).toBeLessThan(500)
      kept += result.policies.length
    }),
    { numRuns: runs(1000) },
  )
  expect(kept).toBeGreaterThan(0)
})
