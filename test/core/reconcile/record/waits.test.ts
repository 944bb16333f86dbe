import { describe, expect, test } from 'vitest'
import type { Conflict, Operation } from '../../../../src/core/reconcile/decide/operation.ts'
import { waitsForHolders } from '../../../../src/core/reconcile/record/held-by-others.ts'
import { offMeshWaits } from '../../../../src/core/reconcile/record/off-mesh.ts'
import { unlabelledWaits } from '../../../../src/core/reconcile/record/unlabelled-pods.ts'
import { beginnings, isDatedAnew, type WaitsInput, waitsOf } from '../../../../src/core/reconcile/record/waits.ts'
import { ENROLMENT_LABEL } from '../../../../src/core/relations/mesh-labels.ts'
import { resolveRelations } from '../../../../src/core/relations/resolve-relations.ts'
import { features } from '../../../../src/features.ts'
import { waitFor } from '../../../../src/platform/base/condition.ts'
import type { KubernetesObject, ManagedFields } from '../../../../src/platform/kubernetes/objects.ts'
import { isLeavingPods } from '../../../../src/platform/kubernetes/rollout.ts'
import { TOLD } from '../../../helpers/relations.ts'
import { entryOf, peersOf, stateOf } from '../../../helpers/states.ts'
import { NAMESPACE, SUBJECT } from '../../../helpers/world.ts'

const MESH = { [ENROLMENT_LABEL]: 'ambient' }
const NOW = new Date('2026-01-02T03:04:05.000Z')
const EARLIER = '2026-01-01T00:00:00.000Z'

const input = (changes: Partial<WaitsInput> = {}): WaitsInput => {
  const state = stateOf([])
  return {
    ...{ mesh: features.mesh, subject: SUBJECT, state, resolved: resolveRelations(SUBJECT, state, peersOf({})) },
    ...{
      peers: peersOf({}),
      plan: { waiting: [], conflicts: [] },
      unenforced: [],
      running: {},
      missing: [],
    },
    ...{
      desired: { waiting: [], labels: { labels: {}, unknown: [], required: false, messages: [] } },
      waitForPods: undefined,
    },
    ...changes,
  }
}

const messages = (changes: Partial<WaitsInput>): string[] => waitsOf(input(changes)).map(({ message }) => message)

const wait = (object: string) => waitFor(['a'], 'NotReady', object, object)

