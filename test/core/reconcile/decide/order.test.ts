import { describe, expect, test } from 'vitest'
import { neededBy, orderOf } from '../../../../src/core/reconcile/decide/order.ts'
import { ENROLMENT_LABEL, USE_WAYPOINT_LABEL } from '../../../../src/core/relations/mesh-labels.ts'
import type { KubernetesObject } from '../../../../src/platform/kubernetes/objects.ts'
import { type Changes, labelled, situationOf } from '../../../helpers/situations.ts'
import { NAMESPACE } from '../../../helpers/world.ts'

const MESH = { [ENROLMENT_LABEL]: 'ambient' }
const ASKED = { labels: { labels: MESH, unknown: [], required: true, messages: [] } }

describe('the phase of labels', () => {
  const phase = (held: Record<string, string>, labels: Record<string, string>, more: Changes = {}) =>
    orderOf(situationOf({ held, desired: { labels: { ...ASKED.labels, labels } }, ...more })).isLeaving
      ? 'leave'
      : 'enrol'

  test('the phase of labels is that of leaving where they only become fewer', () => {
    expect(phase(MESH, {})).toBe('leave')
    expect(phase({ ...MESH, a: 'b' }, MESH)).toBe('enrol')
    expect(phase({ ...MESH, a: 'b' }, { a: 'c' })).toBe('enrol')
    expect(phase({ a: 'b' }, MESH)).toBe('enrol')
    expect(phase(MESH, MESH)).toBe('enrol')
    expect(phase({}, {})).toBe('enrol')
  })

  test('the phase of labels is not that of leaving while they are unknown, and is while pods are waited for', () => {
    expect(phase(MESH, {}, { desired: { labels: { ...ASKED.labels, labels: {}, unknown: 'all' } } })).toBe('enrol')
    expect(phase({}, {}, { waitForPods: { held: 'pods', for: [], message: '' } })).toBe('leave')
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

  test('further policies of pods do not wait for the Service, nor does anything for one that leads there already', () => {
    for (const { groups } of [order({}, [policy('former', atPods.spec ?? {})], joining), order(LED, [], joining)])
      expect([groups['first policy'], groups.policy]).toEqual([[], [applyAtPods, applyAtService]])
    expect(order(LED, [], joining).groups['leading label']).toEqual([])
  })

  test('a policy of pods that denies is neither their first policy nor one that takes the place of their last', () => {
    const deny = { ...policy('deny', {}), spec: { ...atPods.spec, action: 'DENY' } }
    const asked = { desired: { ...joining.desired, objects: [atPods, atService, deny] } }
    for (const live of [[], [deny]]) expect(order({}, live, asked).groups['first policy']).toEqual([applyAtPods])
    const leaving = order(LED, [atPods, deny], { held: LED, desired: { objects: [deny] } })
    expect(leaving.groups['last policy']).toEqual([removeAtPods])
  })

  test('where pods leave, their last policies go before the Service is led away', () => {
    const { groups } = order(LED, [atPods, atService], { held: LED })
    expect(neededBy(groups, ['freed Service'])).toEqual([removeAtPods])
    expect(groups.change).toEqual(['remove AuthorizationPolicy shop/service'])
    const replaced = order(LED, [atPods], { held: LED, desired: { objects: [policy('next', atPods.spec ?? {})] } })
    expect(replaced.groups['last policy']).toEqual([])
  })
})
