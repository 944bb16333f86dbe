import { describe, expect, test } from 'vitest'
import type { Unenforced } from '../../../../src/core/policies/unenforced.ts'
import {
  meshConfigs,
  namespaceCause,
  toBeTaken,
  withCauses,
} from '../../../../src/core/reconcile/observe/accepted-objects.ts'
import type { Observed } from '../../../../src/core/reconcile/observe/cluster.ts'
import {
  findNamesakes,
  isDeployed,
  isNamed,
  listOwned,
  missingIn,
  observeCluster,
  observeTargets,
  unlessForbidden,
  workloadLabelsIn,
} from '../../../../src/core/reconcile/observe/cluster.ts'
import {
  holdersOf,
  isLeftBy,
  type Owner,
  orphanWaits,
  ownersIn,
  podHoldersOf,
} from '../../../../src/core/reconcile/observe/field-owners.ts'
import { waitForPodsOnMesh, waitForRemainingPods } from '../../../../src/core/reconcile/observe/pods-on-mesh.ts'
import type { Found } from '../../../../src/core/reconcile/observe/units.ts'
import { dependsOnUnits, observeRunning, withUnits } from '../../../../src/core/reconcile/observe/units.ts'
import { resolveRelations } from '../../../../src/core/relations/resolve-relations.ts'
import { OwnedKind } from '../../../../src/core/state/owned-kinds.ts'
import type { State } from '../../../../src/core/state/state.ts'
import { noUnits } from '../../../../src/core/units/units.ts'
import { storeName } from '../../../../src/core/workload/secrets.ts'
import { createEmbeddedApi } from '../../../../src/embedded/api/api.ts'
import { features } from '../../../../src/features.ts'
import { waitFor } from '../../../../src/platform/base/condition.ts'
import { createKubernetes, type Kubernetes } from '../../../../src/platform/kubernetes/client.ts'
import type { KubernetesObject } from '../../../../src/platform/kubernetes/objects.ts'
import { fieldManager, ownerLabels } from '../../../../src/platform/kubernetes/ownership-labels.ts'
import { fakeClock } from '../../../helpers/clock.ts'
import { labelled, owned } from '../../../helpers/situations.ts'
import { peersOf, stateOf } from '../../../helpers/states.ts'
import { FORBIDDEN, isWrite, NAMESPACE, SUBJECT, service, workload } from '../../../helpers/world.ts'

const MESH = { 'istio.io/dataplane-mode': 'ambient' }
const PLAIN = features.config.parse({})

/** A client of an embedded API; calls that `forbids` are forbidden. */
const connect = (objects: readonly KubernetesObject[], forbids: (path: string) => boolean = () => false) => {
  const clock = fakeClock()
  const api = createEmbeddedApi({ now: () => new Date(clock.now()) })
  api.seed([{ apiVersion: 'v1', kind: 'Namespace', metadata: { name: NAMESPACE } }, ...objects], { manager: 'juju' })
  const calls: string[] = []
  const kubernetes: Kubernetes = createKubernetes({
    ...{ clock, deadline: clock.now() + 10_000 },
    transport: async (request) => {
      calls.push(request.path)
      return !isWrite(request.method) && forbids(request.path) ? FORBIDDEN : api.handle(request)
    },
  })
  return { api, kubernetes, calls }
}

const configMap = (name: string, more: Partial<KubernetesObject> = {}): KubernetesObject => ({
  ...{ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, namespace: NAMESPACE, labels: ownerLabels(SUBJECT) } },
  ...more,
})

const ours = async ({ kubernetes }: ReturnType<typeof connect>, object: KubernetesObject) =>
  await kubernetes.apply(object, fieldManager('web'))

describe('a reading that may be forbidden', () => {
  test('a reading that may be forbidden has a problem where it is, and fails otherwise', async () => {
    const { kubernetes } = connect([], (path) => path.includes('configmaps'))
    const reference = { kind: 'ConfigMap', namespace: NAMESPACE, name: 'a' } as const
    expect(await unlessForbidden(kubernetes.find(reference))).toEqual({ problem: expect.stringContaining('no') })
    expect(await unlessForbidden(Promise.resolve(7))).toEqual({ value: 7 })
    await expect(unlessForbidden(Promise.reject(new Error('away')))).rejects.toThrow('away')
  })
})