describe('the waits of an application', () => {
  test('the waits of an application are those of its plan, of the mesh, of its pods and of nobody else, with their beginnings', () => {
    const waits = waitsOf(
      input({
        ...{
          state: stateOf([], { waitingSince: { 'NotReady plan': EARLIER, 'NotReady mesh': EARLIER } }),
          waitForPods: wait('pods'),
        },
        ...{
          plan: { waiting: [wait('plan')], conflicts: [] },
          unenforced: [{ ...wait('mesh'), since: 'own' }],
        },
        unnoticed: [wait('unnoticed')],
      }),
    )
    expect(waits).toEqual([
      ...[{ ...wait('plan'), since: EARLIER }, { ...wait('mesh'), since: 'own' }, wait('pods'), wait('unnoticed')],
    ])
  })

  test('a wait that two parts of a step have is told once', () => {
    const plan = { waiting: [wait('a'), wait('b')], conflicts: [] }
    expect(messages({ plan, unnoticed: [wait('b'), wait('c')] })).toEqual(['a', 'b', 'c'])
  })

  test('the waits of an application name targets of its labels that do not exist', () => {
    expect(
      messages({
        missing: [
          { kind: 'Workload', name: 'web' },
          { kind: 'Service', name: 'web' },
          { kind: 'Deployment', name: 'a' },
        ],
      }),
    ).toEqual([
      'StatefulSet or Deployment shop/web does not exist: its labels are applied by the next pod-restarted',
      'Service shop/web does not exist: its labels are applied by the next event after it does; if there is to be none, set service to null in the config',
      'Deployment shop/a does not exist: its labels are applied by the next pod-restarted',
    ])
  })

  const operation = (changes: object) => ({ object: 'X shop/a', ...changes }) as Operation
  const due = (what: string) => `${what}: the next event of shop/web, or a resync, mends it`
  const place = (kind: string) => ({ object: { apiVersion: 'v1', kind, metadata: { name: 'a' } }, path: [] })

  test.each<[string, object, string[]]>([
    [
      'an object that is missing',
      { verb: 'apply', found: undefined },
      ['X shop/a is not there: the next event of shop/web, or a resync, mends it'],
    ],
    [
      'an object that differs',
      { verb: 'apply', found: {}, desired: { kind: 'AuthorizationPolicy' } },
      [due('X shop/a is not as desired')],
    ],
    ['an object that is stale', { verb: 'remove', found: {} }, [due('X shop/a is not desired any more')]],
    [
      'labels that are missing',
      { verb: 'label', place: place('Service'), difference: { apply: MESH } },
      [due('the labels of X shop/a are not as desired')],
    ],
    ['labels of a pod', { verb: 'label', place: place('Pod'), difference: { apply: MESH } }, []],
    ...(['label', 'release'] as const).map((verb): [string, object, string[]] => [
      `labels that go, by ${verb}`,
      { verb, place: place('Service'), difference: { remove: MESH } },
      [due('the labels of X shop/a are not as desired')],
    ]),
    ['a fence', { verb: 'touch', found: {} }, []],
  ])('the waits of an application for its next step are for %s', (_, changes, waits) => {
    expect(messages({ due: [operation(changes)] })).toEqual(waits)
  })
})

describe('the beginnings of waits', () => {
  test('the beginnings of waits are remembered, and new ones begin now unless they have a date of their own', () => {
    const waits = [wait('new'), wait('known'), { ...wait('own'), since: EARLIER }]
    expect(beginnings(waits, { 'NotReady known': EARLIER, 'NotReady over': EARLIER }, NOW)).toEqual({
      'NotReady known': EARLIER,
      'NotReady new': NOW.toISOString(),
    })
    expect(beginnings([{ ...wait('own'), since: EARLIER }], undefined, NOW)).toBeUndefined()
    const own = { 'NotReady own': EARLIER }
    expect(beginnings([{ ...wait('own'), since: NOW.toISOString() }], own, NOW)).toEqual(own)
  })

  test('the beginnings of a hundred waits are remembered, those that are known first', () => {
    const many = Array.from({ length: 100 }, (_, index) => wait(`new ${index}`))
    const kept = beginnings([...many, wait('known')], { 'NotReady known': EARLIER }, NOW) ?? {}
    expect([
      Object.keys(kept).length,
      kept['NotReady known'],
      kept['NotReady new 98'],
      kept['NotReady new 99'],
    ]).toEqual([...[100, EARLIER, NOW.toISOString(), undefined]])
  })

  test('the beginnings of waits are dated anew where one begins or ends', () => {
    const dated = (one: object | undefined, other: object | undefined) =>
      isDatedAnew(one as Record<string, string>, { waitingSince: other as Record<string, string> })
    expect(dated({ a: EARLIER }, { a: EARLIER })).toBe(false)
    expect(dated({ a: EARLIER }, {})).toBe(true)
    expect(dated({}, { a: EARLIER })).toBe(true)
    expect(dated({ a: EARLIER }, { a: NOW.toISOString() })).toBe(true)
    expect(dated(undefined, undefined)).toBe(false)
    expect(dated({ a: EARLIER, b: EARLIER }, { a: EARLIER })).toBe(true)
  })
})

const held = (what: string) => `kubectl holds ${what}: make it stop, or no longer request the key`

