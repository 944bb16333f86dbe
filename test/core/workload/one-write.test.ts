import { describe, expect, test } from 'vitest'
import { podSpec, STATEFUL } from '../../helpers/application.ts'
import { configure, createMesh, edit, provides, requires } from '../../helpers/beacon-world.ts'
import { COORDINATOR, COORDINATOR_CONFIG } from '../../helpers/cluster.ts'
import { isWrite, MESH_LABELS, meshRelation, type World } from '../../helpers/world.ts'

const DB = { application: 'db' }
const PATH = '/apis/apps/v1/namespaces/shop/statefulsets/db'
const POLICIES = '/authorizationpolicies/'
const SERVICE = '/services/db?'
const [WORKLOAD_MANAGER, LABEL_MANAGER] = ['meshstep-workload/db', 'meshstep/db']
const NAME = { 'app.kubernetes.io/name': 'db' }

/** A policy that guards the pods of `db`. */
const guard = (port = '80') => ({
  apiVersion: 'security.istio.io/v1',
  kind: 'AuthorizationPolicy',
  metadata: { name: 'guard' },
  spec: { selector: { matchLabels: NAME }, rules: [{ to: [{ operation: { ports: [port] } }] }] },
})

const own = (image: string, changes: object = {}, workload: object = {}) => ({
  workload: { podSpec: podSpec(image), ...STATEFUL, ...workload },
  ...changes,
})

/** The config of a workload that is guarded, and whose own labels put it on the mesh. */
const guarded = (image: string, port?: string) => own(image, { labels: MESH_LABELS, rawPolicies: [guard(port)] })

type Template = {
  readonly metadata: { readonly labels: Record<string, string>; readonly annotations?: Record<string, string> }
  readonly spec: { readonly containers: readonly { readonly image: string }[] }
}

const templateOf = (world: World, name = 'db') => world.object('StatefulSet', name)?.spec?.template as Template

const labelsOf = (world: World) => templateOf(world).metadata.labels

const imageOf = (world: World) => templateOf(world).spec.containers[0]?.image

const generationOf = (world: World, name = 'db') => Number(world.object('StatefulSet', name)?.metadata.generation)

const managersOf = (world: World) =>
  (world.object('StatefulSet', 'db')?.metadata.managedFields ?? [])
    .filter(({ operation, subresource }) => operation === 'Apply' && subresource === undefined)
    .map(({ manager }) => manager)
    .toSorted()

const createDeployed = async (config = own('db:1')): Promise<World> => {
  const world = createMesh()
  await configure(world, config, DB)
  return world
}

/** Which of these the action writes to first, second, and so on. */
const orderOf = async (world: World, parts: readonly string[], action: () => Promise<unknown>): Promise<string[]> => {
  world.calls.length = 0
  await action()
  const written = world.calls.filter((call) => isWrite(call) && !call.includes('dryRun'))
  return written.flatMap((call) => parts.find((part) => call.includes(part)) ?? [])
}

/** The API server refuses what is written there by the manager, or by any. */
const refuse = (world: World, part: string, manager = '') => {
  world.intercept = ({ method, path }) =>
    method === 'PATCH' && path.includes(part) && path.includes(encodeURIComponent(manager)) && !path.includes('dryRun')
      ? {
          status: 422,
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify({ kind: 'Status', status: 'Failure', code: 422, reason: 'Invalid', message: 'no' }),
        }
      : undefined
}

