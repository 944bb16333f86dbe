import { describe, expect, test } from 'vitest'
import { orderOf } from '../../../../src/core/reconcile/decide/order.ts'
import { planTemplates } from '../../../../src/core/reconcile/decide/plan-templates.ts'
import { workloadManager } from '../../../../src/core/workload/objects.ts'
import { POD_LABELS } from '../../../../src/core/workload/pod-labels.ts'
import type { KubernetesObject } from '../../../../src/platform/kubernetes/objects.ts'
import { type Changes, labelled, situationOf } from '../../../helpers/situations.ts'
import { NAMESPACE } from '../../../helpers/world.ts'

const MESH = { 'istio.io/dataplane-mode': 'ambient' }

const workload = (
  labels: Record<string, string> | undefined = { app: 'web' },
  annotations?: Record<string, string>,
): KubernetesObject => ({
  ...{ apiVersion: 'apps/v1', kind: 'StatefulSet', metadata: { name: 'web', namespace: NAMESPACE } },
  spec: { template: { metadata: { labels, ...(annotations && { annotations }) } } },
})

const asking = (labels: Record<string, string>) => ({ labels: { labels, unknown: [], required: true, messages: [] } })

const NEW = { target: { kind: 'StatefulSet' as const, name: 'web' }, places: undefined }

const planned = (changes: Changes, failed: readonly string[] = []) => {
  const situation = situationOf(changes)
  const templates = planTemplates(situation, orderOf(situation), new Set(failed))
  const [object] = templates.objects
  return { ...templates, object, pods: (object?.spec?.template as { metadata?: object } | undefined)?.metadata }
}

const of = (
  current: typeof NEW | ReturnType<typeof labelled>,
  desired: Changes['desired'],
  objects = [workload()],
): Changes => ({
  ...{ desired: { objects, ...desired }, observed: { targets: { current: [current], earlier: [], library: [] } } },
})