describe('owned objects of a kind', () => {
  const listing = async (kind: OwnedKind, answers: Record<string, () => Promise<readonly string[]>>) => {
    const places: string[] = []
    const list = async (_: OwnedKind, namespace: string | undefined) => {
      const place = namespace ?? 'everywhere'
      places.push(place)
      return (await answers[place]?.()) ?? []
    }
    return [await listOwned({ kind, namespace: 'shop', selector: 'a', list }), places]
  }
  const forbidden = async (): Promise<never> => {
    const { kubernetes } = connect([], () => true)
    return (await kubernetes.find({ kind: 'ConfigMap', namespace: NAMESPACE, name: 'a' })) as never
  }
  test('owned objects of a kind are listed in the namespace of the application, and policies in all', async () => {
    const answers = { shop: async () => ['a'], everywhere: async () => ['b'] }
    expect(await listing('ConfigMap', answers)).toEqual([{ live: ['a'] }, ['shop']])
    expect(await listing('AuthorizationPolicy', answers)).toEqual([{ live: ['b'] }, ['everywhere']])
    expect(await listing('AuthorizationPolicy', { ...answers, everywhere: forbidden })).toEqual([
      { live: ['a'] },
      ['everywhere', 'shop'],
    ])
  })

  test('owned objects of a kind are unknown where listing them is forbidden', async () => {
    expect(await listing('ConfigMap', { shop: forbidden })).toEqual([
      { live: undefined, problem: expect.any(String) },
      ['shop'],
    ])
    const away = async () => await Promise.reject(new Error('away'))
    await expect(listing('ConfigMap', { shop: away })).rejects.toThrow('away')
  })

  test('owned objects of a kind are unknown, without a problem, where the API server does not know it', async () => {
    const clock = fakeClock()
    const missing = createKubernetes({
      ...{ clock, deadline: clock.now() + 1_000 },
      transport: async () => ({ status: 404, headers: {}, body: '404 page not found' }),
    })
    const list = async () => await missing.list('Gateway', 'shop', undefined)
    expect(await listOwned({ kind: 'Gateway', namespace: 'shop', selector: 'a', list })).toEqual({ live: undefined })
  })
})

