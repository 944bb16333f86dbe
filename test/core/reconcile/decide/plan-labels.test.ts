import { describe, expect, test } from 'vitest'
import type { Operation } from '../../../../src/core/reconcile/decide/operation.ts'
import { ordered, orderOf } from '../../../../src/core/reconcile/decide/order.ts'
import { planLabels } from '../../../../src/core/reconcile/decide/plan-labels.ts'
import {
  ENROLMENT_LABEL,
  USE_WAYPOINT_LABEL,
  USE_WAYPOINT_NAMESPACE_LABEL,
} from '../../../../src/core/relations/mesh-labels.ts'
import { configWait } from '../../../../src/core/relations/unknown.ts'
import { emptyState } from '../../../../src/core/state/state.ts'
import { waitFor } from '../../../../src/platform/base/condition.ts'
import type { KubernetesObject } from '../../../../src/platform/kubernetes/objects.ts'
import { type Changes, labelled, situationOf } from '../../../helpers/situations.ts'
import { NAMESPACE, SUBJECT } from '../../../helpers/world.ts'

const MESH = { [ENROLMENT_LABEL]: 'ambient' }
const ASKED = { labels: { labels: MESH, unknown: [], required: true, messages: [] } }
const NONE = { whole: new Map() }

const SERVICE = labelled('Service', {})
const WORKLOAD = labelled('StatefulSet', {})

const targets = (...current: ReturnType<typeof labelled>[]) => ({ targets: { current, earlier: [], library: [] } })

const plan = (changes: Changes, { templates = NONE, isSpecRefused = false } = {}) => {
  const situation = situationOf(changes)
  const order = orderOf(situation)
  const planned = planLabels(situation, order, templates, isSpecRefused)
  return { ...planned, operations: ordered(situation, order, planned.operations, []) }
}

const shown = (operations: readonly Operation[]) =>
  operations.map(({ verb, object, ...operation }) => [
    `${verb} ${object}`,
    'difference' in operation ? (operation.difference.apply ?? operation.difference.remove) : undefined,
  ])

