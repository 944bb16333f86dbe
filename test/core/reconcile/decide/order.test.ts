import { describe, expect, test } from 'vitest'
import type { Operation } from '../../../../src/core/reconcile/decide/operation.ts'
import { inOrder, neededBy, orderOf } from '../../../../src/core/reconcile/decide/order.ts'
import { ENROLMENT_LABEL, USE_WAYPOINT_LABEL } from '../../../../src/core/relations/mesh-labels.ts'
import { waitFor } from '../../../../src/platform/base/condition.ts'
import type { KubernetesObject } from '../../../../src/platform/kubernetes/objects.ts'
import { type Changes, labelled, situationOf } from '../../../helpers/situations.ts'
import { NAMESPACE } from '../../../helpers/world.ts'

const MESH = { [ENROLMENT_LABEL]: 'ambient' }
const ASKED = { labels: { labels: MESH, unknown: [], required: true, messages: [] } }

describe('labels of an application that leaves', () => {
  const isLeaving = (held: Record<string, string>, labels: Record<string, string>, more: Changes = {}) =>
    orderOf(situationOf({ heldLabels: held, desired: { labels: { ...ASKED.labels, labels } }, ...more })).labelsGoFirst

  test('labels of an application that leaves are those that only become fewer', () => {
    expect(isLeaving(MESH, {})).toBe(true)
    expect(isLeaving({ ...MESH, a: 'b' }, MESH)).toBe(false)
    expect(isLeaving({ ...MESH, a: 'b' }, { a: 'c' })).toBe(false)
    expect(isLeaving({ a: 'b' }, MESH)).toBe(false)
    expect(isLeaving(MESH, MESH)).toBe(false)
    expect(isLeaving({}, {})).toBe(false)
  })

  test('labels of an application that leaves are not those that are unknown, and are all while pods are waited for', () => {
    expect(isLeaving(MESH, {}, { desired: { labels: { ...ASKED.labels, labels: {}, unknown: 'all' } } })).toBe(false)
    expect(isLeaving({}, {}, { waitForPods: waitFor([], 'PodsOnMesh', 'pods', '') })).toBe(true)
  })
})

describe('the order of a Service, its pods and their policies', () => {
  const LED = { ...MESH, [USE_WAYPOINT_LABEL]: 'new' }
  const policy = (name: string, target: Record<string, unknown>): KubernetesObject => ({
    ...{ apiVersion: 'security.istio.io/v1', kind: 'AuthorizationPolicy', metadata: { name, namespace: NAMESPACE } },
    spec: { ...target, action: 'ALLOW', rules: [] },
  })
  const atPods = policy('pods', { selector: { matchLabels: { 'app.kubernetes.io/name': 'web' } } })
  const atService = policy('service', { targetRefs: [{ group: '', kind: 'Service', name: 'web' }] })
  const [applyAtPods, applyAtService] = [
    'apply AuthorizationPolicy shop/pods',
    'apply AuthorizationPolicy shop/service',
  ]
  const order = (service: Record<string, string>, live: KubernetesObject[], more: Changes) =>
    orderOf(
      situationOf({
        observed: {
          targets: { current: [labelled('Service', service), labelled('StatefulSet', {})], earlier: [], library: [] },
          owned: { kinds: [{ kind: 'AuthorizationPolicy', live, library: [] }] },
        },
        ...more,
      }),
    )
  const joining = { desired: { labels: { ...ASKED.labels, labels: LED }, objects: [atPods, atService] } }

  const [removeAtPods, label] = ['remove AuthorizationPolicy shop/pods', 'label Service shop/web']

  test('where pods join behind a waypoint, policies of the Service come first, then its label, then policies of the pods', () => {
    const { groups } = order({}, [], joining)
    expect(neededBy(groups, ['Service label'])).toEqual([applyAtService])
    expect(neededBy(groups, ['first policy'])).toEqual([label])
    expect(neededBy(groups, ['mesh label', 'joining pods'])).toEqual([applyAtService, applyAtPods, label])
  })

  test('stale policies of an application that stays go once its Service leads elsewhere: until then requests come as they let them in', () => {
    const { groups } = order({}, [policy('former', atPods.spec ?? {})], joining)
    expect(groups['stale policy']).toEqual(['remove AuthorizationPolicy shop/former'])
    expect(neededBy(groups, ['stale policy'])).toEqual([label])
  })

  test('further policies of pods do not wait for the Service, nor does anything for one that leads there already', () => {
    for (const { groups } of [order({}, [policy('former', atPods.spec ?? {})], joining), order(LED, [], joining)])
      expect([groups['first policy'], groups.policy]).toEqual([[], [applyAtPods, applyAtService]])
    expect(order(LED, [], joining).groups['leading label']).toEqual([])
  })

  test('a policy of pods that denies is neither their first policy nor one that takes the place of their last', () => {
    const deny = { ...policy('deny', {}), spec: { ...atPods.spec, action: 'DENY' } }
    const asked = { desired: { ...joining.desired, objects: [atPods, atService, deny] } }
    for (const live of [[], [deny]]) expect(order({}, live, asked).groups['first policy']).toEqual([applyAtPods])
    const leaving = order(LED, [atPods, deny], { heldLabels: LED, desired: { objects: [deny] } })
    expect(leaving.groups['last policy']).toEqual([removeAtPods])
  })

  test('where pods leave, their last policies go before the Service is led away', () => {
    const { groups } = order(LED, [atPods, atService], { heldLabels: LED })
    expect(neededBy(groups, ['freed Service'])).toEqual([removeAtPods])
    expect(groups.change).toEqual(['remove AuthorizationPolicy shop/service'])
    const replaced = order(LED, [atPods], {
      heldLabels: LED,
      desired: { objects: [policy('next', atPods.spec ?? {})] },
    })
    expect(replaced.groups['last policy']).toEqual([])
  })
})

describe('the order of operations', () => {
  const one = (id: string, ...needs: string[]) => ({ id, needs }) as unknown as Operation
  const sorted = (...operations: Operation[]) => inOrder(operations).map(({ id }) => id)

  test('the order of operations is that of the list where none needs a later one', () => {
    expect(sorted()).toEqual([])
    expect(sorted(one('b'), one('a'), one('c', 'a', 'elsewhere'))).toEqual(['b', 'a', 'c'])
  })

  test('the order of operations has what one needs right before it, and before that what this needs', () => {
    expect(sorted(one('a', 'c'), one('b'), one('c', 'd'), one('e'), one('d'))).toEqual(['d', 'c', 'a', 'b', 'e'])
    expect(sorted(one('a', 'd', 'c'), one('b', 'c'), one('c'), one('d'))).toEqual(['c', 'd', 'a', 'b'])
  })

  test('the order of operations that need each other is that of the list, and what else they need comes before', () => {
    expect(sorted(one('a', 'b', 'c'), one('b', 'a'), one('c'))).toEqual(['c', 'a', 'b'])
    expect(sorted(one('x', 'b'), one('a', 'b'), one('b', 'a'))).toEqual(['a', 'b', 'x'])
  })

  test('the order of operations has each once, also those in a circle, and of one name', () => {
    expect(sorted(one('a', 'b'), one('b', 'c'), one('c', 'a')).toSorted()).toEqual(['a', 'b', 'c'])
    expect(sorted(one('a', 'b'), one('b'), one('b'))).toEqual(['b', 'a'])
    expect(sorted(one('a', 'a'))).toEqual(['a'])
  })
})
