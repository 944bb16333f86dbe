import { expect, test } from 'vitest'
import { driftOf } from '../../../../src/core/reconcile/decide/drift.ts'
import type { Operation } from '../../../../src/core/reconcile/decide/operation.ts'
import type { KubernetesObject } from '../../../../src/platform/kubernetes/objects.ts'

const metadata = { name: 'web', namespace: 'shop' }

const applied = (desired: KubernetesObject, found?: KubernetesObject): Operation => ({
  ...{ id: 'apply web', object: 'shop/web', manager: 'meshstep-web', needs: [], reason: 'it is desired' },
  ...{ verb: 'apply', desired, found },
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