describe('labels that are desired', () => {
  test('labels that are desired are written where they are missing, in the order of the targets', () => {
    expect(shown(plan({ desired: ASKED, observed: targets(WORKLOAD, SERVICE) }).operations)).toEqual([
      ['label StatefulSet shop/web', MESH],
      ['label Service shop/web', MESH],
    ])
  })

  test('labels that are desired are left to the workload where its template has them', () => {
    const templates = { whole: new Map([['StatefulSet shop/web', []]]) }
    expect(shown(plan({ desired: ASKED, observed: targets(WORKLOAD, SERVICE) }, { templates }).operations)).toEqual([
      ['label Service shop/web', MESH],
    ])
  })

  test('labels that are there already are not written, and labels of others are conflicts', () => {
    expect(plan({ desired: ASKED, observed: targets(labelled('Service', MESH)) }).operations).toEqual([])
    const { operations, conflicts } = plan({
      desired: ASKED,
      observed: targets(labelled('Service', { [ENROLMENT_LABEL]: 'none' }, 'other')),
    })
    expect(operations).toEqual([])
    expect(conflicts).toEqual([
      { object: 'Service shop/web', key: ENROLMENT_LABEL, manager: 'other', value: 'none', wanted: 'ambient' },
    ])
  })

  test('labels that are not desired any more are removed', () => {
    expect(shown(plan({ heldLabels: MESH, observed: targets(labelled('Service', MESH)) }).operations)).toEqual([
      ['label Service shop/web', {}],
    ])
    const [operation] = plan({ heldLabels: MESH, observed: targets(labelled('Service', MESH)) }).operations
    expect(operation?.reason).toBe('the labels are not desired any more')
    expect(plan({ desired: ASKED, observed: targets(SERVICE) }).operations[0]?.reason).toBe('the labels are desired')
  })

  test('labels that become fewer on the mesh are written after what is allowed', () => {
    const { operations } = plan({
      heldLabels: { ...MESH, a: 'b' },
      desired: ASKED,
      observed: targets(WORKLOAD, SERVICE),
    })
    expect(shown(operations).map(([name]) => name)).toEqual(['label StatefulSet shop/web', 'label Service shop/web'])
  })

  test('labels of which all are unknown stay', () => {
    const labels = { ...ASKED.labels, labels: {}, unknown: 'all' as const }
    expect(plan({ desired: { labels }, observed: targets(labelled('Service', MESH)) }).operations).toEqual([])
  })

  test('labels of a Service stay while pods that accept only the waypoint are waited for', () => {
    const waitForPods = waitFor([], 'PodsOnMesh', 'pods', '')
    const observed = targets(labelled('Service', MESH), labelled('StatefulSet', MESH))
    expect(shown(plan({ waitForPods, observed }).operations)).toEqual([['label StatefulSet shop/web', {}]])
  })

  test('labels of a former target are released, unless it is a current one too', () => {
    const former = labelled('Service', MESH)
    const observed = { targets: { current: [WORKLOAD], earlier: [former], library: [] } }
    expect(shown(plan({ desired: ASKED, observed }).operations)).toEqual([
      ['label StatefulSet shop/web', MESH],
      ['release Service shop/web', {}],
    ])
    const same = { targets: { current: [former], earlier: [former, former], library: [] } }
    expect(plan({ desired: ASKED, observed: same }).operations).toEqual([])
    const twice = { targets: { current: [], earlier: [former, former], library: [] } }
    expect(plan({ observed: twice }).operations).toHaveLength(1)
    const [place] = former.places ?? []
    if (place === undefined) throw new Error('no place')
    const { object } = place
    const places = [{ ...place, object: { ...object, metadata: { ...object.metadata, name: 'old', uid: 'other' } } }]
    const both = { targets: { current: [], earlier: [former, { ...former, places }], library: [] } }
    expect(plan({ observed: both }).operations).toHaveLength(2)
  })

  test('labels of the workload that was deployed before stay where a spec is refused', () => {
    const running = labelled('StatefulSet', MESH)
    const other = { ...labelled('Service', MESH), target: { kind: 'Service' as const, name: 'old' } }
    const observed = { targets: { current: [], earlier: [running, other], library: [] } }
    const refused = plan({ desired: ASKED, observed }, { isSpecRefused: true })
    expect(shown(refused.operations)).toEqual([['release Service shop/web', {}]])
    expect(shown(plan({ desired: ASKED, observed }).operations)).toHaveLength(2)
  })

  test('labels of pods stay while a rollout replaces them by pods of a labelled template', () => {
    const pods = {
      ...labelled('Service', MESH),
      target: { kind: 'StatefulSet' as const, name: 'web', on: 'pods' as const },
    }
    const observed = (current = WORKLOAD) => ({ targets: { current: [current], earlier: [pods], library: [] } })
    const names = (changes: Changes) => shown(plan(changes).operations).map(([name]) => name)
    expect(names({ desired: ASKED, observed: observed() })).toEqual(['label StatefulSet shop/web'])
    expect(names({ observed: observed() })).toEqual(['release Service shop/web'])
    const missing = { ...WORKLOAD, places: undefined }
    expect(names({ desired: ASKED, observed: observed(missing) })).toEqual(['release Service shop/web'])
    const other = { ...WORKLOAD, target: { kind: 'StatefulSet' as const, name: 'other' } }
    expect(names({ desired: ASKED, observed: observed(other) })).toContain('release Service shop/web')
  })

  test('labels that the charm library set are removed where it set them, and nowhere else', () => {
    const inherited = { [ENROLMENT_LABEL]: 'ambient' }
    const found = labelled('Service', inherited, 'juju')
    const library = (name: string) => ({
      state: { ...emptyState(), config: {}, libraryLabels: inherited },
      observed: { targets: { current: [found], earlier: [], library: [{ kind: 'Service' as const, name }] } },
    })
    expect(shown(plan(library('web')).operations)).toEqual([['label Service shop/web', inherited]])
    expect(plan(library('other')).operations).toEqual([])
  })
})

describe('pods that join the mesh behind a waypoint', () => {
  const LED = { ...MESH, [USE_WAYPOINT_LABEL]: 'new', [USE_WAYPOINT_NAMESPACE_LABEL]: NAMESPACE }
  const needs = (service: Record<string, string>, workload: Record<string, string>, labels: Record<string, string>) =>
    plan({
      desired: { labels: { ...ASKED.labels, labels } },
      observed: targets(labelled('StatefulSet', workload), labelled('Service', service)),
    }).operations.map(({ id, needs }) => [id, needs])

  test('pods that join the mesh behind a waypoint join after their Service leads there', () => {
    const joining = ['label StatefulSet shop/web', ['label Service shop/web']]
    expect(needs({}, {}, LED)).toEqual([['label Service shop/web', []], joining])
    expect(needs({}, MESH, LED)).toContainEqual(joining)
    expect(needs({ ...LED, [USE_WAYPOINT_NAMESPACE_LABEL]: 'other' }, {}, LED)).toContainEqual(joining)
  })

  test('pods that join the mesh behind a waypoint do not wait for a Service that leads there already, or need not', () => {
    expect(needs(LED, {}, LED)).toEqual([['label StatefulSet shop/web', []]])
    expect(needs(LED, {}, { ...LED, a: 'b' })).toContainEqual(['label StatefulSet shop/web', []])
    expect(needs({}, {}, MESH)).toContainEqual(['label StatefulSet shop/web', []])
  })
})