describe('what is observed of an application', () => {
  const observe = async (
    objects: readonly KubernetesObject[],
    changes: Parameters<typeof stateOf>[1] = {},
    forbids?: (path: string) => boolean,
    prepare: KubernetesObject[] = [],
  ) => {
    const world = connect(objects, forbids)
    for (const object of prepare) await ours(world, object)
    const state = stateOf([], { config: PLAIN, ...changes })
    return await observeCluster(
      features,
      world.kubernetes,
      SUBJECT,
      state,
      resolveRelations(SUBJECT, state, peersOf({})),
      false,
    )
  }
  const names = ({ owned: { kinds } }: Observed) =>
    kinds.map(({ kind, live }) => [kind, live?.map(({ metadata }) => metadata.name)])

  test('what is observed of an application are its targets, and the kinds that it owns', async () => {
    const seen = await observe(
      [workload(), service()],
      { owned: { ConfigMap: null, Namespace: null, 'Other.example.com': null } },
      undefined,
      [configMap('a')],
    )
    expect(names(seen)).toEqual([['ConfigMap', ['a']]])
    expect(seen.owned.namespace).toMatchObject({ object: { kind: 'Namespace' } })
    expect(seen.owned.store).toBeUndefined()
    expect(seen.targets.current.map(({ places }) => places?.map(({ object }) => object.kind))).toEqual([
      ['StatefulSet'],
      ['Service'],
    ])
    expect(isDeployed(seen)).toBe(true)
    const none = await observe([])
    expect([none.owned.namespace, names(none), isDeployed(none)]).toEqual([undefined, [], false])
  })

  test('what is observed of an application has a problem where it may not be read', async () => {
    const seen = await observe([workload(), service()], { owned: { Namespace: null } }, (path) =>
      /statefulsets|namespaces\/shop$/.test(path),
    )
    expect(seen.targets.current[0]).toMatchObject({ places: undefined, problem: expect.any(String) })
    expect(seen.owned.namespace).toEqual({ problem: expect.any(String) })
    expect(isDeployed(seen)).toBe(true)
  })

  const secret = (name: string, data: Record<string, string> = {}): KubernetesObject => ({
    ...configMap(name),
    kind: 'Secret',
    data,
  })

  test('what is observed of an application with workloads are the Secrets of its values, and those that it asks for', async () => {
    const owned = { 'Deployment.apps': null }
    const kept = { 'secret.kept.a.1': '', 'env.web.A.1': '' }
    const seen = await observe([], { owned }, undefined, [secret(storeName('web'), kept), secret('kept')])
    expect(seen.owned.store).toMatchObject({ object: { kind: 'Secret' } })
    expect(names(seen)).toEqual([
      ['Deployment', []],
      ['Secret', ['kept']],
    ])
    const config = features.config.parse({
      workload: { podSpec: { containers: [{ name: 'c', image: 'x:1' }] }, secrets: { asked: { a: 'b' } } },
    })
    const foreign = await observe([{ ...secret('asked'), metadata: { name: 'asked', namespace: NAMESPACE } }], {
      owned,
      config,
    })
    expect(names(foreign)).toEqual([
      ['Deployment', []],
      ['Secret', []],
    ])
    const unread = await observe([], { owned, config }, (path) => path.endsWith('secrets/asked'))
    expect(unread.owned.kinds[1]).toMatchObject({ kind: 'Secret', live: undefined, problem: expect.any(String) })
    const hidden = await observe([], { owned }, (path) => path.includes('secrets'))
    expect([hidden.owned.store, names(hidden)]).toEqual([{ problem: expect.any(String) }, [['Deployment', []]]])
  })

  test('what is observed of an application are former targets, and those of the charm library, unless they are current', async () => {
    const { kubernetes } = connect([workload(), service(), service('old')])
    const former = [
      { kind: 'Service', name: 'old', since: '2026-01-01T00:00:00Z' },
      { kind: 'Service', name: 'web', since: '2026-01-01T00:00:00Z' },
    ] as const
    const targets = await observeTargets(
      features,
      kubernetes,
      SUBJECT,
      stateOf([], { config: PLAIN, previousTargets: [...former], libraryLabels: {} }),
    )
    expect(targets.earlier.map(({ target }) => target)).toMatchObject([
      { kind: 'Service', name: 'old' },
      { kind: 'StatefulSet', name: 'web' },
    ])
    expect(targets.library).toEqual([
      { kind: 'StatefulSet', name: 'web' },
      { kind: 'Service', name: 'web' },
    ])
    expect((await observeTargets(features, kubernetes, SUBJECT, stateOf([]))).library).toEqual([])
  })

  const NAMED = features.config.parse({ policies: [{ type: 'app', relation: 'a', service: 'named', endpoints: [] }] })

  test('what is observed of an application are Services that its policies name, if they are its own', async () => {
    const foreign = {
      ...service('named'),
      spec: { selector: { 'app.kubernetes.io/name': 'db' }, ports: [{ port: 80 }] },
    }
    const placesOf = async (object: KubernetesObject) => {
      const { kubernetes } = connect([object])
      const { current } = await observeTargets(features, kubernetes, SUBJECT, stateOf([], { config: NAMED }))
      return current.find(({ target }) => target.name === 'named')?.places?.length
    }
    expect(await placesOf({ ...foreign, spec: service().spec })).toBe(1)
    expect(await placesOf(foreign)).toBeUndefined()
    const state = stateOf([], { config: NAMED })
    expect(isNamed(features, SUBJECT, state, { kind: 'Service', name: 'named' })).toBe(true)
    expect(isNamed(features, SUBJECT, state, { kind: 'StatefulSet', name: 'named' })).toBe(false)
    expect(isNamed(features, SUBJECT, state, { kind: 'Service', name: 'web' })).toBe(false)
  })

  test('targets that do not exist are missing where labels are required, unless policies alone name them, or they cannot be read', () => {
    const found = (name: string, more: Partial<Found> = {}): Found => ({
      target: { kind: 'Service', name },
      places: undefined,
      ...more,
    })
    const missing = (one: Found, required = true) =>
      missingIn(features, SUBJECT, stateOf([], { config: NAMED }), [one], { required }).length
    expect([
      missing(found('web')),
      missing(found('web'), false),
      missing(found('web', { problem: 'no' })),
      missing(found('web', { places: [] })),
      missing(found('named')),
    ]).toEqual([1, 0, 0, 0, 0])
  })

  test('the labels of the workload are those of its first target', () => {
    const { labels, own } = workloadLabelsIn(SUBJECT, {
      current: [labelled('StatefulSet', MESH), labelled('Service', { a: 'b' })],
    })
    expect([labels, own]).toEqual([MESH, Object.keys(MESH)])
    expect(workloadLabelsIn(SUBJECT, { current: [labelled('StatefulSet', MESH, 'other')] })).toEqual({
      labels: MESH,
      own: [],
    })
    expect(
      workloadLabelsIn(SUBJECT, { current: [{ target: { kind: 'Service', name: 'a' }, places: undefined }] }),
    ).toEqual({ labels: {}, own: undefined })
    expect(workloadLabelsIn(SUBJECT, { current: [] })).toEqual({ labels: {}, own: undefined })
  })

  test('what has the name of a desired object is read, unless it is ours already, or its kind is unknown', async () => {
    const { kubernetes } = connect([configMap('there')])
    const mine = owned(configMap('mine'))
    const kinds = [
      { kind: 'ConfigMap' as const, live: [mine], library: [] },
      { kind: 'Service' as const, live: undefined, library: [] },
    ]
    const objects = [configMap('there'), configMap('absent'), mine, service()]
    const found = await findNamesakes(kubernetes, { kinds }, { objects })
    expect([...found].map(([name, read]) => [name, 'object' in read && read.object?.metadata.name])).toEqual([
      ...[
        ['ConfigMap shop/there', 'there'],
        ['ConfigMap shop/absent', undefined],
      ],
    ])
  })
})