describe('what others hold', () => {
  const label = {
    object: 'Service shop/web',
    key: ENROLMENT_LABEL,
    manager: 'kubectl',
    value: 'none',
    wanted: 'ambient',
  }

  test.each<[string, Conflict, object[]]>([
    [
      'a label of the mesh is waited for',
      label,
      [
        {
          ...{ object: `label ${ENROLMENT_LABEL} of Service shop/web`, for: ['kubectl'] },
          message: `kubectl has set ${ENROLMENT_LABEL}=none on Service shop/web, and a relation asks for ambient: remove the label, and the next event or resync sets it`,
        },
      ],
    ],
    [
      'a label that is none of the mesh is waited for',
      { ...label, key: 'team' },
      [{ reason: 'LabelHeld', object: 'label team of Service shop/web', message: held('team on Service shop/web') }],
    ],
    [
      'a name is waited for',
      { object: 'ConfigMap shop/a', manager: 'kubectl' },
      [
        {
          ...{ object: 'ConfigMap shop/a', for: ['kubectl'] },
          message:
            'ConfigMap shop/a is held by kubectl, and has a name that meshstep needs: delete or rename it, and the next event or resync creates ours',
        },
      ],
    ],
    [
      'a field is waited for',
      { object: 'Gateway shop/a', manager: 'kubectl', key: 'spec' },
      [{ reason: 'FieldHeld', object: 'field spec of Gateway shop/a', message: held('spec on Gateway shop/a') }],
    ],
  ])('what others hold: %s', (_, conflict, waits) => {
    expect(waitsForHolders(SUBJECT, {}, [conflict])).toMatchObject(waits)
  })

  test('what the config of the application overrules is waited for', () => {
    expect(waitsForHolders(SUBJECT, { overruled: [{ key: 'a', value: 'b', wanted: 'c' }] }, [])).toMatchObject([
      {
        ...{ object: 'label a of shop/web', for: ['shop/web'] },
        message:
          'the config of shop/web sets a=b, and a relation asks for c: take the label out of the config, or end the relation',
      },
    ])
  })
})

const pod = (name: string, labels: Record<string, string> = {}, metadata: object = {}): KubernetesObject => ({
  ...{ apiVersion: 'v1', kind: 'Pod', metadata: { name, namespace: NAMESPACE, labels, ...metadata } },
})

const running = (spec: object = {}, labels: object = MESH, status: object = {}): KubernetesObject => ({
  ...{ apiVersion: 'apps/v1', kind: 'StatefulSet', metadata: { name: 'web', namespace: NAMESPACE } },
  spec: { replicas: 1, template: { metadata: { labels } }, ...spec },
  status: { availableReplicas: 1, updatedReplicas: 1, replicas: 1, ...status },
})