describe('a write of another step that may be on its way', () => {
  const fence = 'token'

  test('a write of another step that may be on its way is fenced by a touch of labels that are as desired', () => {
    const observed = targets(labelled('Service', MESH), WORKLOAD)
    const { touches, operations } = plan({ desired: ASKED, observed, fence })
    expect(shown(touches)).toEqual([['touch Service shop/web', undefined]])
    expect(shown(operations)).toEqual([['label StatefulSet shop/web', MESH]])
  })
})

describe('labels that only a lost config explains', () => {
  const lost = { state: emptyState() }

  test('labels that only a lost config explains stay, and are waited for', () => {
    const { operations, waiting } = plan({ ...lost, observed: targets(labelled('Service', { team: 'a' })) })
    expect([operations, waiting]).toEqual([[], [configWait(SUBJECT)]])
  })

  test('labels that a relation may have asked for go, and are not waited for', () => {
    const { operations, waiting } = plan({ ...lost, observed: targets(labelled('Service', MESH)) })
    expect([operations.length, waiting]).toEqual([1, []])
  })

  test('labels that are desired, or are those of a known config, are not waited for', () => {
    const desired = { labels: { ...ASKED.labels, labels: { team: 'a' } } }
    expect(plan({ ...lost, desired, observed: targets(labelled('Service', { team: 'a' })) }).waiting).toEqual([])
    expect(plan({ observed: targets(labelled('Service', { team: 'a' })) })).toMatchObject({
      ...{ waiting: [], operations: [{}] },
    })
  })

  test('labels that only a lost config explains are waited for at former targets too', () => {
    const observed = { targets: { current: [], earlier: [labelled('Service', { team: 'a' })], library: [] } }
    expect(plan({ ...lost, observed })).toMatchObject({ operations: [], waiting: [configWait(SUBJECT)] })
  })
})

describe('annotations of pods', () => {
  const file = (kind: string, name: string): KubernetesObject => ({
    ...{ apiVersion: 'v1', kind, metadata: { name, namespace: NAMESPACE } },
  })
  const annotations = { labels: { hash: '1' }, unknown: [], inherited: {} }

  test('annotations of pods are written to their template after the ConfigMaps that they are about', () => {
    const objects = [file('ConfigMap', 'a'), file('Secret', 'b'), file('ConfigMap', 'c')]
    const { operations } = plan({ desired: { annotations, objects }, observed: targets(WORKLOAD, SERVICE) })
    expect(operations).toMatchObject([
      {
        ...{ id: 'annotate StatefulSet shop/web', verb: 'annotate' },
        ...{ needs: ['apply ConfigMap shop/a', 'apply ConfigMap shop/c'], difference: { apply: { hash: '1' } } },
        place: { path: ['spec', 'template', 'metadata', 'annotations'] },
      },
    ])
  })

  test('annotations of pods are those of a template alone', () => {
    expect(plan({ desired: { annotations }, observed: targets(SERVICE) }).operations).toEqual([])
    expect(plan({ observed: targets(WORKLOAD) }).operations).toEqual([])
  })
})

