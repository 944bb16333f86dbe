import { describe, expect, test } from 'vitest'
import { startIstio } from '../../../src/embedded/demo/istio.ts'
import type { KubernetesObject } from '../../../src/platform/kubernetes/objects.ts'
import {
  ask,
  BEACON,
  configure,
  createMesh,
  objectsOf,
  policiesIn,
  provides,
  WAYPOINT,
  wire,
} from '../../helpers/beacon-world.ts'
import { application } from '../../helpers/mesh.ts'
import { createWorld, type World } from '../../helpers/world.ts'

const SCOPE = 'kubernetes-resource-handler-scope'
const INSTANCE = 'app.kubernetes.io/instance'

type Made = { name?: string; namespace?: string; instance?: string; scope?: string; spec?: Record<string, unknown> }

/** A policy as the charm library leaves it. */
const librarys = ({
  name = 'beacon-shop-policy-web-shop-db-1234abcd',
  namespace = 'shop',
  instance = 'shop-beacon',
  scope = 'istio-authorization-policy',
  spec = { targetRefs: [{ kind: 'Service', group: '', name: 'db' }], rules: [{}] },
}: Made = {}): KubernetesObject => ({
  apiVersion: 'security.istio.io/v1',
  kind: 'AuthorizationPolicy',
  metadata: { name, namespace, labels: { [INSTANCE]: instance, [SCOPE]: scope } },
  spec,
})

const GATEWAY: KubernetesObject = {
  apiVersion: 'gateway.networking.k8s.io/v1',
  kind: 'Gateway',
  metadata: { name: WAYPOINT, namespace: 'shop', labels: { [INSTANCE]: 'shop-beacon', [SCOPE]: 'istio-waypoint' } },
  spec: { gatewayClassName: 'old', listeners: [{ name: 'mesh', port: 15_008, protocol: 'HBONE' }] },
}

/** What the charm library of the beacon has left behind, under its field manager. */
const createLeft = (...objects: readonly KubernetesObject[]) => {
  const world = createMesh([], false)
  world.api.seed(objects, { manager: 'beacon' })
  return world
}

const names = (world: World) => policiesIn(world).map(({ metadata }) => `${metadata.namespace}/${metadata.name}`)
const LEFT = 'shop/beacon-shop-policy-web-shop-db-1234abcd'
const OURS = expect.stringMatching(/^shop\/beacon-shop-policy-db-[0-9a-f]{10}$/)

