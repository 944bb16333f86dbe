import { expect, test } from 'vitest'
import { driftOf } from '../../../../src/core/reconcile/decide/drift.ts'
import { hashOf, type Operation } from '../../../../src/core/reconcile/decide/operation.ts'
import type { KubernetesObject } from '../../../../src/platform/kubernetes/objects.ts'

const metadata = { name: 'web', namespace: 'shop' }

const applied = (desired: KubernetesObject, found?: KubernetesObject): Operation => ({
  ...{ id: 'apply web', phase: 'run', object: 'shop/web', manager: 'meshstep-web', after: [], reason: 'it is desired' },
  ...{ verb: 'apply', desired, found },
})

const secret = (data?: Record<string, string>): KubernetesObject => ({
  ...{ apiVersion: 'v1', kind: 'Secret', metadata },
  ...(data && { data }),
})

const hash = (data?: Record<string, string>): string => hashOf([applied(secret(data))], [])

test('the hash of what is to be written goes by the keys of a Secret, and not by their values', () => {
  expect(hash({ a: 'eA==' })).toBe(hash({ a: 'eQ==' }))
  expect(hash({ a: 'eA==' })).not.toBe(hash({ b: 'eA==' }))
  expect(hash({})).toBe(hash())
})

const workload = (value: unknown): KubernetesObject => ({
  ...{ apiVersion: 'apps/v1', kind: 'Deployment', metadata },
  ...(value !== undefined && { spec: { value } }),
})

test.each([
  ['short values', 1, 2, { was: '1', is: '2' }],
  ['a long value', 'x'.repeat(64), 2, { was: 'another value', is: 'the desired one' }],
  ['a value that becomes long', 1, 'x'.repeat(64), { was: 'another value', is: 'the desired one' }],
  ['an object', { password: 'x' }, 2, { was: 'another value', is: 'the desired one' }],
  ['a list', 1, [2], { was: 'another value', is: 'the desired one' }],
])('the drift of a workload shows both values or none: %s', (_, was, is, shown) => {
  expect(driftOf(applied(workload(is), workload(was)))).toEqual([{ object: 'shop/web', field: 'spec.value', ...shown }])
})
