import { describe, expect, test } from 'vitest'
import type { Report } from '../../../../src/core/reconcile/apply/execute.ts'
import { driftOf } from '../../../../src/core/reconcile/decide/drift.ts'
import {
  idOf,
  isLabelOperation,
  isRelabelling,
  isReleasing,
  isRolling,
  type Operation,
  objectIn,
  type Plan,
} from '../../../../src/core/reconcile/decide/operation.ts'
import { dueIn } from '../../../../src/core/reconcile/decide/plan.ts'
import type { Found } from '../../../../src/core/reconcile/observe/units.ts'
import { finalMemory, withOwnedKinds, withRefusals } from '../../../../src/core/reconcile/record/final-memory.ts'
import type { Memory } from '../../../../src/core/state/memory.ts'
import type { State } from '../../../../src/core/state/state.ts'
import { features } from '../../../../src/features.ts'
import type { KubernetesObject } from '../../../../src/platform/kubernetes/objects.ts'
import { labelled, situationOf } from '../../../helpers/situations.ts'
import { stateOf } from '../../../helpers/states.ts'
import { NAMESPACE } from '../../../helpers/world.ts'

const MESH = { 'istio.io/dataplane-mode': 'ambient' }
const NOW = new Date('2026-01-02T03:04:05.000Z')
const EARLIER = '2026-01-01T00:00:00.000Z'

const labelling = (found: Found, difference: object, verb = 'label'): Operation => {
  const [place] = found.places ?? []
  if (place === undefined) throw new Error('no place')
  const object = `${place.object.kind} ${NAMESPACE}/${place.object.metadata.name}`
  const common = { id: `${verb} ${object}`, object, manager: 'meshstep/web', needs: [], reason: '' }
  return { ...common, verb, place, difference: { remove: {}, apply: undefined, ...difference } } as Operation
}

const object = (kind: string, name: string, more: Partial<KubernetesObject> = {}): KubernetesObject => ({
  ...{ apiVersion: 'v1', kind, metadata: { name, namespace: NAMESPACE }, ...more },
})

const applying = (desired: KubernetesObject, found?: KubernetesObject, more: object = {}): Operation =>
  ({
    ...{ id: `apply ${desired.kind} ${desired.metadata.name}`, manager: 'm', needs: [], reason: '' },
    ...{ object: `${desired.kind} ${NAMESPACE}/${desired.metadata.name}`, verb: 'apply', desired, found, ...more },
  }) as Operation