describe('what the charm library left', () => {
  test('what the charm library left stays where the config does not say to adopt it', async () => {
    const world = createLeft(librarys(), GATEWAY)
    expect(await configure(world, { mesh: {} })).toMatchObject({
      status: 'conflict',
      conflicts: [{ object: `Gateway shop/${WAYPOINT}`, manager: 'beacon' }],
    })
    expect(names(world)).toEqual([LEFT])
    expect(objectsOf(world, 'Gateway')[0]?.spec).toMatchObject({ gatewayClassName: 'old' })
  })

  test.each<[string, Made]>([
    ['of another application', { instance: 'shop-other' }],
    ['of an application of the same name in another namespace', { instance: 'bank-beacon' }],
    [
      'of the same name in another namespace, of an old generation',
      { instance: 'beacon', namespace: 'bank', name: 'beacon-bank-policy-a' },
    ],
    ['for a target of the same name in another namespace', { instance: 'beacon', namespace: 'bank' }],
    ['of another purpose', { scope: 'something-else' }],
    ['for a target that nobody asked for', { spec: { targetRefs: [{ kind: 'Service', name: 'cart' }], rules: [{}] } }],
    ['named after another application', { name: 'bea-con-shop-policy-web-shop-db-1234abcd', instance: 'beacon' }],
  ])('what the charm library left stays when it is %s', async (_, made) => {
    const world = createLeft(librarys(made))
    await ask(world, [wire()])
    await configure(world, { mesh: { adopt: true } })
    expect(names(world)).toHaveLength(2)
  })

  test.each<[string, Made]>([
    ['of the latest generation', {}],
    ['of the one before', { instance: 'beacon-shop' }],
    ['of the first one', { instance: 'beacon' }],
    ['for its own units', { instance: 'beacon-shop', scope: 'beacon-shop-cluster-internal' }],
  ])('what the charm library left is removed once ours is there and Istio has taken it: %s', async (_, made) => {
    const world = createLeft(librarys(made))
    await ask(world, [wire()])
    const events: string[] = []
    world.api.subscribe(({ type, object }) => {
      if (object.kind === 'AuthorizationPolicy') events.push(type)
    })
    expect(await configure(world, { mesh: { adopt: true } })).toMatchObject({ status: 'changed', messages: [] })
    expect(events).toEqual(['ADDED', 'ADDED', 'DELETED'])
    expect(names(world)).toEqual([OURS])
    expect((await world.send('resync', BEACON)).status).toBe('unchanged')
  })

  test('what the charm library left to let somebody in stays where ours at its target only denies', async () => {
    const world = createLeft(librarys())
    const spec = { targetRefs: [{ group: '', kind: 'Service', name: 'db' }], action: 'DENY', rules: [{}] }
    const deny = {
      ...{ apiVersion: 'security.istio.io/v1', kind: 'AuthorizationPolicy', metadata: { name: 'no-deletes' }, spec },
    }
    await configure(world, { mesh: { adopt: true }, rawPolicies: [deny] })
    await world.send('resync', BEACON)
    expect(names(world)).toEqual([LEFT, 'shop/no-deletes'])
  })

  test('what the charm library left stays while it lets in a client that no relation lets in yet', async () => {
    const other = 'beacon-shop-policy-other-shop-db-1234abcd'
    const principals = ['cluster.local/ns/shop/sa/other']
    const spec = { targetRefs: [{ kind: 'Service', name: 'db' }], rules: [{ from: [{ source: { principals } }] }] }
    const world = createLeft(librarys(), librarys({ name: other, spec }))
    await ask(world, [wire()])
    await configure(world, { mesh: { adopt: true } })
    const { messages } = await world.send('resync', BEACON)
    expect(names(world)).toEqual([OURS, `shop/${other}`])
    expect(messages).toEqual([
      `AuthorizationPolicy shop/${other} of the charm library stays: no relation lets in ${principals}, as it does: tell the relation, or delete the policy`,
    ])
    await ask(world, [wire(), wire({ source_app_name: 'other' })])
    await world.send('resync', BEACON)
    expect(names(world)).toEqual([OURS])
  })

  test('what the charm library left stays while Istio has not taken ours', async () => {
    const world = createWorld([])
    const istio = startIstio(world)
    world.api.seed([librarys()], { manager: 'beacon' })
    await ask(world, [wire()])
    istio.stop()
    await configure(world, { mesh: { adopt: true } })
    await world.send('resync', BEACON)
    expect(names(world)).toContain(LEFT)
    world.api.seed(application('db'))
    startIstio(world)
    await world.send('resync', BEACON)
    expect(names(world)).toEqual([OURS])
  })

  test('what the charm library left stays while ours are audited, and goes once they are enforced', async () => {
    const world = createLeft(librarys())
    await ask(world, [wire()])
    await configure(world, { mesh: { adopt: true, enforcement: 'audit' } })
    await world.send('resync', BEACON)
    expect(names(world)).toContain(LEFT)
    await configure(world, { mesh: { adopt: true } })
    await world.send('resync', BEACON)
    expect(names(world)).toEqual([OURS])
  })

  test('what the charm library left is not taken over in place by a dry run', async () => {
    const name = 'beacon-shop-external-traffic'
    const spec = { targetRefs: [{ kind: 'Gateway', group: 'gateway.networking.k8s.io', name: 'beacon' }], rules: [] }
    const world = createLeft(librarys({ name, scope: 'external-traffic-authorization-policy', spec }))
    const mesh = { adopt: true, externalTraffic: [] }
    const annotations = () => policiesIn(world).map(({ metadata }) => metadata.annotations ?? {})
    await configure(world, { mesh: { ...mesh, enforcement: 'audit' } })
    expect(annotations()).toEqual([{}])
  })

  test('what the charm library left is taken over in place where ours has the same name', async () => {
    const name = 'beacon-shop-policy-all-sources-modeloperator'
    const spec = { selector: { matchLabels: { 'juju-modeloperator': 'modeloperator' } }, rules: [{}] }
    const world = createLeft(librarys({ name, scope: 'modeloperator-authorization-policy', spec }), GATEWAY)
    const uids = [...policiesIn(world), ...objectsOf(world, 'Gateway')].map(({ metadata }) => metadata.uid)
    expect(await configure(world, { mesh: { adopt: true, modelOnMesh: true } })).toMatchObject({ conflicts: [] })
    expect([...policiesIn(world), ...objectsOf(world, 'Gateway')].map(({ metadata }) => metadata.uid)).toEqual(uids)
    expect(objectsOf(world, 'Gateway')[0]?.spec).toMatchObject({ gatewayClassName: 'istio-waypoint' })
    await world.send('application-removed', BEACON)
    expect([...policiesIn(world), ...objectsOf(world, 'Gateway')]).toEqual([])
  })

  test('what the charm library left stays until a relation asks for ours, and that is told', async () => {
    const world = createLeft(librarys())
    expect(await configure(world, { mesh: { adopt: true } })).toMatchObject({
      messages: expect.arrayContaining([
        `AuthorizationPolicy ${LEFT} of the charm library stays: nothing of ours is enforced at its target`,
      ]),
    })
    expect(names(world)).toEqual([LEFT])
    await ask(world, [wire()])
    await world.send('resync', BEACON)
    expect(names(world)).toEqual([OURS])
  })

  test.each<[string, (world: World) => Promise<unknown>]>([
    ['a databag cannot be read', (world) => ask(world, '[{', { id: 8, application: 'web' })],
    [
      'a Service is not there yet',
      (world) =>
        ask(world, [wire({ target_app_name: 'web', target_service: 'web-read' })], { id: 8, application: 'web' }),
    ],
    [
      'a namespace is not there',
      (world) =>
        world.send(
          'relation-changed',
          provides(8, { application: 'web', namespace: 'gone' }, [
            wire({ target_namespace: 'gone', target_app_name: 'web' }),
          ]),
        ),
    ],
  ])('what the charm library left goes for each target on its own, while another one waits: %s', async (_, miss) => {
    const web = 'beacon-shop-policy-a-shop-web-1234abcd'
    const world = createLeft(
      librarys(),
      librarys({ name: web, spec: { targetRefs: [{ kind: 'Service', name: 'web' }], rules: [{}] } }),
    )
    await ask(world, [wire()])
    await miss(world)
    await configure(world, { mesh: { adopt: true } })
    await world.send('resync', BEACON)
    expect(names(world)).toEqual([`shop/${web}`, OURS])
  })

  test('what the charm library left is told apart from that of an application whose namespace and name are joined to the same label', async () => {
    const theirs = librarys({ name: 'c-a-b-policy-web-shop-db-1234abcd', instance: 'a-b-c' })
    const world = createMesh([], false)
    for (const name of ['a', 'a-b']) world.api.seed([{ apiVersion: 'v1', kind: 'Namespace', metadata: { name } }])
    world.api.seed([theirs], { manager: 'c' })
    const subject = { namespace: 'a', application: 'b-c' }
    await world.send('relation-changed', provides(7, { application: 'db', namespace: 'shop' }, [wire()], subject))
    await configure(world, { mesh: { adopt: true } }, subject)
    expect(names(world)).toContain('shop/c-a-b-policy-web-shop-db-1234abcd')
    expect(names(world)).toHaveLength(2)
  })

  test('what the charm library left stays while the API server refuses one of ours', async () => {
    const world = createLeft(librarys())
    await ask(world, [wire()])
    world.intercept = ({ method, path }) =>
      method === 'PATCH' && path.includes('authorizationpolicies')
        ? { status: 400, headers: {}, body: '{"message":"admission webhook denied the request"}' }
        : undefined
    expect(await configure(world, { mesh: { adopt: true } })).toMatchObject({ status: 'waiting' })
    expect(names(world)).toEqual([LEFT])
  })
})