describe('objects that the mesh has to accept', () => {
  const [one, two, library] = ['one', 'two', 'library'].map((name) => configMap(name))
  const observed = {
    owned: {
      kinds: [
        {
          kind: 'ConfigMap' as const,
          live: [one, two] as KubernetesObject[],
          library: [library] as KubernetesObject[],
        },
      ],
    },
    targets: { current: [labelled('Service', {}), labelled('StatefulSet', {})], earlier: [], library: [] },
    lookups: new Map<string, unknown>([
      ['a', service('looked')],
      ['b', workload()],
      ['c', configMap('config')],
      ['d', undefined],
      ['e', { problem: 'no' }],
    ]) as Observed['lookups'],
  }
  const keys = (objects: readonly KubernetesObject[]) => objects.map(({ kind, metadata }) => `${kind} ${metadata.name}`)

  test('objects that the mesh has to accept are desired ones that are there, and Services; others are witnesses', () => {
    const { objects, witnesses } = toBeTaken(observed, [configMap('one'), configMap('new')])
    expect(keys(objects)).toEqual(['ConfigMap one', 'Service web'])
    expect(keys(witnesses)).toEqual(['ConfigMap two', 'ConfigMap library', 'Service looked', 'ConfigMap config'])
  })

  const policy = (conditions?: unknown): KubernetesObject => ({
    ...{
      apiVersion: 'security.istio.io/v1',
      kind: 'AuthorizationPolicy',
      metadata: { name: 'a', namespace: NAMESPACE },
    },
    ...(conditions !== undefined && { status: { conditions } }),
  })
  const istio = { ...configMap('istio'), metadata: { name: 'istio', namespace: 'istio-system' } }
  const configs = async (objects: KubernetesObject[], witnesses: KubernetesObject[] = []) => {
    const { kubernetes } = connect([{ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'istio-system' } }, istio])
    return keys(await meshConfigs(features.mesh, kubernetes, NAMESPACE, { objects, witnesses }))
  }

  test('the config of the mesh is read where policies stand, and nothing shows if it accepts them', async () => {
    expect(await configs([policy()])).toEqual(['Namespace shop', 'ConfigMap istio'])
    expect(await configs([service()])).toEqual([])
    expect(await configs([policy([{ status: 'True' }])])).toEqual([])
    expect(await configs([policy()], [policy([{ status: 'False' }])])).toEqual([])
    expect(await configs([policy([{ status: 'Unknown' }])])).toHaveLength(2)
    expect(await configs([policy('none')])).toHaveLength(2)
  })

  const unenforced = (reason: 'NotTaken' | 'NotEnforced', namespace = NAMESPACE): Unenforced => ({
    live: { ...policy(), metadata: { name: 'a', namespace } },
    condition: waitFor(['Istio'], reason, 'AuthorizationPolicy a', 'told'),
  })
  const leaving = () =>
    connect([
      { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'istio-system' } },
      { ...istio, data: { mesh: 'discoverySelectors: [{ matchLabels: { a: b } }]' } },
    ])

  test('the reason why the mesh has not accepted an object is that of its namespace', async () => {
    const { kubernetes, calls } = leaving()
    const told = await withCauses(features.mesh, kubernetes, [
      unenforced('NotTaken'),
      unenforced('NotEnforced', 'other'),
      unenforced('NotTaken'),
    ])
    expect(told.map(({ message }) => message.includes('discoverySelectors'))).toEqual([true, false, true])
    expect(calls).toHaveLength(3)
    expect(await withCauses(features.mesh, kubernetes, [])).toEqual([])
  })

  test('the reason why the mesh accepts nothing of a namespace is told once', async () => {
    const { kubernetes } = leaving()
    const causes = async (...told: Unenforced[]) =>
      (await namespaceCause(features.mesh, kubernetes, SUBJECT, told)).length
    expect([
      await causes(),
      await causes(unenforced('NotTaken')),
      await causes(unenforced('NotEnforced')),
      await causes(unenforced('NotTaken', 'other')),
    ]).toEqual([1, 0, 1, 1])
    expect(await namespaceCause(features.mesh, connect([istio].slice(1)).kubernetes, SUBJECT, [])).toEqual([])
  })
})