describe('pods that lack the labels of their template', () => {
  const told = (
    workload: KubernetesObject | undefined,
    pods: KubernetesObject[],
    unowned: KubernetesObject[] = [],
    desired: Record<string, string> = MESH,
  ) => unlabelledWaits(SUBJECT, { workload, pods, unowned }, desired)
  const LACKS = `pods of StatefulSet shop/web lack labels of its template, ${ENROLMENT_LABEL}=ambient, as`

  test.each<[string, KubernetesObject, string[]]>([
    ['it is paused', running({ paused: true }), [`${LACKS} it is paused (web-0): resume its rollout`]],
    [
      'it replaces none',
      running({ updateStrategy: { type: 'OnDelete' } }),
      [`${LACKS} its updateStrategy is OnDelete (web-0): delete them`],
    ],
    [
      'its partition spares them',
      running({ updateStrategy: { rollingUpdate: { partition: 1 } } }),
      [`${LACKS} its updateStrategy has the partition 1 (web-0): lower the partition`],
    ],
    [
      'its partition is zero, and it is replacing them',
      running({ updateStrategy: { rollingUpdate: { partition: 0 } } }, MESH, { updatedReplicas: 0 }),
      [],
    ],
    [
      'it has replaced them',
      running(),
      [
        `${LACKS} somebody has changed their labels (web-0): delete them; if new ones lack the labels as well, an admission webhook takes them off`,
      ],
    ],
    ['it is replacing them', running({}, MESH, { updatedReplicas: 0 }), []],
    ['its template lacks the labels too', running({ paused: true }, {}), []],
    ['its template has other values', running({ paused: true }, { [ENROLMENT_LABEL]: 'none' }), []],
  ])('pods that lack the labels of their template are waited for where %s', (_, workload, waits) => {
    expect(told(workload, [pod('web-0')]).map(({ message }) => message)).toEqual(waits)
  })

  test('pods that lack the labels of their template are counted from the first ordinal', () => {
    const workload = running({ ordinals: { start: 5 }, updateStrategy: { rollingUpdate: { partition: 1 } } }, MESH, {
      updatedReplicas: 0,
    })
    expect(
      told(
        workload,
        ['web-5', 'web-6'].map((name) => pod(name)),
      ),
    ).toMatchObject([{ for: ['Pod shop/web-5'] }])
  })

  test('pods that have the labels of their template are not waited for, and those with other values are', () => {
    expect(told(running({ paused: true }), [pod('web-0', MESH)])).toEqual([])
    expect(told(running({ paused: true }), [pod('web-0', { [ENROLMENT_LABEL]: 'none' })])).toHaveLength(1)
  })

  test('pods that nothing controls are waited for on their own', () => {
    const [one, other] = told(running({ paused: true }), [pod('web-0')], [pod('web-7')])
    expect(one?.message).toContain('it is paused (web-0)')
    expect(other?.message).toContain('no workload controls them (web-7): delete them, or give them the labels')
  })

  test('pods that lack the labels of their template are named in order, three of them', () => {
    const pods = ['web-3', 'web-1', 'web-2', 'web-0'].map((name) => pod(name))
    const [first] = told(running({ paused: true }), pods)
    expect(first).toMatchObject({ for: ['Pod shop/web-0', 'Pod shop/web-1', 'Pod shop/web-2'] })
    expect(first?.message).toContain('(web-0, web-1, web-2, 1 more)')
    expect(told(running({ paused: true }), pods.slice(1))[0]?.message).toContain('(web-0, web-1, web-2)')
  })

  test('pods that lack the labels of their template are waited for since the first came, or the labels were applied', () => {
    const applied = (manager: string, time: string): ManagedFields =>
      ({ manager, operation: 'Apply', time }) as ManagedFields
    const since = (...managedFields: ManagedFields[]) => {
      const workload = running({ paused: true })
      const created = ['2026-01-03T00:00:00Z', '2026-01-02T00:00:00Z'].map((creationTimestamp, index) =>
        pod(`web-${index}`, {}, { creationTimestamp }),
      )
      return told({ ...workload, metadata: { ...workload.metadata, managedFields } }, created)[0]?.since
    }
    expect(since()).toBe('2026-01-02T00:00:00Z')
    expect(since(applied('meshstep/web', '2026-01-04T00:00:00Z'))).toBe('2026-01-04T00:00:00Z')
    expect(since(applied('meshstep/web', '2026-01-01T00:00:00Z'))).toBe('2026-01-02T00:00:00Z')
    expect(since(applied('kubectl', '2026-01-04T00:00:00Z'))).toBe('2026-01-02T00:00:00Z')
    expect(told(running({ paused: true }), [pod('web-0')])[0]).not.toHaveProperty('since')
  })

  test('pods that are labelled in place lack what is desired', () => {
    expect(
      told(undefined, [pod('web-0'), pod('web-1', MESH), pod('web-2', { ...MESH, a: 'b' })], [], { ...MESH, a: 'b' }),
    ).toMatchObject([
      {
        ...{ object: 'Pod shop/web-0', for: ['Pod shop/web-0'] },
        message: `Pod shop/web-0 lacks labels, ${ENROLMENT_LABEL}, a: its pod-restarted, or a resync, sets them`,
      },
      {
        ...{ object: 'Pod shop/web-1', for: ['Pod shop/web-1'] },
        message: 'Pod shop/web-1 lacks labels, a: its pod-restarted, or a resync, sets them',
      },
    ])
  })

  test.each([
    [{ paused: true }, true],
    [{ updateStrategy: { type: 'OnDelete' } }, true],
    [{ updateStrategy: { rollingUpdate: { partition: 1 } } }, true],
    [{ updateStrategy: { type: 'RollingUpdate', rollingUpdate: { partition: 0 } } }, false],
    [{ paused: false }, false],
  ])('a workload with %j may keep pods of an earlier template: %s', (spec, isLeaving) => {
    expect(isLeavingPods(running(spec))).toBe(isLeaving)
  })
})

