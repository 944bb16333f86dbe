import { describe, expect, test } from 'vitest'
import { startIstio } from '../../../src/embedded/demo/istio.ts'
import {
  ask,
  BEACON,
  configure,
  createMesh,
  edit,
  path,
  policiesIn,
  related,
  requires,
  wire,
} from '../../helpers/beacon-world.ts'
import { application } from '../../helpers/mesh.ts'
import { passes, worldOf } from '../../helpers/safety.ts'
import { createWorld, FORBIDDEN, type World } from '../../helpers/world.ts'

const ZTUNNEL = 'beacon-shop-policy-global-allow-nothing-ztunnel'
const WAYPOINT = 'beacon-shop-policy-global-allow-nothing-waypoint'
const MODELOPERATOR = 'beacon-shop-policy-all-sources-modeloperator'
const ROOT = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'istio-system' } }
const WEB_TO_DB = /^shop\/beacon-shop-policy-db-/

const createRoot = () => {
  const world = createMesh([], false)
  world.api.seed([ROOT])
  return world
}

const names = (world: World) => policiesIn(world).map(({ metadata }) => `${metadata.namespace}/${metadata.name}`)

/** What happens to policies from now on, in order. */
const watched = (world: World): string[] => {
  const events: string[] = []
  world.api.subscribe(({ type, object: { kind, metadata } }) => {
    if (kind === 'AuthorizationPolicy') events.push(`${type} ${metadata.namespace}/${metadata.name}`)
  })
  return events
}

const istioConfig = (mesh: string) => ({
  ...{ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'istio', namespace: 'istio-system' } },
  data: { mesh },
})

test.each([false, true])(
  'hardened mode stays with what is allowed at an application that another program runs: root refused, %s',
  async (isRefused) => {
    const world = createMesh(['web', 'ext'], false)
    world.api.seed([ROOT])
    await configure(world, { mesh: { hardened: true } })
    await ask(world, [wire({ target_app_name: 'ext' }), wire({ target_app_name: 'ext', target_type: 'unit' })], {
      id: 9,
      application: 'ext',
    })
    const labels = {
      'istio.io/dataplane-mode': 'ambient',
      'istio.io/use-waypoint': 'shop-beacon-waypoint',
      'istio.io/use-waypoint-namespace': 'shop',
    }
    edit(world, '/api/v1/namespaces/shop/services/ext', { metadata: { labels } }, 'ext')
    edit(
      world,
      '/apis/apps/v1/namespaces/shop/statefulsets/ext',
      { spec: { template: { metadata: { labels } } } },
      'ext',
    )
    const reach = () => passes(worldOf(world.api, { autoAllow: false }), 'web', { application: 'ext', service: 'ext' })
    expect(reach()).toBe(true)
    const seen: boolean[] = []
    world.api.subscribe(() => seen.push(reach()))
    if (isRefused)
      world.intercept = ({ method, path }) =>
        method !== 'GET' && path.includes('/istio-system/') ? FORBIDDEN : undefined
    await configure(world, { mesh: { enforcement: 'audit' } })
    expect(seen).not.toContain(false)
  },
)