describe('the template of a workload of its own', () => {
  test('the template of a workload of its own gets the desired labels, and lists those that its spec lacks', () => {
    const { pods, object, whole, releasing } = planned(of(NEW, asking({ ...MESH, app: 'web' })))
    expect(pods).toEqual({ labels: { app: 'web', ...MESH } })
    expect(object?.metadata.annotations).toEqual({ [POD_LABELS]: 'istio.io/dataplane-mode' })
    expect([...whole]).toEqual([['StatefulSet shop/web', []]])
    expect(releasing).toEqual([])
  })

  test('the template of a workload of its own lists added labels in order, and none where there are none', () => {
    expect(planned(of(NEW, asking({ b: '1', a: '2' }))).object?.metadata.annotations).toEqual({ [POD_LABELS]: 'a,b' })
    expect(planned(of(NEW, asking({}))).object?.metadata).not.toHaveProperty('annotations')
    expect(planned(of(NEW, asking({}))).pods).toEqual({ labels: { app: 'web' } })
  })

  test('the template of a workload of its own keeps the labels of its spec, which is a conflict once', () => {
    const { pods, conflicts } = planned(of(NEW, asking({ app: 'other' })))
    expect(pods).toEqual({ labels: { app: 'web' } })
    const conflict = {
      object: 'StatefulSet shop/web',
      key: 'app',
      manager: workloadManager('web'),
      value: 'web',
      wanted: 'other',
    }
    expect(conflicts).toEqual([conflict])
    expect(planned(of(labelled('StatefulSet', { app: 'web' }, 'kubectl'), asking({ app: 'other' }))).conflicts).toEqual(
      [conflict],
    )
    expect(
      planned(of(labelled('StatefulSet', { app: 'web' }, workloadManager('web')), asking({ app: 'web' }))).conflicts,
    ).toEqual([])
  })

  test('the template of a workload of its own conflicts with labels of others in the live one', () => {
    const { pods, conflicts } = planned(of(labelled('StatefulSet', { team: 'a' }, 'kubectl'), asking({ team: 'b' })))
    expect([pods, conflicts]).toEqual([
      { labels: { app: 'web' } },
      [{ object: 'StatefulSet shop/web', key: 'team', manager: 'kubectl', value: 'a', wanted: 'b' }],
    ])
  })

  test('a label of the former spec goes with that spec', () => {
    const { pods, conflicts } = planned(
      of(labelled('StatefulSet', { old: '1' }, workloadManager('web')), asking({ old: '2' })),
    )
    expect([pods, conflicts]).toEqual([{ labels: { app: 'web', old: '2' } }, []])
  })

  test('labels of a template that were written beside it are taken over, and those that are not desired leave', () => {
    const { pods, whole, releasing } = planned({
      ...of(labelled('StatefulSet', MESH), asking({})),
      heldLabels: MESH,
    })
    expect([pods, [...whole]]).toEqual([{ labels: { app: 'web' } }, [['StatefulSet shop/web', ['meshstep/web']]]])
    expect(releasing).toEqual(['apply StatefulSet shop/web'])
    for (const label of [labelled('StatefulSet', MESH), labelled('StatefulSet', { old: '1' })])
      expect(planned(of(label, asking(MESH))).releasing).toEqual([])
  })

  test('labels of a template stay while it is unknown if they are desired, also those that its former spec has too', () => {
    const unknown = { labels: { labels: {}, unknown: 'all' as const, required: false, messages: [] } }
    const found = labelled('StatefulSet', { team: 'a', app: 'web' })
    const [place] = found.places ?? []
    if (place === undefined) throw new Error('no place')
    const { managedFields = [] } = place.object.metadata
    const both = managedFields.flatMap((one) => [one, { ...one, manager: workloadManager('web') }])
    const object = { ...place.object, metadata: { ...place.object.metadata, managedFields: both } }
    const next = planned(of({ ...found, places: [{ ...place, object }] }, unknown))
    expect(next.pods).toEqual({ labels: { app: 'web', team: 'a' } })
    expect(next.object?.metadata.annotations).toEqual({ [POD_LABELS]: 'team' })
  })

  test('annotations of pods are merged into those of the spec', () => {
    const annotations = { labels: { hash: '1' }, unknown: [], inherited: {} }
    expect(planned(of(NEW, { ...asking({}), annotations }, [workload({ app: 'web' }, { a: 'b' })])).pods).toEqual({
      labels: { app: 'web' },
      annotations: { a: 'b', hash: '1' },
    })
    const other = { target: { kind: 'StatefulSet' as const, name: 'other' }, places: undefined }
    expect(planned(of(other, { ...asking(MESH), annotations })).pods).toEqual({ labels: { app: 'web' } })
  })

  test('the template of a workload is no target by its pods, its name alone, or another kind', () => {
    const targets = [
      { kind: 'StatefulSet', name: 'web', on: 'pods' },
      { kind: 'Deployment', name: 'web' },
      { kind: 'StatefulSet', name: 'db' },
    ] as const
    expect(
      targets.map((target) => planned(of({ target, places: undefined } as typeof NEW, asking(MESH))).pods),
    ).toEqual(targets.map(() => ({ labels: { app: 'web' } })))
  })

  test('a running workload whose write or guard failed keeps the labels that it has', () => {
    const running = labelled('StatefulSet', { team: 'a' })
    const failing = (failed: string[], current: typeof NEW | typeof running = running) =>
      planned(of(current, asking(MESH)), failed)
    expect(failing(['apply StatefulSet shop/web'])).toMatchObject({
      pods: { labels: { app: 'web' } },
      whole: new Map(),
    })
    expect(failing(['apply ConfigMap shop/web']).pods).toEqual({ labels: { app: 'web', ...MESH } })
    expect(failing(['apply StatefulSet shop/web'], NEW).pods).toEqual({ labels: { app: 'web', ...MESH } })
  })

  test('a running workload whose guard failed is not led to another waypoint, nor away from one', () => {
    const [led, other] = [
      { ...MESH, 'istio.io/use-waypoint': 'old' },
      { ...MESH, 'istio.io/use-waypoint': 'new' },
    ]
    const guard: KubernetesObject = {
      ...{ apiVersion: 'security.istio.io/v1', kind: 'AuthorizationPolicy' },
      metadata: { name: 'guard', namespace: NAMESPACE },
      spec: { selector: { matchLabels: { 'app.kubernetes.io/name': 'web' } }, action: 'ALLOW', rules: [] },
    }
    const next = (before: Record<string, string>, labels: Record<string, string>, failed: string[] = []) => {
      const changes = of(labelled('StatefulSet', before), asking(labels), [workload(), guard])
      const { whole, before: ids } = planned(changes, failed)
      return [whole.size, ids.get('StatefulSet shop/web')]
    }
    const failed = ['apply AuthorizationPolicy shop/guard']
    for (const [before, after] of [[MESH, led] as const, [led, other] as const, [led, MESH] as const])
      expect([next(before, after), next(before, after, failed)]).toEqual([
        [1, failed],
        [0, []],
      ])
    expect(next(led, led, failed)).toEqual([1, []])
    expect(next(led, {}, failed)).toEqual([1, []])
  })

  test('a running workload does not join while its Service is not led to the waypoint', () => {
    const led = { ...MESH, 'istio.io/use-waypoint': 'new' }
    const joining = (before: Record<string, string>, labels: Record<string, string>) => {
      const current = [labelled('StatefulSet', before), labelled('Service', {})]
      const changes = of(NEW, asking(labels))
      const observed = { targets: { current, earlier: [], library: [] } }
      return planned({ ...changes, observed }, ['label Service shop/web']).pods
    }
    expect(joining({}, led)).toEqual({ labels: { app: 'web' } })
    expect(joining({}, MESH)).toEqual({ labels: { app: 'web', ...MESH } })
    expect(joining(MESH, led)).toEqual({ labels: { app: 'web' } })
  })

  test('the live workload is found among owned objects, and what has its name', () => {
    const live = { ...labelled('StatefulSet', MESH).places?.[0]?.object, kind: 'StatefulSet' } as KubernetesObject
    const there = (changes: Changes) =>
      planned({ desired: { objects: [workload()] }, ...changes }).whole.get('StatefulSet shop/web')
    expect(there({ observed: { owned: { kinds: [{ kind: 'StatefulSet', live: [live], library: [] }] } } })).toEqual([
      'meshstep/web',
    ])
    expect(there({ namesakes: new Map([['StatefulSet shop/web', { object: live }]]) })).toEqual(['meshstep/web'])
    expect(there({ namesakes: new Map([['StatefulSet shop/web', { problem: 'no' }]]) })).toEqual([])
    expect(there({})).toEqual([])
  })

  test('objects that are no workloads stay as they are', () => {
    const map: KubernetesObject = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'a', namespace: NAMESPACE } }
    expect(planned(of(NEW, asking(MESH), [map]))).toMatchObject({
      objects: [map],
      whole: new Map(),
    })
  })
})
