import { describe, expect, test } from 'vitest'
import { ApiError } from '../../../src/platform/kubernetes/api-error.ts'
import {
  ABSENT,
  applyObject,
  namesakeConflict,
  objectDifference,
} from '../../../src/platform/kubernetes/apply-objects.ts'
import type { Kubernetes } from '../../../src/platform/kubernetes/client.ts'
import type { KubernetesObject, ManagedFields } from '../../../src/platform/kubernetes/objects.ts'

const US = 'meshstep/beacon'

const fields = (spec: Record<string, unknown>) => ({
  'f:spec': Object.fromEntries(Object.keys(spec).map((name) => [`f:${name}`, {}])),
})

const policy = (name: string, spec: Record<string, unknown> = { action: 'ALLOW' }): KubernetesObject => ({
  apiVersion: 'security.istio.io/v1',
  kind: 'AuthorizationPolicy',
  metadata: { name, namespace: 'shop' },
  spec,
})

/** The same object as the API server has it, once `manager` has written it. */
const live = (
  object: KubernetesObject,
  manager = US,
  operation: ManagedFields['operation'] = 'Apply',
  added: Record<string, unknown> = {},
): KubernetesObject => ({
  ...object,
  metadata: {
    ...object.metadata,
    uid: `uid-${object.metadata.name}`,
    resourceVersion: '1',
    managedFields: [
      { manager, operation, fieldsV1: fields(object.spec ?? {}) },
      ...(Object.keys(added).length > 0
        ? [{ manager: 'kyverno', operation: 'Update' as const, fieldsV1: fields(added) }]
        : []),
    ],
  },
  spec: { ...object.spec, ...added },
})

const namesOf = (objects: readonly KubernetesObject[]) => objects.map(({ metadata }) => metadata.name)

describe('what is to be done for the objects of a kind', () => {
  type Row = {
    there: KubernetesObject[]
    wanted: KubernetesObject[]
    apply?: string[]
    stale?: string[]
    conflicts?: unknown[]
  }

  test.each<[string, Row]>([
    ['nothing for none', { there: [], wanted: [] }],
    ['nothing where all is as it should be', { there: [live(policy('a'))], wanted: [policy('a')] }],
    ['a new one is applied', { there: [], wanted: [policy('a')], apply: ['a'] }],
    [
      'a changed one is applied',
      { there: [live(policy('a'))], wanted: [policy('a', { action: 'DENY' })], apply: ['a'] },
    ],
    ['one that is not wanted goes', { there: [live(policy('a'))], wanted: [], stale: ['a'] }],
    [
      'one of the same name in another namespace is another one',
      {
        there: [live(policy('a'))],
        wanted: [{ ...policy('a'), metadata: { name: 'a', namespace: 'bank' } }],
        apply: ['a'],
        stale: ['a'],
      },
    ],
    [
      'one that somebody copied, labels and all, stays',
      { there: [live(policy('copy'), 'kubectl', 'Update')], wanted: [] },
    ],
    ['one that another application applied stays', { there: [live(policy('copy'), 'meshstep/other')], wanted: [] }],
    ['one that we only updated stays', { there: [live(policy('a'), US, 'Update')], wanted: [] }],
    [
      'what somebody added to one is a conflict',
      {
        there: [live(policy('a'), US, 'Apply', { selector: {} })],
        wanted: [policy('a')],
        conflicts: [{ object: 'AuthorizationPolicy shop/a', manager: 'kyverno', key: 'spec' }],
      },
    ],
  ])('%s', (_, { there, wanted, apply = [], stale = [], conflicts = [] }) => {
    const plan = objectDifference(there, wanted, US)
    expect({
      apply: namesOf(plan.apply.map(({ desired }) => desired)),
      stale: namesOf(plan.stale),
      conflicts: plan.conflicts,
    }).toEqual({ apply, stale, conflicts })
  })
})

describe('applying one object', () => {
  type Calls = { applied: { object: KubernetesObject; force: boolean | undefined }[]; found: number }

  const kubernetesWith = (found: KubernetesObject | undefined, answer: KubernetesObject | Error) => {
    const calls: Calls = { applied: [], found: 0 }
    const kubernetes: Pick<Kubernetes, 'find' | 'apply'> = {
      find: async () => {
        calls.found += 1
        return found
      },
      apply: async (object, _manager, options) => {
        calls.applied.push({ object, force: options?.force })
        if (answer instanceof Error) throw answer
        return answer
      },
    }
    return { kubernetes: kubernetes as Kubernetes, calls }
  }

  const refusal = (status: number, message: string, causes: object[] = []) =>
    new ApiError('APPLY AuthorizationPolicy shop/a', status, JSON.stringify({ message, details: { causes } }))

  test.each<[string, ApiError]>([
    ['a missing permission', refusal(403, 'User "x" cannot patch resource "authorizationpolicies"')],
    ['another object in its place', refusal(422, 'invalid', [{ field: 'metadata.uid' }])],
    ['an object that is gone', refusal(409, 'uid mismatch')],
    ['an object that is not valid', refusal(422, 'spec is invalid', [{ field: 'spec' }])],
    ['a webhook that denies it', refusal(400, 'denied')],
    ['a namespace that is not there', refusal(404, 'namespaces "gone" not found')],
  ])('applying one object rejects for %s', async (_, error) => {
    const { kubernetes } = kubernetesWith(undefined, error)
    await expect(applyObject(kubernetes, { desired: policy('a'), live: live(policy('a')) }, US)).rejects.toBe(error)
  })

  test('applying one object names who has an object in the place of a desired one', () => {
    expect(namesakeConflict(policy('a'), live(policy('a'), 'argo'), US)).toEqual({
      object: 'AuthorizationPolicy shop/a',
      manager: 'argo',
    })
  })

  test.each<[string, KubernetesObject | undefined, object]>([
    ['a new one, where none is', undefined, { resourceVersion: ABSENT }],
    ['a changed one, as it was seen', live(policy('a')), { uid: 'uid-a', resourceVersion: '1' }],
  ])('applying one object writes %s, by force', async (_, seen, bound) => {
    const after = { ...live(policy('a')), metadata: { ...live(policy('a')).metadata, resourceVersion: '2' } }
    const { kubernetes, calls } = kubernetesWith(undefined, after)
    expect(await applyObject(kubernetes, { desired: policy('a'), live: seen }, US)).toEqual({
      applied: after,
      written: 'AuthorizationPolicy shop/a',
    })
    expect(calls.found).toBe(0)
    expect(calls.applied).toEqual([
      { force: true, object: { ...policy('a'), metadata: expect.objectContaining(bound) } },
    ])
  })

  test('applying one object tells of no write where nothing changed', async () => {
    const { kubernetes } = kubernetesWith(undefined, live(policy('a')))
    expect(await applyObject(kubernetes, { desired: policy('a'), live: live(policy('a')) }, US)).toEqual({
      applied: live(policy('a')),
    })
  })
})