describe('hardened mode of another beacon', () => {
  const DB = { application: 'db' }
  const OTHER = { application: 'other' }

  /** `other` runs the mesh of db and of bare, which declares nothing; `web` may reach db at its Service and its pods. */
  const createShop = async () => {
    const serviceSpec = { ports: [{ port: 80 }] }
    const objects = ['db', 'web', 'bare'].flatMap((name) => application(name, { labels: {}, serviceSpec }))
    const world = createWorld([...objects, ROOT, istioConfig('')], { isOwnSink: true })
    startIstio(world)
    await configure(world, { mesh: {} }, OTHER)
    await configure(
      world,
      {
        policies: [
          { type: 'app', relation: 'db', endpoints: [] },
          { type: 'unit', relation: 'db', ports: [80] },
        ],
      },
      DB,
    )
    await world.send('relation-changed', related(3, 'db', { application: 'web' }, DB))
    for (const [id, application] of ['db', 'web', 'bare'].entries())
      await world.send('relation-changed', requires(id + 10, { application }, OTHER))
    return world
  }

  const TARGETS = [DB, { ...DB, service: 'db' }, { application: 'bare' }, { application: 'bare', service: 'bare' }]
  const reach = (world: World, from: string) =>
    TARGETS.map((to) => [false, true].map((autoAllow) => passes(worldOf(world.api, { autoAllow }), from, to)).join('/'))
  const explain = async (world: World, to: string) => {
    const answer = await world.app.request(`/explain?from=shop/web&to=shop/${to}&port=80`)
    return (await answer.json()) as { allowed: boolean; sentence: string }
  }

  test('hardened mode of another beacon refuses nobody whom its members let in, and everybody else, and an answer says whose it is', async () => {
    const world = await createShop()
    const OPEN = ['true/true', 'true/true', 'true/false', 'true/true']
    expect(reach(world, 'web')).toEqual(OPEN)
    const seen: string[][] = []
    const stop = world.api.subscribe(() => seen.push(reach(world, 'web').slice(0, 2)))
    await configure(world, { mesh: { hardened: true } })
    expect(reach(world, 'web')).toEqual(['true/true', 'true/true', 'false/false', 'false/false'])
    expect(await explain(world, 'db')).toMatchObject({ allowed: true })
    expect(await explain(world, 'bare')).toMatchObject({
      allowed: false,
      sentence: expect.stringContaining('(asked for by config of shop/beacon)'),
    })
    await world.send('resync', OTHER)
    expect(reach(world, 'stranger')).toEqual(['false/false', 'false/false', 'false/false', 'false/false'])
    await configure(world, { mesh: { hardened: false } })
    stop()
    expect(reach(world, 'web')).toEqual(OPEN)
    expect(seen.filter((one) => one.includes('false'))).toEqual([])
  })

  test('hardened mode that was a dry run so far denies nobody before the policies of its consumers are enforced', async () => {
    const world = await createShop()
    await configure(world, { mesh: { hardened: true, enforcement: 'audit' } }, OTHER)
    const seen: string[] = []
    world.api.subscribe(() => seen.push(...reach(world, 'web').slice(0, 2)))
    await configure(world, { mesh: { hardened: true } }, OTHER)
    expect(reach(world, 'stranger')[0]).toBe('false/false')
    expect(seen.filter((one) => one.startsWith('false'))).toEqual([])
  })

  test.each([
    ['a dry run', {}, { enforcement: 'audit' }],
    ['no policies of its consumers at all', {}, { manageAuthorizationPolicies: false }],
    ['no policies by default', { policies: 'related' }, {}],
  ])('hardened mode stays with what is allowed while it cannot be taken off: by %s', async (_, before, after) => {
    const world = await createShop()
    await configure(world, { mesh: { ...before, hardened: true } }, OTHER)
    if ('policies' in before) await configure(world, {}, DB)
    expect(reach(world, 'web')[1]).toMatch(/^true/)
    world.intercept = ({ method, path }) =>
      method !== 'GET' && path.includes('/istio-system/') ? FORBIDDEN : undefined
    await configure(world, { mesh: after }, OTHER)
    await world.send('resync', DB)
    expect(reach(world, 'web')[1]).toMatch(/^true/)
    world.intercept = undefined
    await world.send('resync', OTHER)
    expect(reach(world, 'stranger')[2]).toMatch(/^true/)
  })

  test('hardened mode of another beacon is another than the own one: the mesh is hardened until both are off', async () => {
    const world = await createShop()
    for (const of of [BEACON, OTHER]) await configure(world, { mesh: { hardened: true } }, of)
    await configure(world, { mesh: {} }, OTHER)
    expect(reach(world, 'web').slice(2)).toEqual(['false/false', 'false/false'])
    await configure(world, { mesh: {} })
    expect(reach(world, 'web').slice(2)).toEqual(['true/false', 'true/true'])
  })
})

