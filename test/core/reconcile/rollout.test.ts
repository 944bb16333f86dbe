import { describe, expect, test } from 'vitest'
import type { TransportAnswer } from '../../../src/platform/kubernetes/client.ts'
import type { KubernetesObject } from '../../../src/platform/kubernetes/objects.ts'
import type { ApplicationView } from '../../../src/serve/http/applications.ts'
import {
  configure,
  createMesh,
  edit,
  guardsIn,
  policiesOf,
  remove,
  requires,
  sourcesOf,
} from '../../helpers/beacon-world.ts'
import { service, type World, workload } from '../../helpers/world.ts'

const DB = { application: 'db' }
const AMBIENT = { 'istio.io/dataplane-mode': 'ambient' }
const USE = { 'istio.io/use-waypoint': 'shop-beacon-waypoint' }
const ASKED = { policies: [{ type: 'app', relation: 'db', endpoints: [{ ports: [80] }] }] }
const waitingFor = (names: string) =>
  `waiting for pods to be replaced that are on the mesh (${names}); their policies stay until then`

type Kind = 'Deployment' | 'StatefulSet'

const pathOf = (kind: Kind) => `/apis/apps/v1/namespaces/shop/${kind.toLowerCase()}s/db`

const podsOf = ({ api }: World) =>
  api.objects().filter(({ kind, metadata }) => kind === 'Pod' && metadata.name.startsWith('db-'))

const labelsOfPods = (world: World) => podsOf(world).map(({ metadata }) => metadata.labels ?? {})

const namesOfPods = (world: World) =>
  podsOf(world)
    .map(({ metadata }) => metadata.name)
    .toSorted()
    .join(', ')

/** What others are told to do first by whoever asks about the application. */
const waitingOf = async ({ app }: World): Promise<string[]> =>
  ((await (await app.request('/applications/shop/db')).json()) as Pick<ApplicationView, 'conditions'>).conditions.map(
    ({ message }) => message,
  )

/** Lets no pod of `db` be replaced, until it is let through. */
const holdRollout = (world: World, kind: Kind): void =>
  edit(world, pathOf(kind), {
    spec: kind === 'Deployment' ? { paused: true } : { updateStrategy: { type: 'OnDelete', rollingUpdate: null } },
  })

const replacePods = (world: World, kind: Kind): void => {
  if (kind === 'Deployment') edit(world, pathOf(kind), { spec: { paused: null } })
  else for (const { metadata } of podsOf(world)) remove(world, `/api/v1/namespaces/shop/pods/${metadata.name}`)
}

const NOT_PERMITTED: TransportAnswer = {
  status: 403,
  headers: {},
  body: JSON.stringify({
    ...{ kind: 'Status', status: 'Failure', reason: 'Forbidden', code: 403 },
    message: 'pods is forbidden: User "meshstep" cannot list resource "pods" in API group "" in the namespace "shop"',
  }),
}

/** Answers reads of a path otherwise than the API server. */
const intercept = (world: World, path: string, answer: (real: TransportAnswer) => TransportAnswer): void => {
  world.intercept = (request) =>
    request.method === 'GET' && request.path.includes(path) ? answer(world.api.handle(request)) : undefined
}

/** A rollout with a surge: as many of the new pods as are wanted are there, and as many pods are available, but others. */
const countedWrongly = (answer: TransportAnswer): TransportAnswer => {
  const workload = JSON.parse(answer.body)
  const { generation } = workload.metadata
  const status = {
    ...workload.status,
    replicas: 3,
    updatedReplicas: 2,
    availableReplicas: 2,
    observedGeneration: generation,
  }
  return { ...answer, body: JSON.stringify({ ...workload, status }) }
}

/** As it is until its controller has seen it. */
const uncounted = (answer: TransportAnswer): TransportAnswer => ({
  ...answer,
  body: JSON.stringify({ ...JSON.parse(answer.body), status: { replicas: 0 } }),
})

type Change = { metadata?: object; spec?: object; status?: object }

/** Answers reads of pods, by name or as a list, with these changed. */
const changePods = (world: World, { metadata, spec, status }: Change): void =>
  intercept(world, '/pods', (answer) => {
    const changed = (pod: KubernetesObject) => ({
      ...pod,
      metadata: { ...pod.metadata, ...metadata },
      spec: { ...pod.spec, ...spec },
      status: { ...(pod.status as object), ...status },
    })
    const body = JSON.parse(answer.body)
    return { ...answer, body: JSON.stringify(body.items ? { ...body, items: body.items.map(changed) } : changed(body)) }
  })

/** Tells of a pod that went, as a source does. */
const tellOfPod = (world: World) =>
  world.send('pod-restarted', { ...DB, pod: { name: 'db-0', uid: 'gone' }, gone: true })