describe('pods that no label puts on the mesh', () => {
  const host = { template: { spec: { hostNetwork: true } } }
  const out = { template: { metadata: { labels: { [ENROLMENT_LABEL]: 'none' } } } }
  const HOST = expect.stringMatching(
    /^pods of StatefulSet shop\/web are off the mesh: they run in the network of their node/,
  )
  const OUT = `pods of StatefulSet shop/web are off the mesh: ${ENROLMENT_LABEL}=none keeps them out of the mesh of their namespace: take the label out of the config or the template`
  type Meant = Parameters<typeof offMeshWaits>[0]
  const relation = { ...entryOf(), remote: { application: 'beacon', data: {} }, ...TOLD, source: 'peer' as const }
  const off = (spec: object, changes: Partial<Meant> = {}, more: object = {}) =>
    offMeshWaits(
      { mesh: features.mesh, subject: SUBJECT, state: { relations: {} }, desired: { labels: {} }, ...changes },
      { workload: running(spec), ...more },
    ).map(({ message }) => message)
  const related = (more: object = {}) => ({ state: { relations: { one: { ...relation, ...more } } } })

  test('pods that no label puts on the mesh are told of where they are meant for it', () => {
    expect(off(host)).toEqual([])
    expect(off(host, { desired: { labels: MESH } })).toEqual([HOST])
    expect(off(host, { desired: { labels: { [ENROLMENT_LABEL]: 'none' } } })).toEqual([])
    expect(off(host, related())).toEqual([HOST])
    expect(off({}, related())).toEqual([])
  })

  test.each<[string, object]>([
    ['leaves', { standing: 'leaving' }],
    ['is unknown', { source: 'unknown' }],
    ['is not heard of by its beacon', { source: 'nobody' }],
    ['is that of the beacon', { role: 'provides' }],
    ['is of another interface', { interface: 'sql' }],
  ])('pods are not meant for the mesh by a relation that %s', (_, more) => {
    expect(off(host, related(more))).toEqual([])
  })

  test('pods that a label of their own keeps off the mesh are told of once', () => {
    expect(off(out, related())).toEqual([OUT])
    expect(off(out, { ...related(), desired: { labels: MESH } })).toEqual([])
    const overruled = [{ key: ENROLMENT_LABEL, value: 'none', wanted: 'ambient' }]
    expect(off(out, { ...related(), desired: { labels: {}, overruled } })).toEqual([])
    expect(off({ template: { metadata: { labels: MESH } } }, related())).toEqual([])
  })

  test('pods that no label puts on the mesh are found among all pods of the application', () => {
    const onHost = { ...pod('web-0'), spec: { hostNetwork: true } }
    expect(off({}, related(), { pods: [pod('web-1'), onHost] })).toEqual([HOST])
    expect(off({}, related(), { unowned: [onHost] })).toEqual([HOST])
    expect(off({}, related(), { workload: undefined, pods: [onHost] })[0]).toMatch(
      /^pods of shop\/web are off the mesh/,
    )
  })
})