describe('hardened mode', () => {
  test("hardened mode says when its namespace is not the root of Istio's own config", async () => {
    const world = createMesh([], false)
    world.api.seed([ROOT, { ...ROOT, metadata: { name: 'istio-sytem' } }, istioConfig('trustDomain: example.org\n')])
    expect(await configure(world, { mesh: { hardened: true, rootNamespace: 'istio-sytem' } })).toMatchObject({
      status: 'waiting',
      messages: ["the mesh is not hardened: Istio's root namespace is istio-system, and rootNamespace is istio-sytem"],
    })
    expect((await configure(world, { mesh: { hardened: true } })).messages).toEqual([])
    world.api.seed([{ ...istioConfig(''), metadata: { name: 'istio', namespace: 'istio-sytem' } }])
    expect((await configure(world, { mesh: { hardened: true, rootNamespace: 'istio-sytem' } })).messages).toEqual([])
  })

  test('hardened mode waits for the root namespace, and everything else is done', async () => {
    const world = createMesh([], false)
    await ask(world, [wire()])
    expect(await configure(world, { mesh: { hardened: true } })).toMatchObject({
      status: 'waiting',
      messages: [
        ...Array.from({ length: 2 }, () => expect.stringContaining('namespaces "istio-system" not found')),
        "whether the mesh is hardened is not known, because Istio's own config is not: there is no readable ConfigMap istio-system/istio",
      ],
    })
    expect(names(world)).toEqual([expect.stringMatching(WEB_TO_DB)])
  })

  test('hardened mode denies what no policy allows, at the ztunnels and at the waypoints', async () => {
    const world = createRoot()
    expect((await configure(world, { mesh: { hardened: true } })).status).toBe('changed')
    const written = policiesIn(world).map(({ apiVersion, kind, metadata, spec }) => ({
      apiVersion,
      kind,
      metadata: { name: metadata.name, namespace: metadata.namespace, labels: metadata.labels },
      spec,
    }))
    const labels = {
      'app.kubernetes.io/managed-by': 'meshstep',
      'meshstep.dev/application': 'beacon',
      'meshstep.dev/namespace': 'shop',
    }
    const policy = { apiVersion: 'security.istio.io/v1', kind: 'AuthorizationPolicy' }
    expect(written).toEqual([
      {
        ...policy,
        metadata: { name: WAYPOINT, namespace: 'istio-system', labels },
        spec: { targetRefs: [{ group: 'gateway.networking.k8s.io', kind: 'GatewayClass', name: 'istio-waypoint' }] },
      },
      { ...policy, metadata: { name: ZTUNNEL, namespace: 'istio-system', labels }, spec: {} },
    ])
    world.calls.length = 0
    expect((await world.send('resync', BEACON)).status).toBe('unchanged')
  })

  test('hardened mode comes after what is allowed, and goes before it', async () => {
    const world = createRoot()
    await ask(world, [wire()])
    const events = watched(world)
    await configure(world, { mesh: { hardened: true, modelOnMesh: true } })
    expect(events.map((event) => event.includes('allow-nothing'))).toEqual([false, false, false, true, true])
    events.length = 0
    await world.send('application-removed', BEACON)
    expect(events.map((event) => event.includes('allow-nothing'))).toEqual([true, true, false, false, false])
    expect(names(world)).toEqual([])
  })

  test('hardened mode waits until the policies stand that allow something to everybody', async () => {
    const world = createRoot()
    world.intercept = ({ method, path: to }) =>
      method === 'PATCH' && to.includes(MODELOPERATOR) ? FORBIDDEN : undefined
    expect((await configure(world, { mesh: { hardened: true, modelOnMesh: true } })).status).toBe('waiting')
    await ask(world, [wire()])
    expect(names(world)).toEqual([expect.stringMatching(WEB_TO_DB)])
    world.intercept = undefined
    await world.send('resync', BEACON)
    expect(names(world)).toContain(`istio-system/${ZTUNNEL}`)
  })

  test('hardened mode moves with the root namespace: it stands in the new one before it goes from the old one', async () => {
    const world = createRoot()
    world.api.seed([{ ...ROOT, metadata: { name: 'mesh-root' } }])
    await configure(world, { mesh: { hardened: true } })
    const events = watched(world)
    await configure(world, { mesh: { hardened: true, rootNamespace: 'mesh-root' } })
    expect(events.map((event) => event.replace(/beacon.*/, ''))).toEqual([
      ...['ADDED mesh-root/', 'ADDED mesh-root/'],
      ...['DELETED istio-system/', 'DELETED istio-system/'],
    ])
  })

  test('of two beacons of the same name does not meet', async () => {
    const world = createRoot()
    const other = { namespace: 'bank', application: 'beacon' }
    world.api.seed([{ ...ROOT, metadata: { name: 'bank' } }])
    for (const of of [BEACON, other])
      expect(await configure(world, { mesh: { hardened: true } }, of)).toMatchObject({ conflicts: [] })
    expect(names(world)).toHaveLength(4)
    await world.send('application-removed', other)
    expect(names(world)).toEqual([`istio-system/${WAYPOINT}`, `istio-system/${ZTUNNEL}`])
    expect((await world.send('resync', BEACON)).status).toBe('unchanged')
  })

  test('hardened mode that somebody has loosened is said so at each event, until it is as it was', async () => {
    const world = createRoot()
    await configure(world, { mesh: { hardened: true } })
    const ztunnel = policiesIn(world).find(({ metadata }) => metadata.name === ZTUNNEL)
    edit(world, ztunnel ? path(ztunnel) : '', { spec: { rules: [{}] } })
    for (const _ of [1, 2])
      expect(await world.send('resync', BEACON)).toMatchObject({
        status: 'conflict',
        conflicts: [{ object: `AuthorizationPolicy istio-system/${ZTUNNEL}`, manager: 'kubectl-edit', key: 'spec' }],
      })
    edit(world, ztunnel ? path(ztunnel) : '', { spec: { rules: null } })
    expect(await world.send('resync', BEACON)).toMatchObject({ status: 'unchanged', conflicts: [] })
  })
})