const joined = async (kind: Kind, mesh = {}, enrolment = 'rolling'): Promise<World> => {
  const world = createMesh(['cart'])
  world.api.seed([workload(kind, 'db'), service('db')], { manager: 'juju' })
  await configure(world, { mesh })
  await configure(world, { ...ASKED, enrolment }, DB)
  await world.send('relation-changed', requires(1, DB))
  await world.send('relation-changed', requires(2, { application: 'cart' }))
  await world.send('relation-changed', {
    ...DB,
    relation: { id: 3, endpoint: 'db', interface: 'http', role: 'provides' },
    remote: { application: 'cart', data: {} },
  })
  return world
}

describe.each<[Kind]>([['StatefulSet'], ['Deployment']])('pods of a %s that run on the mesh', (kind) => {
  test.each([
    [
      'relation with its beacon ends',
      (world: World) => world.send('relation-broken', { ...DB, relation: { id: 1 } }),
      { status: 'unchanged', conditions: [] },
    ],
    [
      'beacon runs no mesh any more',
      (world: World) => configure(world, {}),
      { status: 'waiting', conditions: [expect.stringContaining('waiting for the labels of shop/beacon')] },
    ],
  ])(
    'pods that run on the mesh are guarded, and let their peers in, until they are replaced when its %s',
    async (_, leave, { status, conditions }) => {
      const world = await joined(kind, { hardened: true })
      const guards = () => guardsIn(world).filter((guard) => guard.includes(' db'))
      const before = [guards(), sourcesOf(policiesOf(world, 'db'))]
      holdRollout(world, kind)
      await leave(world)
      for (let events = 0; events < 3; events += 1) {
        expect(world.labels('db').template).not.toMatchObject(AMBIENT)
        expect(labelsOfPods(world)).toMatchObject([AMBIENT, AMBIENT])
        expect([guards(), sourcesOf(policiesOf(world, 'db'))]).toEqual(before)
        // they let in the waypoint alone, to which the Service leads
        expect(world.labels('db').service).toMatchObject(USE)
        expect((await tellOfPod(world)).messages).toContainEqual(waitingFor(namesOfPods(world)))
        expect(await waitingOf(world)).toContainEqual(waitingFor(namesOfPods(world)))
      }
      replacePods(world, kind)
      await tellOfPod(world)
      expect(await waitingOf(world)).toEqual(conditions)
      expect(policiesOf(world, 'db')).toEqual([])
      expect(world.labels('db').service).not.toMatchObject(USE)
      expect(await world.send('resync', DB)).toMatchObject({ status })
    },
  )

  test.each<[string, (world: World) => unknown]>([
    ['the memory is lost', (world) => remove(world, `/api/v1/namespaces/shop/configmaps/juju-service-mesh-db-labels`)],
    ['pods are to be labelled in place', (world) => configure(world, { ...ASKED, enrolment: 'in-place' }, DB)],
    ['the config names no workload any more', (world) => configure(world, { ...ASKED, workload: null }, DB)],
    ['pods may not be read', (world) => intercept(world, '/pods', () => NOT_PERMITTED)],
    [
      'the status counts pods of the old template for those of the new one',
      (world) => intercept(world, pathOf(kind), (answer) => countedWrongly(answer)),
    ],
  ])('pods that run on the mesh stay guarded until they are replaced when %s meanwhile', async (_, meddle) => {
    const world = await joined(kind)
    const before = guardsIn(world)
    holdRollout(world, kind)
    await world.send('relation-broken', { ...DB, relation: { id: 1 } })
    await meddle(world)
    for (const next of [tellOfPod, (one: World) => one.send('resync', {})]) {
      await next(world)
      expect(labelsOfPods(world)).toMatchObject([AMBIENT, AMBIENT])
      expect([guardsIn(world), world.labels('db').service]).toEqual([before, expect.objectContaining(USE)])
    }
    world.intercept = undefined
    replacePods(world, kind)
    await tellOfPod(world)
    expect(policiesOf(world, 'db')).toEqual([])
    expect(world.labels('db').service).not.toMatchObject(USE)
  })

  test.each<[string, (world: World) => unknown]>([
    ['outlive it', (world) => remove(world, `${pathOf(kind)}?propagationPolicy=Orphan`)],
    [
      'outlive it, and another one has its name',
      async (world) => {
        await world.clock.sleep(60_000)
        remove(world, `${pathOf(kind)}?propagationPolicy=Orphan`)
        const other = workload(kind === 'Deployment' ? 'StatefulSet' : 'Deployment', 'db')
        world.api.seed([{ ...other, spec: { ...other.spec, replicas: 0 } }], { manager: 'juju' })
        await world.send('resync', DB)
      },
    ],
    [
      'outlive the workload that had the labels before another one',
      async (world) => {
        world.api.seed([workload(kind, 'green')], { manager: 'juju' })
        await world.clock.sleep(60_000)
        await configure(world, { ...ASKED, workload: { kind, name: 'green' } }, DB)
        holdRollout(world, kind)
        remove(world, `${pathOf(kind)}?propagationPolicy=Orphan`)
      },
    ],
    ['are older than it, and not counted yet', (world) => intercept(world, pathOf(kind), uncounted)],
  ])('pods that run on the mesh stay guarded where they %s', async (_, meddle) => {
    const world = await joined(kind)
    const before = guardsIn(world)
    holdRollout(world, kind)
    await meddle(world)
    await world.send('relation-broken', { ...DB, relation: { id: 1 } })
    expect(labelsOfPods(world)).toMatchObject([AMBIENT, AMBIENT])
    expect((await tellOfPod(world)).messages).toContainEqual(waitingFor(namesOfPods(world)))
    expect([guardsIn(world), world.labels('db').service]).toEqual([before, expect.objectContaining(USE)])
    for (const { metadata } of podsOf(world)) remove(world, `/api/v1/namespaces/shop/pods/${metadata.name}`)
    if (world.intercept) replacePods(world, kind)
    await tellOfPod(world)
    expect(policiesOf(world, 'db')).toEqual([])
    expect(world.labels('db').service).not.toMatchObject(USE)
  })

  test('of another application that has the same name in its labels are not waited for', async () => {
    const world = await joined(kind)
    const twin = workload(kind, 'db')
    world.api.seed([{ ...twin, metadata: { ...twin.metadata, name: 'twin' } }, service('twin')], { manager: 'juju' })
    await world.send('relation-changed', requires(9, { application: 'twin' }))
    expect(world.labels('twin').template).toMatchObject(AMBIENT)
    await world.send('relation-broken', { ...DB, relation: { id: 1 } })
    expect(policiesOf(world, 'db')).toEqual([])
    expect(await waitingOf(world)).toEqual([])
  })

  test.each<[string, Change, boolean]>([
    ['is being deleted, and runs until then', { metadata: { deletionTimestamp: '2026-01-01T00:00:00Z' } }, true],
    ['is on a node that does not answer', { status: { phase: 'Unknown' } }, true],
    ['is on a node that gets its image', { status: { phase: 'Pending' } }, true],
    ['waits for a node', { spec: { nodeName: undefined }, status: { phase: 'Pending' } }, true],
    ['was evicted', { status: { phase: 'Failed' } }, false],
    ['has ended', { status: { phase: 'Succeeded' } }, false],
  ])('of which each %s', async (_, change, isGuarded) => {
    const world = await joined(kind)
    const before = guardsIn(world)
    holdRollout(world, kind)
    changePods(world, change)
    await world.send('relation-broken', { ...DB, relation: { id: 1 } })
    await tellOfPod(world)
    expect(policiesOf(world, 'db').length > 0).toBe(isGuarded)
    if (isGuarded) expect([guardsIn(world), world.labels('db').service]).toEqual([before, expect.objectContaining(USE)])
    world.intercept = undefined
    replacePods(world, kind)
    await tellOfPod(world)
    expect(policiesOf(world, 'db')).toEqual([])
  })

  test('pods that run on the mesh stay on the mesh until they are replaced by those of a labelled template', async () => {
    const world = await joined(kind, {}, 'in-place')
    expect(world.labels('db').template).not.toMatchObject(AMBIENT)
    holdRollout(world, kind)
    await configure(world, ASKED, DB)
    expect(world.labels('db').template).toMatchObject(AMBIENT)
    expect(labelsOfPods(world)).toMatchObject([AMBIENT, AMBIENT])
    replacePods(world, kind)
    await tellOfPod(world)
    expect(labelsOfPods(world)).toMatchObject([AMBIENT, AMBIENT])
    expect(await world.send('resync', {})).toMatchObject({ status: 'unchanged' })
  })

  test('pods that run on the mesh stay on the mesh by their namespace until those that replace them have labels of their own', async () => {
    const world = await joined(kind, { modelOnMesh: true })
    const ofNamespace = () =>
      world.api.objects().find(({ kind, metadata }) => kind === 'Namespace' && metadata.name === 'shop')?.metadata
        .labels
    expect(labelsOfPods(world)).not.toMatchObject([AMBIENT, AMBIENT])
    holdRollout(world, kind)
    await configure(world, { mesh: {} })
    expect(world.labels('db').template).toMatchObject(AMBIENT)
    expect(ofNamespace()).toMatchObject(AMBIENT)
    expect((await world.send('resync', { application: 'beacon' })).messages).toContainEqual(
      'Namespace shop stays on the mesh until its applications carry labels of their own: waiting for shop/db',
    )
    replacePods(world, kind)
    await tellOfPod(world)
    expect(labelsOfPods(world)).toMatchObject([AMBIENT, AMBIENT])
    expect(ofNamespace()).not.toMatchObject(AMBIENT)
  })
})