describe('the owners of objects', () => {
  const held = (...managers: string[]): KubernetesObject => ({
    ...configMap('a'),
    metadata: { name: 'a', managedFields: managers.map((manager) => ({ manager, operation: 'Apply' as const })) },
  })

  test('the owners of objects are named by their field managers', () => {
    expect(holdersOf(held('meshstep/web', 'meshstep/A B', 'kubectl', 'other/web'))).toEqual(['web'])
    expect(podHoldersOf(held('meshstep/web', 'meshstep-workload/db'))).toEqual(['db'])
  })

  test('the owners of objects are those of a namespace, by kind', async () => {
    const world = connect([service('foreign')])
    await ours(world, configMap('a'))
    await world.kubernetes.apply(
      { apiVersion: 'v1', kind: 'Namespace', metadata: { name: NAMESPACE, labels: { a: 'b' } } },
      fieldManager('beacon'),
    )
    expect(await ownersIn(world.kubernetes, NAMESPACE)).toEqual([
      ...[
        { application: 'web', kind: 'ConfigMap', isFar: false },
        { application: 'beacon', kind: 'Namespace', isFar: false },
      ],
    ])
  })

  test('the owners of objects that may not be listed are left out', async () => {
    const world = connect([], (path) => /namespaces\/shop$|services\?/.test(path))
    await ours(world, configMap('a'))
    expect(await ownersIn(world.kubernetes, NAMESPACE)).toMatchObject([{ application: 'web', kind: 'ConfigMap' }])
  })

  test('the kinds that an application keeps are those in its memory, and workloads while its config is unknown', () => {
    const keptKinds = (state: State) => {
      const isLeft = isLeftBy(state)
      return OwnedKind.options.filter((kind) => !isLeft({ application: 'web', kind, isFar: false }))
    }
    expect(keptKinds(stateOf([], { config: PLAIN, owned: { 'Gateway.gateway.networking.k8s.io': null } }))).toEqual([
      'Gateway',
    ])
    expect(keptKinds(stateOf([], { removed: '2026-01-01T00:00:00Z' }))).toEqual([])
    expect(keptKinds(stateOf([])).toSorted()).toEqual([
      'ConfigMap',
      'Deployment',
      'PodDisruptionBudget',
      'Service',
      'ServiceAccount',
      'StatefulSet',
    ])
  })

  test('objects of kinds that an application does not know are waited for until a resync', () => {
    const owners = [
      ...[
        { application: 'web', kind: 'Gateway' },
        { application: 'web', kind: 'AuthorizationPolicy' },
        { application: 'web', kind: 'Gateway' },
      ],
      ...[
        { application: 'db', kind: 'Namespace' },
        { application: 'web', kind: 'Service' },
      ],
    ] as Owner[]
    expect(orphanWaits(SUBJECT, stateOf([]), owners)).toMatchObject([
      { object: 'each AuthorizationPolicy of shop/web', for: ['a resync of shop'] },
      {
        object: 'each Gateway of shop/web',
        message:
          'objects of kind Gateway that shop/web wrote stand, and its memory, which was lost once, does not know them: a resync of shop removes them',
      },
    ])
  })
})