describe('a workload of ours', () => {
  test('a workload of ours is created on a hardened mesh in one write, with its labels', async () => {
    const world = createMesh()
    await configure(world, { mesh: { hardened: true } })
    await world.send('relation-changed', provides(7, DB, undefined))
    await world.send('relation-changed', requires(7, DB))
    const policies = [{ type: 'app', relation: 'db', endpoints: [] }]
    await configure(world, own('db:1', { policies }), DB)
    expect([generationOf(world), labelsOf(world)]).toEqual([1, expect.objectContaining(MESH_LABELS)])
    expect(managersOf(world)).toEqual([WORKLOAD_MANAGER])
    expect(world.labels('db').service).toMatchObject(MESH_LABELS)
    expect((await world.send('resync', DB)).status).toBe('unchanged')
  })

  test('a workload of ours is created after what guards it', async () => {
    const world = createMesh()
    const order = await orderOf(world, [POLICIES, PATH], () => configure(world, guarded('db:1'), DB))
    expect(order).toEqual([POLICIES, PATH])
  })

  test('a workload of ours is not created while what guards it is refused', async () => {
    const world = createMesh()
    refuse(world, POLICIES)
    const handled = await configure(world, guarded('db:1'), DB)
    expect(world.object('StatefulSet', 'db')).toBeUndefined()
    expect(handled.messages).toContain(
      'StatefulSet shop/db is not applied: it waits for AuthorizationPolicy shop/guard',
    )
    world.intercept = undefined
    await world.send('resync', DB)
    expect([generationOf(world), labelsOf(world)]).toEqual([1, { ...NAME, ...MESH_LABELS }])
  })

  test('a workload of ours is changed once where its image and a label change at once', async () => {
    const world = await createDeployed()
    await configure(world, own('db:2', { labels: { team: 'x' } }), DB)
    expect([generationOf(world), labelsOf(world)]).toEqual([2, { ...NAME, team: 'x' }])
    await configure(world, own('db:3'), DB)
    expect([generationOf(world), labelsOf(world)]).toEqual([3, NAME])
  })

  test('a workload of ours goes on the mesh with a new image in one write, after its Service and its guards', async () => {
    const world = await createDeployed()
    const order = await orderOf(world, [POLICIES, SERVICE, PATH], () => configure(world, guarded('db:2'), DB))
    expect(order).toEqual([SERVICE, POLICIES, PATH])
    expect([generationOf(world), imageOf(world), labelsOf(world)]).toEqual([2, 'db:2', { ...NAME, ...MESH_LABELS }])
  })

  test('a workload of ours leaves the mesh with a new image in one write, before what guards it changes', async () => {
    const world = await createDeployed(guarded('db:1'))
    const order = await orderOf(world, [POLICIES, PATH], () =>
      configure(world, own('db:2', { rawPolicies: [guard('81')] }), DB),
    )
    expect(order).toEqual([PATH, POLICIES])
    expect([generationOf(world), imageOf(world), labelsOf(world)]).toEqual([2, 'db:2', NAME])
  })

  test('a workload of ours takes over the labels that another manager of ours held, and its pods stay', async () => {
    const world = await createDeployed(own('db:1', { labels: MESH_LABELS }))
    const apply = (manager: string, content: object) =>
      world.api.handle({
        method: 'PATCH',
        path: `${PATH}?fieldManager=${encodeURIComponent(manager)}&force=true`,
        headers: { 'content-type': 'application/apply-patch+yaml' },
        body: JSON.stringify({ apiVersion: 'apps/v1', kind: 'StatefulSet', ...content }),
      })
    const identity = { name: 'db', namespace: 'shop' }
    const other = await createDeployed()
    const { metadata, spec } = other.object('StatefulSet', 'db') ?? {}
    apply(LABEL_MANAGER, { metadata: identity, spec: { template: { metadata: { labels: MESH_LABELS } } } })
    apply(WORKLOAD_MANAGER, {
      metadata: { ...identity, labels: metadata?.labels },
      spec: { ...spec, replicas: undefined },
    })
    expect([managersOf(world), labelsOf(world)]).toEqual([
      [WORKLOAD_MANAGER, LABEL_MANAGER],
      { ...NAME, ...MESH_LABELS },
    ])
    const template = templateOf(world)
    expect((await world.send('resync', DB)).status).toBe('changed')
    expect([templateOf(world), managersOf(world)]).toEqual([template, [WORKLOAD_MANAGER]])
    expect((await world.send('resync', DB)).status).toBe('unchanged')
    await configure(world, own('db:1'), DB)
    expect(labelsOf(world)).toEqual(NAME)
  })

  test.each([
    ['gets', {}, MESH_LABELS],
    ['loses', MESH_LABELS, {}],
    ['changes', { ...MESH_LABELS, 'istio.io/use-waypoint': 'shop-other-waypoint' }, MESH_LABELS],
  ])(
    '%s its labels while its new spec is refused, and has one manager once that is taken',
    async (_, before, after) => {
      const world = await createDeployed(own('db:1', { labels: { team: 'x', ...before } }))
      refuse(world, PATH, WORKLOAD_MANAGER)
      await configure(world, own('db:2', { labels: { team: 'x', ...after } }), DB)
      expect([imageOf(world), labelsOf(world)]).toEqual(['db:1', { ...NAME, team: 'x', ...after }])
      world.intercept = undefined
      await world.send('resync', DB)
      expect([imageOf(world), labelsOf(world)]).toEqual(['db:2', { ...NAME, team: 'x', ...after }])
      expect(managersOf(world)).toEqual([WORKLOAD_MANAGER])
    },
  )

  test('a workload of ours gets its image, and goes on the mesh once what guards it there is not refused any more', async () => {
    const world = await createDeployed()
    refuse(world, POLICIES)
    await configure(world, guarded('db:2'), DB)
    expect([imageOf(world), labelsOf(world)]).toEqual(['db:2', NAME])
    world.intercept = undefined
    await world.send('resync', DB)
    expect(labelsOf(world)).toEqual({ ...NAME, ...MESH_LABELS })
    expect(managersOf(world)).toEqual([WORKLOAD_MANAGER])
  })

  test('a workload of ours has the labels that its spec says, and what a relation asks for instead is a conflict', async () => {
    const labels = { 'istio.io/use-waypoint': 'mine' }
    const world = await createDeployed(own('db:1', {}, { podMetadata: { labels } }))
    const { conflicts } = await world.send('relation-changed', { ...DB, ...meshRelation() })
    expect(labelsOf(world)).toEqual({ ...NAME, ...MESH_LABELS, ...labels })
    expect(conflicts).toEqual([
      expect.objectContaining({ key: 'istio.io/use-waypoint', value: 'mine', manager: WORKLOAD_MANAGER }),
    ])
    await configure(world, own('db:1'), DB)
    expect(labelsOf(world)).toEqual({ ...NAME, ...MESH_LABELS })
  })

  test('a workload of ours keeps the label that somebody else has set on its template, and says so', async () => {
    const world = await createDeployed(own('db:1', { labels: MESH_LABELS }))
    const key = 'istio.io/dataplane-mode'
    edit(world, PATH, { spec: { template: { metadata: { labels: { [key]: 'none' } } } } })
    const { conflicts } = await world.send('resync', DB)
    expect(labelsOf(world)).toMatchObject({ [key]: 'none' })
    expect(conflicts).toEqual([expect.objectContaining({ key, value: 'none', manager: 'kubectl-edit' })])
  })
})