describe('policies of the application itself', () => {
  const policy = (metadata: object, spec: Record<string, unknown>): KubernetesObject => ({
    ...{ apiVersion: 'security.istio.io/v1', kind: 'AuthorizationPolicy' },
    ...{ metadata: { name: 'guard', namespace: NAMESPACE, ...metadata }, spec },
  })
  const pods = { selector: { matchLabels: { 'app.kubernetes.io/name': 'web' } }, action: 'ALLOW', rules: [] }

  test('policies of the application itself come before its labels of the mesh', () => {
    const comesAfter = (object: KubernetesObject, labels: Record<string, string> = MESH) =>
      plan({
        desired: { labels: { ...ASKED.labels, labels }, objects: [object] },
        observed: targets(WORKLOAD),
      }).operations[0]?.needs
    expect(comesAfter(policy({}, pods))).toEqual(['apply AuthorizationPolicy shop/guard'])
    expect(comesAfter(policy({ namespace: 'other' }, pods))).toEqual([])
    expect(comesAfter(policy({}, { ...pods, selector: { matchLabels: { 'app.kubernetes.io/name': 'db' } } }))).toEqual(
      [],
    )
    expect(comesAfter({ ...policy({}, pods), kind: 'Other' })).toEqual([])
    expect(comesAfter(policy({}, pods), { a: 'b' })).toEqual([])
  })

  test.each([
    ['to a waypoint', MESH, { ...MESH, [USE_WAYPOINT_LABEL]: 'new' }],
    ['to another waypoint', { ...MESH, [USE_WAYPOINT_LABEL]: 'old' }, { ...MESH, [USE_WAYPOINT_LABEL]: 'new' }],
    [
      'to a waypoint of another namespace',
      { ...MESH, [USE_WAYPOINT_LABEL]: 'old' },
      { ...MESH, [USE_WAYPOINT_LABEL]: 'old', [USE_WAYPOINT_NAMESPACE_LABEL]: 'other' },
    ],
    ['away from a waypoint', { ...MESH, [USE_WAYPOINT_LABEL]: 'old' }, MESH],
  ])('policies of the application itself come before labels that lead %s', (_, before, labels) => {
    const needs = (kind: 'Service' | 'StatefulSet') =>
      plan({
        desired: { labels: { ...ASKED.labels, labels }, objects: [policy({}, pods)] },
        observed: {
          ...targets(labelled(kind, before)),
          owned: { kinds: [{ kind: 'AuthorizationPolicy', live: [policy({ name: 'former' }, pods)], library: [] }] },
        },
      }).operations[0]?.needs
    expect([needs('Service'), needs('StatefulSet')]).toEqual([
      ['apply AuthorizationPolicy shop/guard'],
      ['apply AuthorizationPolicy shop/guard'],
    ])
  })

  test('the first policies of pods come after their Service leads to the waypoint, as all others are closed out by them', () => {
    const service = { targetRefs: [{ group: '', kind: 'Service', name: 'web' }], action: 'ALLOW', rules: [] }
    const [atPods, atService] = [policy({}, pods), policy({ name: 'service' }, service)]
    const labels = { ...ASKED.labels, labels: { ...MESH, [USE_WAYPOINT_LABEL]: 'new' } }
    const situation = situationOf({
      ...{ desired: { labels, objects: [atPods, atService] } },
      observed: targets(labelled('Service', {}), WORKLOAD),
    })
    const order = orderOf(situation)
    const { operations } = planLabels(situation, order, NONE, false)
    const [led, joined] = ordered(situation, order, operations, [])
    expect(led).toMatchObject({ needs: ['apply AuthorizationPolicy shop/service'] })
    expect(joined?.needs).toContain('apply AuthorizationPolicy shop/guard')
  })

  test('policies of the application itself come before the removal of what the charm library set', () => {
    const inherited = { [USE_WAYPOINT_LABEL]: 'old' }
    const found = labelled('Service', inherited, 'juju')
    const { operations } = plan({
      state: { ...emptyState(), config: {}, libraryLabels: inherited },
      desired: { ...ASKED, objects: [policy({}, pods)] },
      observed: { targets: { current: [found], earlier: [], library: [{ kind: 'Service', name: 'web' }] } },
    })
    expect(operations[0]?.needs).toEqual(['apply AuthorizationPolicy shop/guard'])
  })

  test('policies of the application itself are not waited for where it leaves the mesh', () => {
    const { operations } = plan({
      desired: { objects: [policy({}, pods)] },
      observed: targets(labelled('StatefulSet', { ...MESH, [USE_WAYPOINT_LABEL]: 'old' })),
    })
    expect(operations[0]?.needs).toEqual([])
  })

  test('policies of the application itself are not waited for where it is on the mesh already', () => {
    const labels = { ...ASKED.labels, labels: { ...MESH, a: 'b' } }
    const { operations } = plan({
      desired: { labels, objects: [policy({}, pods)] },
      observed: targets(labelled('StatefulSet', MESH)),
    })
    expect(operations[0]?.needs).toEqual([])
  })
})