describe('pods on the mesh', () => {
  const targetsOf = (...current: Found[]) => ({ current, earlier: [], library: [] })
  const status = (replicas: number) => ({ observedGeneration: 1, replicas })
  const template = (found: Found, replicas: number): Found => ({
    ...found,
    places: (found.places ?? []).map((place) => ({
      ...place,
      object: { ...place.object, metadata: { ...place.object.metadata, generation: 1 }, status: status(replicas) },
    })),
  })
  const GONE = { labels: {}, unknown: [] }
  const waits = async (
    targets: ReturnType<typeof targetsOf>,
    changes: {
      held?: Record<string, string>
      desired?: { labels: Record<string, string>; unknown: 'all' | string[] }
    } = {},
    objects: KubernetesObject[] = [],
  ) => {
    const wanted = { targets, memory: { labels: changes.held ?? MESH }, desired: changes.desired ?? GONE }
    return (await waitForPodsOnMesh(features.mesh, connect(objects).kubernetes, SUBJECT, wanted))?.message
  }
  const WAITING = 'waiting for pods to be replaced that are on the mesh; their policies stay until then'

  test('pods on the mesh are waited for while the template of their workload keeps the label', async () => {
    expect(await waits(targetsOf(template(labelled('StatefulSet', MESH), 1)))).toBe(WAITING)
    expect(await waits(targetsOf(template(labelled('StatefulSet', MESH), 0)))).toBeUndefined()
    expect(await waits(targetsOf(labelled('Service', MESH)))).toBeUndefined()
  })

  test('pods on the mesh are not waited for where the label is desired, or unknown, or held by nobody, or by somebody else', async () => {
    const on = targetsOf(template(labelled('StatefulSet', MESH), 1))
    expect(await waits(on, { desired: { labels: MESH, unknown: [] } })).toBeUndefined()
    expect(await waits(on, { desired: { labels: {}, unknown: 'all' } })).toBeUndefined()
    expect(await waits(targetsOf(template(labelled('StatefulSet', {}), 1)), { held: {} })).toBeUndefined()
    expect(await waits(on, { held: {} })).toBe(WAITING)
    expect(await waits(targetsOf(template(labelled('StatefulSet', MESH, 'other'), 1)))).toBeUndefined()
  })

  const pod = (name: string, labels: Record<string, string> = MESH, more: object = {}): KubernetesObject => ({
    ...{ apiVersion: 'v1', kind: 'Pod', spec: { containers: [{ name: 'c', image: 'x:1' }] } },
    ...{ metadata: { name, namespace: NAMESPACE, labels: { 'app.kubernetes.io/name': 'web', ...labels } }, ...more },
  })
  const remaining = async (pods: KubernetesObject[], forbids?: (path: string) => boolean) =>
    (await waitForRemainingPods(features.mesh, connect(pods, forbids).kubernetes, SUBJECT, targetsOf()))?.message

  test('pods on the mesh that outlive their controller are named, three of them', async () => {
    expect(await remaining([])).toBeUndefined()
    expect(await remaining([pod('a')])).toBe(
      'waiting for pods to be replaced that are on the mesh (a); their policies stay until then',
    )
    expect(await remaining(['d', 'c', 'b', 'a'].map((name) => pod(name)))).toContain('(a, b, c, 1 more)')
    expect(await remaining(['c', 'b', 'a'].map((name) => pod(name)))).toContain('(a, b, c);')
    expect(await remaining([pod('a', {})])).toBeUndefined()
    expect(await remaining([pod('a', { 'istio.io/dataplane-mode': 'none' })])).toBeUndefined()
  })

  test('pods on the mesh may be there where they may not be read', async () => {
    expect(await remaining([], (path) => path.includes('pods'))).toContain(
      'until it is known that no pod is on the mesh any more, its policies stay',
    )
  })

  test('pods on the mesh of another workload are not those of the application', async () => {
    const controlled = (kind: string, name: string) =>
      pod('a', MESH, {
        metadata: {
          ...pod('a').metadata,
          ownerReferences: [{ apiVersion: 'apps/v1', kind, name, uid: 'u', controller: true }],
        },
      })
    const other = {
      ...workload('StatefulSet', 'other'),
      spec: { ...workload('StatefulSet', 'other').spec, replicas: 0 },
    }
    expect(await remaining([other, controlled('StatefulSet', 'other')])).toBeUndefined()
    expect(await remaining([controlled('StatefulSet', 'gone')])).toContain('(a)')
    expect(await remaining([controlled('Job', 'job')])).toBeUndefined()
  })
})

