import { describe, expect, test } from 'vitest'
import { REQUESTED_BY } from '../../../../src/core/policies/requested-by.ts'
import type { Operation, Plan } from '../../../../src/core/reconcile/decide/operation.ts'
import { NOTHING_FAILED, plan } from '../../../../src/core/reconcile/decide/plan.ts'
import type { Listed } from '../../../../src/core/reconcile/observe/cluster.ts'
import { configWait } from '../../../../src/core/relations/unknown.ts'
import { emptyState } from '../../../../src/core/state/state.ts'
import { features } from '../../../../src/features.ts'
import { waitFor } from '../../../../src/platform/base/condition.ts'
import { type KubernetesObject, objectKey } from '../../../../src/platform/kubernetes/objects.ts'
import { ownerLabels } from '../../../../src/platform/kubernetes/ownership-labels.ts'
import { type Changes, labelled, owned, situationOf } from '../../../helpers/situations.ts'
import { NAMESPACE, SUBJECT } from '../../../helpers/world.ts'

const API_VERSIONS: Readonly<Record<string, string>> = {
  ...{ AuthorizationPolicy: 'security.istio.io/v1', Deployment: 'apps/v1', StatefulSet: 'apps/v1' },
  PodDisruptionBudget: 'policy/v1',
}

const desired = (
  kind: string,
  name: string,
  more: Partial<KubernetesObject> = {},
  metadata = {},
): KubernetesObject => ({
  ...{ apiVersion: API_VERSIONS[kind] ?? 'v1', kind },
  metadata: { name, namespace: NAMESPACE, labels: ownerLabels(SUBJECT), ...metadata },
  ...more,
})

const live = (kind: string, name: string, more: Partial<KubernetesObject> = {}, metadata = {}): KubernetesObject =>
  owned(desired(kind, name, more, { uid: name, resourceVersion: '1', ...metadata }))

/** What is there of each kind, where each kind is listed. */
const kinds = (...objects: KubernetesObject[]): Listed[] =>
  [...new Set(['AuthorizationPolicy', 'ConfigMap', 'Service', 'StatefulSet', 'Deployment', 'Gateway'])].map((kind) => ({
    kind: kind as Listed['kind'],
    live: objects.filter((object) => object.kind === kind),
    library: [],
  }))

const planned = (changes: Changes, failed: ReadonlySet<string> = NOTHING_FAILED) =>
  plan({ situation: situationOf(changes), failed })

/** The writes in their order, with a bar before those that wait until the targets and the pods are observed again. */
const shown = ({ operations, early }: Pick<Plan, 'operations' | 'early'>): string[] =>
  ids(operations).toSpliced(early, 0, '|')

const ids = (operations: readonly Operation[]): string[] => operations.map(({ id }) => id)

const afterOf = (operations: readonly Operation[], id: string): readonly string[] | undefined =>
  operations.find((one) => one.id === id)?.needs

const there = (...objects: KubernetesObject[]): Changes['observed'] => ({ owned: { kinds: kinds(...objects) } })

const PODS = { metadata: { labels: { app: 'web' } }, spec: { containers: [] } }
const workload = (name = 'web', kind = 'StatefulSet') => desired(kind, name, { spec: { template: PODS } })

const policy = (name: string, spec: Record<string, unknown>, metadata = {}) =>
  desired('AuthorizationPolicy', name, { spec }, metadata)
const guard = (name: string, service = 'web', action = 'ALLOW') =>
  policy(name, { targetRefs: [{ group: '', kind: 'Service', name: service }], action, rules: [] })
const denying = (name: string) => policy(name, { action: 'ALLOW' })