describe('the labels that a memory has after a step', () => {
  type Labelling = Parameters<typeof finalMemory>[3]
  const finalOf = (
    memory: Partial<Memory>,
    desired: Record<string, string>,
    changes: Partial<Labelling> = {},
    unknown: 'all' | string[] = [],
    state: Partial<State> = {},
  ) =>
    finalMemory(
      { state: stateOf([]), labels: {}, stored: undefined, ...memory },
      stateOf([], { config: {}, writeToken: 'a', awaiting: 'labels-applied', ...state }),
      situationOf({ desired: { labels: { labels: desired, unknown, required: false, messages: [] } } }).desired,
      {
        application: 'web',
        workload: labelled('StatefulSet', {}),
        isCarried: false,
        conflicts: [],
        failed: [],
        handedOn: {},
        ...changes,
      },
    )
  const labelsAfter = (...args: Parameters<typeof finalOf>) => finalOf(...args).labels
  const conflict = (key: string, name = 'StatefulSet shop/web') => [
    { object: name, key, manager: 'a', value: 'b', wanted: 'c' },
  ]

  test('the labels that a memory has after a step are the desired ones, without those that others hold on the workload', () => {
    expect(labelsAfter({ labels: { old: '1' } }, { ...MESH, a: 'b' })).toEqual({ ...MESH, a: 'b' })
    expect(labelsAfter({}, { ...MESH, a: 'b' }, { conflicts: conflict('a') })).toEqual(MESH)
    expect(labelsAfter({}, { ...MESH, a: 'b' }, { conflicts: conflict('a', 'Service shop/web') })).toEqual({
      ...MESH,
      a: 'b',
    })
    expect(labelsAfter({}, MESH, { conflicts: [{ object: 'StatefulSet shop/web', manager: 'a' }] })).toEqual(MESH)
  })

  test('the labels that a memory has after a step are those of before where it is unknown if they are desired', () => {
    expect(labelsAfter({ labels: { old: '1', other: '2' } }, MESH, {}, ['old'])).toEqual({ ...MESH, old: '1' })
    expect(labelsAfter({ labels: { old: '1' } }, MESH, {}, 'all')).toEqual({ ...MESH, old: '1' })
  })

  test('the labels that a memory has after a step are still those of before while they may be carried, or were handed on', () => {
    expect(labelsAfter({ labels: { old: '1' } }, MESH, { isCarried: true })).toEqual({ ...MESH, old: '1' })
    expect(labelsAfter({}, {}, { handedOn: { a: 'b' } })).toEqual({ a: 'b' })
  })

  test('the labels that a memory has after a step are those that are there where writing them failed', () => {
    const there = labelled('StatefulSet', { team: 'a' })
    const failed = [labelling(there, { apply: MESH })]
    expect(labelsAfter({ labels: { old: '1' } }, MESH, { workload: there, failed })).toEqual({ team: 'a' })
    const elsewhere = labelled('Service', { team: 'a', gone: 'b' })
    expect(labelsAfter({}, MESH, { failed: [labelling(elsewhere, { apply: { team: 'a' } })] })).toEqual({
      ...MESH,
      gone: 'b',
    })
    expect(labelsAfter({}, MESH, { failed: [labelling(elsewhere, { remove: { gone: 'b' } })] })).toEqual({
      ...MESH,
      gone: 'b',
    })
    expect(labelsAfter({}, MESH, { failed: [labelling(elsewhere, { apply: { team: 'b', gone: 'b' } })] })).toEqual({
      ...MESH,
      team: 'a',
    })
    const library = labelled('StatefulSet', { a: 'b', c: 'd' }, 'juju')
    expect(
      labelsAfter({}, {}, { workload: library, failed: [labelling(library, { remove: {} })] }, [], {
        libraryLabels: { a: 'b', c: 'x' },
      }),
    ).toEqual({ a: 'b' })
  })

  test('the inherited labels that a memory has after a step are those that are desired, unknown, or could not be removed', () => {
    const inherited = { a: 'b', c: 'd' }
    const left = (...args: Parameters<typeof finalOf>) =>
      finalOf(args[0], args[1], args[2], args[3], { libraryLabels: inherited }).state.libraryLabels
    expect(left({}, {})).toBeUndefined()
    expect(left({}, { a: 'b', c: 'other' })).toEqual({ a: 'b' })
    expect(left({}, {}, {}, ['c'])).toEqual({ c: 'd' })
    const workload = labelled('StatefulSet', {})
    expect(left({}, {}, { workload, failed: [labelling(workload, { remove: inherited })] })).toEqual(inherited)
  })

  test('a memory after a step has neither a token nor a wait, the kind of the workload, and the kinds that its config owns', () => {
    const state = (changes: Partial<State>, workload?: Found) => finalOf({}, {}, { workload }, [], changes).state
    expect(state({})).not.toHaveProperty('writeToken')
    expect(state({})).not.toHaveProperty('awaiting')
    const found = (kind: string, on?: 'pods'): Found => ({
      target: { kind: 'Workload', name: 'web', ...(on && { on }) },
      places: [{ object: object(kind, 'web'), path: [] }],
    })
    expect(state({}, found('Deployment')).workloadKind).toBe('Deployment')
    expect(state({ workloadKind: 'Deployment' }, found('StatefulSet'))).not.toHaveProperty('workloadKind')
    expect(state({ workloadKind: 'Deployment' }, found('StatefulSet', 'pods')).workloadKind).toBe('Deployment')
    expect(state({ workloadKind: 'Deployment' }, { ...found('StatefulSet'), places: undefined }).workloadKind).toBe(
      'Deployment',
    )
    expect(
      state({ workloadKind: 'Deployment' }, { ...found('StatefulSet'), target: { kind: 'StatefulSet', name: 'web' } })
        .workloadKind,
    ).toBe('Deployment')
  })
})