describe('the operator of a model that is on the mesh', () => {
  test.each<[string, Record<string, unknown>, boolean]>([
    ['is not, when the model is not', { modelOnMesh: false }, false],
    ['is not, where policies are not managed', { modelOnMesh: true, manageAuthorizationPolicies: false }, false],
    ['is, where they are', { modelOnMesh: true }, true],
    [
      'is in hardened mode in any case, which would lock the controller out',
      { modelOnMesh: true, manageAuthorizationPolicies: false, hardened: true },
      true,
    ],
  ])('%s open to everybody', async (_, mesh, isOpen) => {
    const world = createRoot()
    await configure(world, { mesh })
    const found = policiesIn(world).filter(({ metadata }) => metadata.name === MODELOPERATOR)
    expect(found.map(({ spec }) => spec)).toEqual(
      isOpen ? [{ selector: { matchLabels: { 'juju-modeloperator': 'modeloperator' } }, rules: [{}] }] : [],
    )
    await configure(world, { mesh: {} })
    expect(names(world)).toEqual([])
  })
})

describe('a raw policy for all waypoints', () => {
  const spec = { targetRefs: [{ group: 'gateway.networking.k8s.io', kind: 'GatewayClass', name: 'istio-waypoint' }] }
  const POLICY = { apiVersion: 'security.istio.io/v1', kind: 'AuthorizationPolicy' }
  const warningsIn = async (namespace: string, config?: string) => {
    const world = createMesh([], false)
    world.api.seed([ROOT, { ...ROOT, metadata: { name: 'istio-root' } }])
    if (config !== undefined) world.api.seed([istioConfig(config)])
    return (await configure(world, { rawPolicies: [{ ...POLICY, metadata: { name: 'all', namespace }, spec }] }))
      .messages
  }
  const NO_EFFECT = 'has no effect for the GatewayClass istio-waypoint: it would in the root namespace,'

  test.each<[string, string, string | undefined, string | undefined]>([
    [
      'is as it should be in the root namespace of Istio’s own config',
      'istio-root',
      'rootNamespace: istio-root',
      undefined,
    ],
    ['has no effect elsewhere', 'istio-system', 'rootNamespace: istio-root', `${NO_EFFECT} istio-root`],
    ['is as it should be in istio-system, where that config is not there', 'istio-system', undefined, undefined],
    ['may be as it should be in another one, where that config is not there', 'istio-root', undefined, undefined],
  ])('%s', async (_, namespace, config, warning) => {
    expect(await warningsIn(namespace, config)).toEqual(
      warning === undefined ? [] : [`AuthorizationPolicy ${namespace}/all ${warning}`],
    )
  })
})