describe('objects that are desired', () => {
  test('objects that are desired are created, or applied where they differ, and left as they are where they are the same', () => {
    const [one, two, three] = [
      desired('ConfigMap', 'a'),
      desired('ConfigMap', 'b', { data: { a: 'b' } }),
      desired('ConfigMap', 'c'),
    ]
    const { problems, waiting, ...rest } = planned({
      ...{ desired: { objects: [one, two, three] }, observed: there(live('ConfigMap', 'a'), live('ConfigMap', 'b')) },
    })
    expect(shown(rest)).toEqual(['apply ConfigMap shop/b', 'apply ConfigMap shop/c', '|'])
    expect(rest.operations.map(({ reason }) => reason)).toEqual(['it is not as it is desired', 'it is desired'])
    expect([problems, waiting]).toEqual([[], []])
  })

  test('objects that are desired are written in the order of their kind, and files before pods', () => {
    const objects = [
      denying('deny'),
      workload(),
      desired('Service', 'web'),
      guard('allow'),
      desired('ConfigMap', 'file'),
    ]
    expect(shown(planned({ desired: { objects }, observed: there() }))).toEqual([
      'apply AuthorizationPolicy shop/allow',
      'apply ConfigMap shop/file',
      'apply StatefulSet shop/web',
      'apply Service shop/web',
      '|',
      'apply AuthorizationPolicy shop/deny',
    ])
  })

  test('objects that are desired beside a workload are written with it', () => {
    const objects = [desired('PodDisruptionBudget', 'web'), desired('Secret', 'web')]
    const listed: Listed[] = (['PodDisruptionBudget', 'Secret'] as const).map((kind) => ({
      kind,
      live: [],
      library: [],
    }))
    expect(shown(planned({ desired: { objects }, observed: { owned: { kinds: listed } } }))).toEqual([
      ...['apply Secret shop/web', 'apply PodDisruptionBudget shop/web', '|'],
    ])
  })

  test('objects that are desired wait for a kind that the API server does not know, or may not be listed', () => {
    const objects = [desired('ConfigMap', 'a'), guard('allow'), desired('Gateway', 'a'), desired('Gateway', 'b')]
    const unknown: Listed[] = [
      { kind: 'ConfigMap', live: undefined, library: [], problem: 'ConfigMap: no' },
      { kind: 'AuthorizationPolicy', live: undefined, library: [] },
      { kind: 'Gateway', live: undefined, library: [] },
      { kind: 'HorizontalPodAutoscaler', live: undefined, library: [] },
    ]
    const { operations, problems, waiting, blocked } = planned({
      desired: { objects },
      observed: { owned: { kinds: unknown } },
    })
    expect([operations, problems]).toEqual([[], ['ConfigMap: no']])
    expect(blocked.map(({ object }) => objectKey(object))).toEqual(objects.map(objectKey))
    expect(waiting.map(({ object, message }) => [object, message])).toEqual([
      [
        'AuthorizationPolicy objects',
        'the API server does not know the kind AuthorizationPolicy: install Istio; the next event after that applies 1',
      ],
      [
        'Gateway objects',
        'the API server does not know the kind Gateway: install the Gateway API; the next event after that applies 2',
      ],
    ])
    const old: Listed[] = [{ kind: 'PodDisruptionBudget', live: undefined, library: [] }]
    const budget = planned({
      desired: { objects: [desired('PodDisruptionBudget', 'a')] },
      observed: { owned: { kinds: old } },
    })
    expect(budget.waiting[0]?.message).toContain('PodDisruptionBudget: it is too old; ')
  })

  const namesake = (object: KubernetesObject | undefined) => ({
    namesakes: new Map([['ConfigMap shop/a', { object }]]),
    desired: { objects: [desired('ConfigMap', 'a')] },
    observed: there(),
  })

  test('objects that are desired are not written over those of somebody else with their name', () => {
    const foreign = desired('ConfigMap', 'a', {}, { managedFields: [{ manager: 'kubectl', operation: 'Update' }] })
    const { operations, conflicts, blocked, problems } = planned(namesake(foreign))
    expect([operations, problems]).toEqual([[], []])
    expect(conflicts).toEqual([{ object: 'ConfigMap shop/a', manager: 'kubectl' }])
    expect(blocked).toHaveLength(1)
  })

  test('objects that are desired are written over our own with their name, unless a namesake in another namespace wrote them', () => {
    expect(ids(planned(namesake(live('ConfigMap', 'a'))).operations)).toEqual(['apply ConfigMap shop/a'])
    const labels = { ...ownerLabels(SUBJECT), 'meshstep.dev/namespace': 'other' }
    const theirs = live('ConfigMap', 'a')
    const other = { ...theirs, metadata: { ...theirs.metadata, labels } }
    expect(planned(namesake(other))).toMatchObject({ operations: [], conflicts: [{ object: 'ConfigMap shop/a' }] })
    expect(ids(planned(namesake(undefined)).operations)).toEqual(['apply ConfigMap shop/a'])
  })

  test('objects that are desired are not written where what has their name may not be read', () => {
    const changes = { ...namesake(undefined), namesakes: new Map([['ConfigMap shop/a', { problem: 'a: no' }]]) }
    expect(planned(changes)).toMatchObject({ operations: [], problems: ['a: no'], conflicts: [], blocked: [{}] })
  })
})