describe('refusals that are remembered', () => {
  const refused = (operation: Operation, reason: string | undefined = 'no'): Report => ({
    operation,
    isWritten: false,
    conflicts: [],
    ...(reason !== undefined && { refused: reason }),
  })
  const plan = (...problems: string[]) => ({ problems }) as unknown as Plan
  const remembered = (reports: Report[], problems: string[] = []) =>
    withRefusals(stateOf([], { refused: { old: 'no' } }), plan(...problems), reports)
  const MAP = applying(object('ConfigMap', 'a'))

  test('refusals that are remembered are those of the last step, and touches are none', () => {
    expect(remembered([])).toEqual(stateOf([]))
    expect(remembered([{ operation: MAP, isWritten: true, conflicts: [] }])).toEqual(stateOf([]))
    expect(remembered([refused({ ...MAP, verb: 'touch' } as Operation)])).toEqual(stateOf([]))
    expect(remembered([refused(MAP)], ['b: no: c']).refused).toEqual({ b: 'b: no: c', 'ConfigMap shop/a': 'no' })
  })

  test('refusals that are remembered are twenty, of 500 characters each', () => {
    const many = Array.from({ length: 21 }, (_, index) =>
      refused(applying(object('ConfigMap', `a${index}`)), 'x'.repeat(600)),
    )
    const objects: Record<string, string> = remembered(many).refused ?? {}
    expect([Object.keys(objects).length, objects['ConfigMap shop/a0']?.length]).toEqual([20, 500])
  })
})

test('kinds of an earlier config are remembered from now on, until the config has them again; those of a newer program stay', () => {
  const [GATEWAY, OTHER] = ['Gateway.gateway.networking.k8s.io', 'Other.example.com']
  const ownedAfter = (owned: State['owned'], config: object = {}) =>
    withOwnedKinds(features, stateOf([], { config: features.config.parse(config), owned }), stateOf([]), NOW).owned
  expect(ownedAfter({ [GATEWAY]: null, [OTHER]: null })).toEqual({ [GATEWAY]: NOW.toISOString(), [OTHER]: null })
  expect(ownedAfter({ [GATEWAY]: EARLIER })).toEqual({ [GATEWAY]: EARLIER })
  expect(ownedAfter({ [GATEWAY]: EARLIER }, { mesh: {} })).toMatchObject({ [GATEWAY]: null })
  expect(ownedAfter(undefined)).toBeUndefined()
})