describe('the running application', () => {
  const OWN = features.config.parse({ workload: { podSpec: { containers: [{ name: 'c', image: 'x:1' }] } } })
  const available = { observedGeneration: 9, replicas: 2, availableReplicas: 2, updatedReplicas: 2 }
  const running = async (found: Found | undefined, changes: Parameters<typeof stateOf>[1] = {}, isWhole = false) => {
    const { kubernetes } = connect([workload()])
    return await observeRunning(
      features,
      kubernetes,
      SUBJECT,
      stateOf([], { config: PLAIN, ...changes }),
      found,
      isWhole,
    )
  }
  const found = (status: Record<string, unknown> = available, more: object = {}): Found => ({
    target: { kind: 'StatefulSet', name: 'web' },
    places: [{ object: { ...workload(), ...more, status }, path: [] }],
  })

  test('the running application is unknown without a workload', async () => {
    expect(await running(undefined)).toEqual({})
    expect(await running({ target: { kind: 'Service', name: 'web' }, places: [] })).toEqual({})
    expect(await running({ target: { kind: 'StatefulSet', name: 'web' }, places: undefined, problem: 'no' })).toEqual(
      {},
    )
    expect(await running({ target: { kind: 'StatefulSet', name: 'web' }, places: undefined })).toEqual({
      isAbsent: true,
    })
    expect(await running({ target: { kind: 'StatefulSet', name: 'web' }, places: [] })).toEqual({})
  })

  test('the running application has its pods listed where something depends on them, or some are unavailable', async () => {
    expect(await running(found())).not.toHaveProperty('pods')
    expect((await running(found({}))).pods).toBeDefined()
    expect((await running(found(), {}, true)).pods).toBeDefined()
    expect((await running(found(), { leader: { unit: 'web/0' } })).pods).toBeDefined()
  })

  test('the running application is another one where somebody else has the workload with its name', async () => {
    expect(await running(found(), { config: OWN })).toMatchObject({ namesake: { kind: 'StatefulSet' } })
  })

  test('the running application is that of its pods where these have labels of their own', async () => {
    const pods: Found = { ...found(), target: { kind: 'StatefulSet', name: 'web', on: 'pods' } }
    expect(await running(pods)).toEqual({
      pods: [expect.objectContaining({ kind: 'StatefulSet' })],
      isMarking: false,
    })
  })

  test('units depend on pods where there is a leader, pending data, a workload of its own or a report', () => {
    const depends = (changes: Parameters<typeof stateOf>[1]) =>
      dependsOnUnits(features, stateOf([], { config: PLAIN, ...changes }))
    const unit = (more: object) => ({ ...noUnits(), present: { u: { pod: 'web-0', number: 0, ...more } } })
    expect([
      depends({}),
      depends({ leader: { unit: 'web/0' } }),
      depends({ pending: [{ unit: 'web/0', data: {} }] }),
      depends({ config: OWN }),
    ]).toEqual([false, true, true, true])
    expect([
      depends({ units: unit({}) }),
      depends({ units: unit({ databag: {} }) }),
      depends({ units: unit({ report: { status: 'active', message: '' } }) }),
    ]).toEqual([false, true, true])
  })

  test('units follow the live pods where something depends on them', () => {
    const live = [{ apiVersion: 'v1', kind: 'Pod', metadata: { name: 'web-0', uid: 'u' } }]
    const presentIn = (changes: Parameters<typeof stateOf>[1], isClaimed = false) =>
      Object.keys(
        withUnits(
          features,
          SUBJECT,
          stateOf([], { config: PLAIN, ...changes }),
          { workload: workload(), pods: live },
          isClaimed,
        ).units.present,
      )
    expect([presentIn({}), presentIn({}, true), presentIn({ leader: { unit: 'web/0' } })]).toEqual([[], ['u'], ['u']])
    const state = stateOf([], { config: PLAIN })
    expect(withUnits(features, SUBJECT, state, { pods: live })).toBe(state)
  })
})