describe('the order of writes', () => {
  test('the order of writes has the objects of a workload one after another, and its files first', () => {
    const objects = [desired('ServiceAccount', 'web'), workload(), desired('Service', 'web')]
    const all = [...kinds(), { kind: 'ServiceAccount' as const, live: [], library: [] }]
    const { operations } = planned({ desired: { objects }, observed: { owned: { kinds: all } } })
    expect(afterOf(operations, 'apply ServiceAccount shop/web')).toEqual([])
    expect(afterOf(operations, 'apply StatefulSet shop/web')).toEqual(['apply ServiceAccount shop/web'])
    expect(afterOf(operations, 'apply Service shop/web')).toEqual([
      ...['apply ServiceAccount shop/web', 'apply StatefulSet shop/web'],
    ])
  })

  const mounting = (configMaps: object | undefined, secrets?: object) => ({
    state: {
      ...emptyState(),
      config: features.config.parse({
        workload: {
          podSpec: { containers: [{ name: 'c', image: 'x:1' }] },
          ...(configMaps && { configMaps }),
          ...(secrets && { secrets }),
        },
      }),
    },
    desired: { objects: [desired('ConfigMap', 'mine'), desired('ConfigMap', 'other'), workload()] },
    observed: there(),
  })

  test('the order of writes has the files before the pods that mount them, or are told of them', () => {
    expect(afterOf(planned(mounting({ mine: { a: 'b' } })).operations, 'apply StatefulSet shop/web')).toEqual([
      'apply ConfigMap shop/mine',
    ])
    expect(afterOf(planned(mounting(undefined)).operations, 'apply StatefulSet shop/web')).toEqual([])
    const told = mounting(undefined)
    const annotations = { labels: { hash: '1' }, unknown: [], inherited: {} }
    const { operations } = planned({ ...told, desired: { ...told.desired, annotations } })
    expect(afterOf(operations, 'apply StatefulSet shop/web')).toEqual([
      'apply ConfigMap shop/mine',
      'apply ConfigMap shop/other',
    ])
  })

  test('the order of writes has what allows before what denies everything else, where that is new', () => {
    const annotations = { [REQUESTED_BY]: 'relation 1 (a) of shop/db' }
    const requested = policy('requested', guard('requested', 'db').spec ?? {}, { annotations })
    const objects = [denying('deny'), guard('allow'), requested]
    const { operations } = planned({ desired: { objects }, observed: there() })
    expect(afterOf(operations, 'apply AuthorizationPolicy shop/deny')).toEqual(['apply AuthorizationPolicy shop/allow'])
    expect(afterOf(operations, 'apply AuthorizationPolicy shop/requested')).toEqual([])
    const changed = planned({ desired: { objects }, observed: there(live('AuthorizationPolicy', 'deny')) })
    expect(afterOf(changed.operations, 'apply AuthorizationPolicy shop/deny')).toEqual([])
  })

  test('the order of writes has what allows something to everybody at once', () => {
    const everybody = policy('everybody', { action: 'ALLOW', rules: [{}] })
    const { operations } = planned({ desired: { objects: [everybody, guard('allow')] }, observed: there() })
    expect(afterOf(operations, 'apply AuthorizationPolicy shop/everybody')).toEqual([])
  })

  test('the order of writes has the own guards before pods that join the mesh, and before no others', () => {
    const mesh = { 'istio.io/dataplane-mode': 'ambient' }
    const needed = (labels: Record<string, string>) => {
      const { operations } = planned({
        desired: {
          ...{ objects: [guard('own'), guard('other', 'db'), workload()] },
          labels: { labels: mesh, unknown: [], required: true, messages: [] },
        },
        observed: { ...there(), targets: { current: [labelled('StatefulSet', labels)], earlier: [], library: [] } },
      })
      return afterOf(operations, 'apply StatefulSet shop/web')
    }
    expect([needed({}), needed(mesh)]).toEqual([['apply AuthorizationPolicy shop/own'], []])
  })

  test('the order of writes narrows the own guards after the labels are gone', () => {
    const mesh = { 'istio.io/dataplane-mode': 'ambient' }
    const changes = {
      heldLabels: mesh,
      desired: { objects: [guard('own'), guard('other', 'db')] },
      observed: {
        ...{ owned: { kinds: kinds(live('AuthorizationPolicy', 'own'), live('AuthorizationPolicy', 'other')) } },
        targets: { current: [labelled('StatefulSet', mesh)], earlier: [], library: [] },
      },
    }
    const { operations } = planned(changes)
    expect(ids(operations)).toEqual([
      ...['label StatefulSet shop/web', 'apply AuthorizationPolicy shop/own', 'apply AuthorizationPolicy shop/other'],
    ])
    expect(afterOf(operations, 'apply AuthorizationPolicy shop/own')).toEqual(['label StatefulSet shop/web'])
    expect(afterOf(operations, 'apply AuthorizationPolicy shop/other')).toEqual([])
  })

  const MESH = { 'istio.io/dataplane-mode': 'ambient' }
  const asking = (labels: Record<string, string>) => ({ labels, unknown: [], required: true, messages: [] })
  const letsIn = policy('lets-in', { targetRefs: [{ group: '', kind: 'Service', name: 'db' }], rules: [{}] })

  test('the order of writes is that in which a plan lists them', () => {
    const objects = [denying('deny'), workload(), guard('allow', 'db')]
    const kept = live('AuthorizationPolicy', 'kept', { spec: guard('kept', 'db').spec ?? {} })
    const changes = {
      desired: { objects, labels: asking(MESH), unknownRequests: ['AuthorizationPolicy shop/kept'] },
      observed: {
        ...there(kept, live('ConfigMap', 'stale')),
        targets: { current: [labelled('StatefulSet', MESH), labelled('Service', {})], earlier: [], library: [] },
      },
      fence: 't',
    }
    expect(shown(planned(changes))).toEqual([
      ...['touch AuthorizationPolicy shop/kept', 'apply AuthorizationPolicy shop/allow', 'apply StatefulSet shop/web'],
      ...['|', 'label Service shop/web', 'apply AuthorizationPolicy shop/deny', 'remove ConfigMap shop/stale'],
    ])
  })

  test('the order of writes has labels that leave before what lets in, and with them a workload whose pods leave', () => {
    const [allow, run] = ['apply AuthorizationPolicy shop/lets-in', 'apply StatefulSet shop/web']
    const [label, inNamespace] = ['label Service shop/web', 'label Namespace shop']
    const writes = (held: Record<string, string>, pods: Record<string, string>, more: Changes = {}, service = MESH) => {
      const current = [labelled('StatefulSet', pods), labelled('Service', service)]
      const targets = { current, earlier: [], library: [] }
      const [place] = labelled('Service', MESH).places ?? []
      if (place === undefined) throw new Error('no place')
      const { namespace: _, ...metadata } = place.object.metadata
      const object = { apiVersion: 'v1', kind: 'Namespace', metadata: { ...metadata, name: NAMESPACE } }
      return shown(
        planned({
          ...{ heldLabels: held, ...more, desired: { objects: [letsIn, workload()], ...more.desired } },
          observed: { targets, owned: { kinds: kinds(), namespace: { object } } },
        }),
      )
    }
    expect(writes(MESH, MESH)).toEqual([label, run, allow, '|', inNamespace])
    expect(writes({}, MESH)).toEqual([allow, run, '|', label, inNamespace])
    expect(writes(MESH, {})).toEqual([label, allow, run, '|', inNamespace])
    const waitForPods = waitFor([], 'PodsOnMesh', 'pods', '')
    expect(writes({}, {}, { waitForPods })).toEqual([allow, run, '|', inNamespace])
    expect(writes({}, MESH, { waitForPods })).toEqual([run, allow, '|', inNamespace])
    const fewer = { ...MESH, a: 'b' }
    expect(writes(fewer, fewer, { desired: { labels: asking(MESH) } }, fewer)).toEqual([
      ...[allow, run, '|', label, inNamespace],
    ])
  })

  test('the order of writes has touches before labels, also before one that comes early', () => {
    const labels = asking({ ...MESH, 'istio.io/use-waypoint': 'waypoint' })
    const pods = policy('pods', { selector: { matchLabels: { 'app.kubernetes.io/name': 'web' } }, rules: [{}] })
    const kept = live('AuthorizationPolicy', 'kept', { spec: guard('kept').spec ?? {} })
    const current = [labelled('StatefulSet', {}), labelled('Service', {})]
    const joining = planned({
      desired: { objects: [pods], labels, unknownRequests: ['AuthorizationPolicy shop/kept'] },
      observed: { ...there(kept), targets: { current, earlier: [], library: [] } },
      fence: 't',
    })
    expect(shown(joining)).toEqual([
      ...['touch AuthorizationPolicy shop/kept', 'label Service shop/web', 'apply AuthorizationPolicy shop/pods'],
      ...['|', 'label StatefulSet shop/web'],
    ])
  })

  test('the order of writes does not wait for an object of a workload that somebody else has', () => {
    const account = desired('ServiceAccount', 'web')
    const all = [...kinds(), { kind: 'ServiceAccount' as const, live: [], library: [] }]
    const { operations } = planned({
      ...{ desired: { objects: [account, workload()] }, observed: { owned: { kinds: all } } },
      namesakes: new Map([['ServiceAccount shop/web', { object: account }]]),
    })
    expect(operations).toMatchObject([{ id: 'apply StatefulSet shop/web', needs: [] }])
  })

  test('the order of writes puts no pods on the mesh whose guard has the name of a policy of somebody else', () => {
    const mesh = { 'istio.io/dataplane-mode': 'ambient' }
    const joining = (namesakes: Changes['namesakes']) => {
      const { operations } = planned({
        ...(namesakes && { namesakes }),
        desired: {
          ...{ objects: [guard('own'), workload()] },
          labels: { labels: mesh, unknown: [], required: true, messages: [] },
        },
        observed: { ...there(), targets: { current: [labelled('StatefulSet', {})], earlier: [], library: [] } },
      })
      return JSON.stringify(operations.flatMap((one) => (one.verb === 'apply' ? one.desired : []))).includes('ambient')
    }
    expect(joining(undefined)).toBe(true)
    expect(joining(new Map([['AuthorizationPolicy shop/own', { object: guard('own') }]]))).toBe(false)
  })

  test('the order of writes puts no pods on the mesh whose Service is not led to the waypoint before', () => {
    const labels = { 'istio.io/dataplane-mode': 'ambient', 'istio.io/use-waypoint': 'waypoint' }
    const joining = planned({
      desired: { objects: [workload()], labels: { labels, unknown: [], required: true, messages: [] } },
      observed: {
        ...there(),
        targets: { current: [labelled('StatefulSet', {}), labelled('Service', {})], earlier: [], library: [] },
      },
    })
    expect(shown(joining)).toEqual(['label Service shop/web', 'apply StatefulSet shop/web', '|'])
    expect(afterOf(joining.operations, 'apply StatefulSet shop/web')).toEqual(['label Service shop/web'])
  })

  test('the order of writes has own policies that deny before the pods that join after them, and both early', () => {
    const labels = { 'istio.io/dataplane-mode': 'ambient' }
    const joining = planned({
      desired: {
        objects: [guard('deny', 'web', 'DENY'), workload()],
        labels: { labels, unknown: [], required: true, messages: [] },
      },
      observed: { ...there(), targets: { current: [labelled('StatefulSet', {})], earlier: [], library: [] } },
    })
    expect(shown(joining)).toEqual(['apply AuthorizationPolicy shop/deny', 'apply StatefulSet shop/web', '|'])
  })

  test('the order of writes leaves out what depends on a failed write, and what depends on that', () => {
    const objects = [desired('ServiceAccount', 'web'), workload(), desired('Service', 'web'), desired('ConfigMap', 'a')]
    const all = [...kinds(), { kind: 'ServiceAccount' as const, live: [], library: [] }]
    const changes = { desired: { objects }, observed: { owned: { kinds: all } } }
    expect(ids(planned(changes).operations)).toHaveLength(4)
    const mesh = { 'istio.io/dataplane-mode': 'ambient' }
    const labels = { labels: mesh, unknown: [], required: true, messages: [] }
    const running = { ...labelled('StatefulSet', {}), target: { kind: 'StatefulSet' as const, name: 'web' } }
    const failing = {
      ...changes,
      desired: { objects, labels },
      observed: { ...changes.observed, targets: { current: [running], earlier: [], library: [] } },
    }
    const template = (failed: ReadonlySet<string>) => {
      const found = planned(failing, failed).operations.find(({ id }) => id === 'apply StatefulSet shop/web')
      const { spec } = found?.verb === 'apply' ? found.desired : {}
      return (spec?.template as typeof PODS | undefined)?.metadata.labels
    }
    expect(template(NOTHING_FAILED)).toEqual({ app: 'web', ...mesh })
    expect(template(new Set(['apply ServiceAccount shop/web']))).toEqual({ app: 'web' })
  })
})