describe('operations', () => {
  const one = (id: string, ...needs: string[]) => ({ id, needs }) as unknown as Operation
  const ids = (operations: readonly Operation[]) => operations.map(({ id }) => id)

  test('operations that depend on a failed one are left out, and those that depend on them', () => {
    const planned = { operations: [one('a'), one('b', 'a'), one('d', 'other'), one('c', 'b')], blocked: [] }
    expect(ids(dueIn(planned))).toEqual(['a', 'b', 'd', 'c'])
    expect(ids(dueIn(planned, ['a']))).toEqual(['d'])
    expect(ids(dueIn(planned, ['b']))).toEqual(['a', 'd'])
  })

  test('operations have the name of their verb and their object', () => {
    expect(idOf('apply', 'ConfigMap shop/a')).toBe('apply ConfigMap shop/a')
    expect(objectIn('apply ConfigMap shop/a')).toBe('ConfigMap shop/a')
  })

  test('operations restart pods where they write a workload or its template', () => {
    expect(['Deployment', 'StatefulSet', 'Service'].map((kind) => isRolling(applying(object(kind, 'a'))))).toEqual([
      true,
      true,
      false,
    ])
    expect(
      [labelled('StatefulSet', {}), labelled('Service', {})].map((found) => isRolling(labelling(found, {}))),
    ).toEqual([true, false])
    expect(isRolling({ ...one('a'), verb: 'touch' } as Operation)).toBe(false)
    expect(
      ['label', 'release', 'annotate'].map((verb) => isLabelOperation(labelling(labelled('Service', {}), {}, verb))),
    ).toEqual([true, true, false])
  })

  test('operations release labels where one of ours goes, and relabel where all of ours stay', () => {
    const found = labelled('Service', { a: '1', b: '2' })
    const of = (difference: object, verb?: string) => [
      isReleasing(labelling(found, difference, verb)),
      isRelabelling(labelling(found, difference, verb)),
    ]
    expect(of({ apply: { a: '1', b: '3' } })).toEqual([false, true])
    expect(of({ apply: { a: '1' } })).toEqual([true, false])
    expect(of({ apply: { a: '1', b: '2', c: '3' } })).toEqual([false, false])
    expect(of({ apply: { a: '1', b: '2' }, remove: { c: '3' } })).toEqual([true, false])
    expect(of({ remove: { c: '3' } })).toEqual([true, false])
    expect(of({})).toEqual([false, false])
    expect(of({ apply: { a: '1', b: '3' } }, 'release')).toEqual([false, false])
    expect(isReleasing(applying(object('Service', 'a')))).toBe(false)
  })
})

describe('the drift that an operation repairs', () => {
  test('the drift of labels is told for each of them', () => {
    const found = labelled('Service', { a: '1', b: '2', c: '3' })
    const name = { object: 'Service shop/web' }
    expect(driftOf(labelling(found, { apply: { a: '1', b: '9', d: '4' } }))).toEqual([
      ...[
        { ...name, label: 'b', was: '2', is: '9' },
        { ...name, label: 'd', is: '4' },
        { ...name, label: 'c', was: '3' },
      ],
    ])
    const library = labelled('Service', { a: '1' }, 'juju')
    expect(driftOf(labelling(library, { remove: { a: '1' } }))).toEqual([{ ...name, label: 'a', was: '1' }])
  })

  test('the drift of objects is told where one is missing, or is there too much', () => {
    expect(driftOf(applying(object('ConfigMap', 'a')))).toEqual([{ object: 'ConfigMap shop/a', is: 'there' }])
    expect(driftOf({ ...applying(object('ConfigMap', 'a')), verb: 'remove' } as Operation)).toEqual([
      { object: 'ConfigMap shop/a', was: 'there' },
    ])
    expect(
      ['touch', 'forget'].flatMap((verb) => driftOf({ ...applying(object('Secret', 'a')), verb } as Operation)),
    ).toEqual([])
  })

  test('the drift of fields is told at their deepest, and lists as a whole', () => {
    const service = (spec: Record<string, unknown>, labels: Record<string, string> = {}) => ({
      ...object('Service', 'a', { spec }),
      metadata: { name: 'a', namespace: NAMESPACE, labels },
    })
    const name = { object: 'Service shop/a' }
    expect(
      driftOf(
        applying(
          service({ a: { b: 1, c: 2 }, list: [1] }, { x: '1' }),
          service({ a: { b: 1, c: 3 }, list: [2], own: 1 }, { y: '2' }),
        ),
      ),
    ).toEqual([
      { ...name, field: 'metadata.labels.x', is: '1' },
      { ...name, field: 'spec.a.c', was: '3', is: '2' },
      { ...name, field: 'spec.list', was: '[2]', is: '[1]' },
    ])
    expect(driftOf(applying(service({ a: 1 }), service({ a: 'x'.repeat(201) })))[0]?.was).toBe(`${'x'.repeat(200)}…`)
    expect(driftOf(applying(service({ a: 1 }), service({ a: 'x'.repeat(200) })))[0]?.was).toHaveLength(200)
    const map = (value: string) => object('ConfigMap', 'a', { data: { a: value } })
    expect(driftOf(applying(map('1'), map('2')))).toMatchObject([{ was: 'another value', is: 'the desired one' }])
  })
})