describe('a coordinator of ours with reload', () => {
  const HASH = 'meshstep.dev/nginx-hash'
  const config = (image: string, changes: object = {}) =>
    own(image, { coordinator: { ...COORDINATOR_CONFIG, reload: true, ...changes } })
  const hashOf = (world: World) => templateOf(world, COORDINATOR).metadata.annotations?.[HASH]

  test('a coordinator of ours with reload is created in one write, and changed in one with its nginx file, after that', async () => {
    const world = createMesh()
    const subject = { application: COORDINATOR }
    const paths = ['/configmaps/tempo', '/statefulsets/tempo?']
    const created = await orderOf(world, paths, () => configure(world, config('tempo:1'), subject))
    expect([generationOf(world, COORDINATOR), created]).toEqual([1, paths])
    const before = hashOf(world)
    expect(before).toMatch(/^[0-9a-f]{16}$/)
    const locations = [{ path: '/api/', upstream: 'any' }]
    const nginx = { upstreams: { any: { role: '*', port: 3200 } }, servers: [{ port: 3200, locations }] }
    const changed = await orderOf(world, paths, () => configure(world, config('tempo:2', { nginx }), subject))
    expect([generationOf(world, COORDINATOR), changed]).toEqual([2, paths])
    expect(hashOf(world)).not.toBe(before)
  })
})