describe('objects that are not desired any more', () => {
  const stale = [live('ConfigMap', 'a'), live('ConfigMap', 'b'), live('ConfigMap', 'c'), live('ConfigMap', 'd')]

  test('objects that are not desired any more are removed, if they are ours', () => {
    expect(shown(planned({ observed: there(stale[0] ?? live('ConfigMap', 'a')) }))).toEqual([
      ...['|', 'remove ConfigMap shop/a'],
    ])
    const copy = desired('ConfigMap', 'a', {}, { managedFields: [{ manager: 'meshstep/web', operation: 'Apply' }] })
    expect(planned({ observed: there(copy) }).operations).toEqual([])
  })

  test('objects that are not desired any more are kept for the consumers, of which three are named', () => {
    const kept = (...objects: KubernetesObject[]) =>
      planned({ keptFor: ['shop/db', 'shop/api'], observed: there(...objects) })
    const { operations, waiting, awaiting } = kept(...stale)
    expect([operations, awaiting]).toEqual([[], 'labels-removed'])
    const names = 'ConfigMap shop/a, ConfigMap shop/b, ConfigMap shop/c, 1 more'
    expect(waiting).toMatchObject([
      {
        ...{ object: names, for: ['shop/db', 'shop/api'] },
        message: `${names}: not desired any more, and kept until no application carries its labels: waiting for shop/db, shop/api`,
      },
    ])
    expect(kept(...stale.slice(1)).waiting[0]?.object).toBe('ConfigMap shop/b, ConfigMap shop/c, ConfigMap shop/d')
    expect(kept()).toMatchObject({ waiting: [], awaiting: undefined })
  })

  test('objects that are not desired any more are kept for nobody if they are Secrets, which no consumer needs', () => {
    const kinds: Listed[] = [{ kind: 'Secret', live: [live('Secret', 'a')], library: [] }]
    const waitForPods = waitFor([], 'PodsOnMesh', 'pods', 'pods')
    for (const why of [{ keptFor: ['shop/db'] }, { waitForPods }]) {
      const { operations, waiting, awaiting } = planned({ ...why, observed: { owned: { kinds } } })
      expect([ids(operations), waiting, awaiting]).toEqual([['remove Secret shop/a'], [], undefined])
    }
  })

  test('objects that are not desired any more are kept while pods leave, without a wait of their own, and workloads go', () => {
    const waitForPods = waitFor([], 'PodsOnMesh', 'pods', 'pods')
    const { operations, waiting } = planned({
      waitForPods,
      observed: there(live('ConfigMap', 'a'), live('StatefulSet', 'web')),
    })
    expect([ids(operations), waiting]).toEqual([['remove StatefulSet shop/web'], []])
  })

  test('objects that are not desired any more, or changed, stay while the requests for them are unknown', () => {
    const requester = 'relation 1 (service-mesh) of shop/db'
    const annotations = { [REQUESTED_BY]: requester }
    const asked = live('AuthorizationPolicy', 'asked', { spec: { rules: [] } }, { annotations })
    const changes = {
      observed: there(asked),
      desired: { unknownRequests: [requester], objects: [policy('asked', { rules: [{}] }), guard('new')] },
    }
    expect(ids(planned(changes).operations)).toEqual(['apply AuthorizationPolicy shop/new'])
    expect(ids(planned({ ...changes, desired: { objects: [], unknownRequests: [requester] } }).operations)).toEqual([])
    expect(
      ids(
        planned({ ...changes, desired: { objects: [], unknownRequests: ['AuthorizationPolicy shop/asked'] } })
          .operations,
      ),
    ).toEqual([])
    expect(ids(planned({ ...changes, desired: { objects: [] } }).operations)).toEqual([
      'remove AuthorizationPolicy shop/asked',
    ])
  })

  test('objects that are not desired any more go after their replacements, and the denying ones first', () => {
    const replacing = planned({
      desired: { objects: [guard('new')] },
      observed: there(
        live('AuthorizationPolicy', 'old', { spec: guard('old').spec ?? {} }),
        live('AuthorizationPolicy', 'other', { spec: guard('other', 'db').spec ?? {} }),
        live('AuthorizationPolicy', 'deny', { spec: denying('deny').spec ?? {} }),
      ),
    })
    const { operations } = replacing
    expect(shown(replacing)).toEqual([
      'apply AuthorizationPolicy shop/new',
      'remove AuthorizationPolicy shop/deny',
      '|',
      'remove AuthorizationPolicy shop/old',
      'remove AuthorizationPolicy shop/other',
    ])
    const [added, deny] = ['apply AuthorizationPolicy shop/new', 'remove AuthorizationPolicy shop/deny']
    expect(afterOf(operations, deny)).toEqual([added])
    expect(afterOf(operations, 'remove AuthorizationPolicy shop/old')).toEqual([added, deny])
    expect(afterOf(operations, 'remove AuthorizationPolicy shop/other')).toEqual([deny])
  })

  test('policies of one target that let in go one by one only behind one that lets in for all: a policy that denies does not take their place', () => {
    const letting = (name: string, principal: string) => {
      const spec = { ...guard(name).spec, rules: [{ from: [{ source: { principals: [principal] } }] }] }
      return live('AuthorizationPolicy', name, { spec })
    }
    const observed = there(letting('one', 'a'), letting('two', 'b'))
    const stale = (...objects: KubernetesObject[]) => ids(planned({ desired: { objects }, observed }).operations)
    const widened = ['widen AuthorizationPolicy shop/one', 'remove AuthorizationPolicy shop/two']
    expect(stale()).toEqual([...widened, 'remove AuthorizationPolicy shop/one'])
    expect(stale(guard('deny', 'web', 'DENY'))).toEqual([
      ...['apply AuthorizationPolicy shop/deny', ...widened],
      'remove AuthorizationPolicy shop/one',
    ])
    expect(stale(guard('next'))).not.toContain(widened[0])
  })

  test('a workload that is not desired any more goes after the one that takes its place', () => {
    const { operations } = planned({
      desired: { objects: [workload('web', 'Deployment')] },
      observed: there(live('StatefulSet', 'web')),
    })
    expect(afterOf(operations, 'remove StatefulSet shop/web')).toEqual(['apply Deployment shop/web'])
  })
})

