import { describe, expect, test } from 'vitest'
import { ordered, orderOf } from '../../../../src/core/reconcile/decide/order.ts'
import { planNamespace } from '../../../../src/core/reconcile/decide/plan-namespace.ts'
import { ENROLMENT_LABEL } from '../../../../src/core/relations/mesh-labels.ts'
import { configWait } from '../../../../src/core/relations/unknown.ts'
import { emptyState } from '../../../../src/core/state/state.ts'
import { features } from '../../../../src/features.ts'
import type { KubernetesObject } from '../../../../src/platform/kubernetes/objects.ts'
import { type Changes, labelled, situationOf } from '../../../helpers/situations.ts'
import { NAMESPACE, SUBJECT } from '../../../helpers/world.ts'

const MESH = { [ENROLMENT_LABEL]: 'ambient' }

describe('the labels of the namespace', () => {
  const namespace = (labels: Record<string, string>): KubernetesObject => {
    const { places } = labelled('Service', labels)
    const [place] = places ?? []
    if (place === undefined) throw new Error('no place')
    const { managedFields } = place.object.metadata
    return {
      ...{ apiVersion: 'v1', kind: 'Namespace' },
      metadata: { name: NAMESPACE, uid: 'u', resourceVersion: '1', labels, ...(managedFields && { managedFields }) },
    }
  }
  const on = features.config.parse({ mesh: { modelOnMesh: true } })
  const off = features.config.parse({ mesh: {} })
  const planned = (object: KubernetesObject | undefined, config: typeof on | undefined, more: Changes = {}) => {
    const situation = situationOf({
      ...{ state: { ...emptyState(), ...(config && { config }) } },
      ...{ observed: { owned: { kinds: [], namespace: { object } } }, ...more },
    })
    const order = orderOf(situation)
    const namespace = planNamespace(situation, order)
    return { ...namespace, operations: ordered(situation, order, namespace.operations, []) }
  }

  test('the labels of the namespace stay while its config is unknown', () => {
    expect(planned(namespace(MESH), undefined)).toMatchObject({
      ...{ operations: [], waiting: [configWait(SUBJECT)], isKept: false },
    })
    expect(planned(namespace({}), undefined)).toMatchObject({ operations: [], waiting: [] })
  })

  test('the labels of the namespace go once nobody depends on them', () => {
    expect(planned(namespace(MESH), off).operations).toMatchObject([
      { id: 'label Namespace shop', difference: { apply: {} } },
    ])
    expect(planned(namespace(MESH), off, { labelsAwaited: ['shop/db'] })).toMatchObject({ isKept: true })
    expect(planned(namespace({}), off, { labelsAwaited: ['shop/db'] })).toMatchObject({ isKept: false })
    const plain = features.config.parse({})
    expect(planned(namespace(MESH), plain, { labelsAwaited: ['shop/db'] })).toMatchObject({
      isKept: false,
      operations: [{}],
    })
  })

  test('a namespace joins the mesh after the policies that let in without a request, though its beacon is not on the mesh', () => {
    const policy: KubernetesObject = {
      ...{ apiVersion: 'security.istio.io/v1', kind: 'AuthorizationPolicy' },
      ...{ metadata: { name: 'basic', namespace: NAMESPACE }, spec: { action: 'ALLOW', rules: [{}] } },
    }
    const { desired } = situationOf({})
    const basic = { desired: { ...desired, objects: [policy] } }
    const needed = (object: KubernetesObject, config: typeof on) =>
      planned(object, config, basic).operations.map((one) => one.needs)
    expect(needed(namespace({}), on)).toEqual([[`apply AuthorizationPolicy ${NAMESPACE}/basic`]])
    expect(needed(namespace(MESH), off)).toEqual([[]])
  })

  test('the labels of a namespace that is unknown or does not exist stay as they are', () => {
    const none = { touches: [], operations: [], conflicts: [], isKept: false, waiting: [] }
    expect(planned(undefined, on)).toEqual(none)
    const observed = (read: object | undefined) => ({ observed: { owned: { kinds: [], namespace: read as never } } })
    expect(planned(undefined, on, observed(undefined))).toEqual(none)
    expect(planned(undefined, on, observed({ problem: 'no' }))).toEqual(none)
  })
})