describe('a write of another step that may be on its way', () => {
  test('a write of another step that may be on its way is fenced at objects that stay as they are', () => {
    const objects = [desired('ConfigMap', 'a'), desired('ConfigMap', 'b', { data: { a: 'b' } })]
    const observed = there(live('ConfigMap', 'a'), live('ConfigMap', 'b'))
    expect(shown(planned({ desired: { objects }, observed, fence: 't' }))).toEqual([
      ...['touch ConfigMap shop/a', 'apply ConfigMap shop/b', '|'],
    ])
    const kept = { keptFor: ['shop/db'], observed: there(live('ConfigMap', 'a')), fence: 't' }
    expect(shown(planned(kept))).toEqual(['touch ConfigMap shop/a', '|'])
  })
})

describe('a plan', () => {
  test('a plan names each problem once, in the order of the objects', () => {
    const found = labelled('Service', {})
    const unread = { ...found, places: undefined, problem: 'Service: no' }
    const { problems } = planned({
      observed: {
        targets: { current: [unread], earlier: [unread], library: [] },
        owned: {
          kinds: [{ kind: 'ConfigMap', live: undefined, library: [], problem: 'ConfigMap: no' }],
          namespace: { problem: 'Namespace: no' },
        },
      },
    })
    expect(problems).toEqual(['Service: no', 'ConfigMap: no', 'Namespace: no'])
  })

  test('a plan keeps the labels of what runs where somebody else has the name of the workload that is desired', () => {
    const mesh = { 'istio.io/dataplane-mode': 'ambient' }
    const replacing = (namesakes: Changes['namesakes']) => {
      const { operations } = planned({
        ...(namesakes && { namesakes }),
        desired: {
          ...{ objects: [workload('web', 'Deployment')] },
          labels: { labels: mesh, unknown: [], required: true, messages: [] },
        },
        observed: { ...there(), targets: { current: [], earlier: [labelled('StatefulSet', mesh)], library: [] } },
      })
      return ids(operations)
    }
    const foreign = { object: workload('web', 'Deployment') }
    expect(replacing(new Map([['Deployment shop/web', foreign]]))).toEqual([])
    expect(replacing(undefined)).toEqual(['apply Deployment shop/web', 'release StatefulSet shop/web'])
  })

  test('a plan waits for labels of others before all else', () => {
    const awaiting = (changes: Changes) => planned(changes).awaiting
    expect(awaiting({})).toBeUndefined()
    expect(awaiting({ desired: { awaiting: 'labels-applied' } })).toBe('labels-applied')
    expect(
      awaiting({ desired: { awaiting: 'labels-applied' }, keptFor: ['a'], observed: there(live('ConfigMap', 'a')) }),
    ).toBe('labels-applied')
  })

  test('a plan waits for a config that was lost', () => {
    const { waiting } = planned({
      state: emptyState(),
      observed: { targets: { current: [labelled('Service', { team: 'a' })], earlier: [], library: [] } },
    })
    expect(waiting).toEqual([configWait(SUBJECT)])
  })
})
