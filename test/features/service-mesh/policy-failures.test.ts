import { describe, expect, test } from 'vitest'
import type { TransportAnswer } from '../../../src/platform/kubernetes/client.ts'
import {
  ask,
  BEACON,
  configure,
  createMesh,
  objectsOf,
  policiesIn,
  policiesOf,
  provides,
  remove,
  requires,
  sourcesOf,
  wire,
  writes,
} from '../../helpers/beacon-world.ts'
import type { World } from '../../helpers/world.ts'

const DB = { application: 'db' }
const POLICIES = 'authorizationpolicies'

const answerTo = (
  world: World,
  part: string,
  answer: TransportAnswer | undefined,
  methods = ['GET', 'PATCH', 'DELETE'],
) => {
  world.intercept = ({ method, path }) => (methods.includes(method) && path.includes(part) ? answer : undefined)
}

const UNKNOWN: TransportAnswer = { status: 404, headers: {}, body: '404 page not found\n' }

const status = (code: number, message: string, more: Record<string, unknown> = {}): TransportAnswer => ({
  status: code,
  headers: {},
  body: JSON.stringify({ kind: 'Status', apiVersion: 'v1', status: 'Failure', message, code, ...more }),
})

const both = [wire(), wire({ target_type: 'unit' })]

describe('a kind that the API server does not know', () => {
  test.each<[string, string, string, RegExp]>([
    [
      'AuthorizationPolicy',
      POLICIES,
      'Gateway',
      /does not know the kind AuthorizationPolicy: install Istio; .* applies 2$/,
    ],
    ['Gateway', 'gateways', 'AuthorizationPolicy', /does not know the kind Gateway: install the Gateway API/],
  ])('%s: is waited for, the rest is done, and it is applied once it is known', async (kind, part, other, message) => {
    const world = createMesh([], false)
    await ask(world, both)
    answerTo(world, part, UNKNOWN)
    expect(await configure(world, { mesh: {} })).toMatchObject({
      status: 'waiting',
      messages: [expect.stringMatching(message)],
    })
    expect([objectsOf(world, kind).length, objectsOf(world, other).length > 0]).toEqual([0, true])
    world.intercept = undefined
    expect((await world.send('resync', BEACON)).status).toBe('changed')
    expect(objectsOf(world, kind).length).toBeGreaterThan(0)
  })

  test('a kind that the API server does not know for a while: nothing is removed', async () => {
    const world = createMesh([], false)
    await configure(world, { mesh: {} })
    await ask(world, both)
    answerTo(world, POLICIES, UNKNOWN)
    expect((await ask(world, [])).status).toBe('saved')
    world.intercept = undefined
    expect(policiesIn(world)).toHaveLength(2)
    await world.send('resync', BEACON)
    expect(policiesIn(world)).toEqual([])
  })

  test('a kind that the API server does not know when the beacon is removed: the rest of it goes, and it is not stuck', async () => {
    const world = createMesh([], false)
    await configure(world, { mesh: {} })
    answerTo(world, POLICIES, UNKNOWN)
    expect((await world.send('application-removed', BEACON)).status).toBe('changed')
    expect(objectsOf(world, 'Gateway')).toEqual([])
    world.clock.advance(25 * 60 * 60 * 1_000)
    await world.send('resync', BEACON)
    expect(world.memory('beacon')).toBeUndefined()
  })
})

describe('what the API server refuses', () => {
  const isWeb = (path: string) => path.includes('policy-web')

  test.each<[string, TransportAnswer, RegExp]>([
    [
      'as invalid',
      status(422, 'AuthorizationPolicy.security.istio.io "x" is invalid: spec: no', {
        details: { causes: [{ field: 'spec' }] },
      }),
      /^APPLY AuthorizationPolicy shop\/beacon-shop-policy-web-.*: 422 .*spec: no/,
    ],
    [
      'by a webhook',
      status(400, 'admission webhook "validation.istio.io" denied the request'),
      /: 400 admission webhook/,
    ],
    ['by a quota', status(403, 'exceeded quota: policies'), /: 403 exceeded quota/],
  ])('one object %s: it is named, the others are granted, and it is tried again', async (_, answer, message) => {
    const world = createMesh([], false)
    await configure(world, { mesh: {} })
    await ask(world, [wire()])
    world.intercept = ({ method, path }) => (method === 'PATCH' && isWeb(path) ? answer : undefined)
    const outcome = await ask(world, [wire({ target_app_name: 'web' })], { id: 8, application: 'web' })
    const refused = expect.stringMatching(message)
    expect(outcome).toMatchObject({ status: 'waiting', messages: [refused, refused] })
    await ask(world, [wire({ source_app_name: 'cart' })])
    expect(sourcesOf(policiesOf(world, 'db'))).toEqual(['shop/cart'])
    world.intercept = undefined
    expect((await world.send('resync', BEACON)).status).toBe('changed')
    expect(policiesOf(world, 'web')).toHaveLength(1)
  })

  test.each<[string, string[], RegExp]>([
    ['to list', ['GET'], /LIST AuthorizationPolicy shop: 403 .*cannot list resource.*Grant it with a Role/],
    ['to write', ['PATCH'], /APPLY AuthorizationPolicy .*403 .*Grant it with a Role/],
  ])(
    'what the API server refuses for want of a permission %s: nobody is granted anything, and it is said what to grant',
    async (_, methods, message) => {
      const world = createMesh(['beacon', 'db'], false)
      await ask(world, both)
      await world.send('relation-changed', requires(7, DB))
      answerTo(
        world,
        POLICIES,
        status(403, 'policies is forbidden: User "meshstep" cannot list resource', { reason: 'Forbidden' }),
        methods,
      )
      await configure(world, { mesh: {} })
      expect(objectsOf(world, 'Gateway')).toHaveLength(1)
      expect(await world.send('resync', DB)).toMatchObject({
        status: 'waiting',
        messages: expect.arrayContaining([expect.stringMatching(message)]),
        applicationStatus: { status: 'error', message: expect.stringMatching(message) },
      })
      expect(world.labels('db').template).not.toHaveProperty('istio.io/dataplane-mode')
      world.intercept = undefined
      expect(await world.send('resync', DB)).not.toHaveProperty('applicationStatus')
      expect(policiesIn(world)).toHaveLength(2)
      expect(world.labels('db').template).toHaveProperty('istio.io/dataplane-mode')
    },
  )

  test('what the API server refuses for want of a permission to list: what is there is not removed', async () => {
    const world = createMesh([], false)
    await configure(world, { mesh: {} })
    await ask(world, both)
    answerTo(world, POLICIES, status(403, 'User "meshstep" cannot list resource'), ['GET'])
    await ask(world, [])
    expect(policiesIn(world)).toHaveLength(2)
    world.intercept = undefined
    await world.send('resync', BEACON)
    expect(policiesIn(world)).toEqual([])
  })
})

describe('a beacon that lost its memory', () => {
  /** A resync of the namespace, and of each application that it finds. */
  const sweep = async (world: World) => {
    world.published.length = 0
    await world.send('resync', { application: undefined })
    for (const found of world.published) expect((await world.post(found)).status).toBe(200)
  }

  const createLost = async () => {
    const world = createMesh([], false)
    for (const name of ['bank', 'istio-system'])
      world.api.seed([{ apiVersion: 'v1', kind: 'Namespace', metadata: { name } }])
    await configure(world, { mesh: { hardened: true, modelOnMesh: true } })
    await world.send(
      'relation-changed',
      provides(7, { application: 'db', namespace: 'bank' }, [wire({ target_namespace: 'bank' })]),
    )
    remove(world, '/api/v1/namespaces/shop/configmaps/juju-service-mesh-beacon-labels')
    return world
  }

  test('a beacon that lost its memory keeps what it made through resyncs of its namespace, and lets go of all when it is removed, wherever that is', async () => {
    const world = await createLost()
    expect(policiesIn(world).length).toBeGreaterThan(2)
    world.calls.length = 0
    await sweep(world)
    await world.send('resync', BEACON)
    expect(writes(world)).toEqual([])
    await world.send('application-removed', BEACON)
    expect([
      ...policiesIn(world),
      ...objectsOf(world, 'Gateway'),
      ...objectsOf(world, 'HorizontalPodAutoscaler'),
    ]).toEqual([])
    const [namespace] = objectsOf(world, 'Namespace').filter(({ metadata }) => metadata.name === 'shop')
    expect(Object.keys(namespace?.metadata.labels ?? {})).toEqual(['kubernetes.io/metadata.name'])
    // a step that began before may still write what is gone
    world.clock.advance(25 * 60 * 60 * 1_000)
    await sweep(world)
    expect(world.memory('beacon')).toBeUndefined()
  })

  test('a beacon that lost its memory takes up what is there when its events come again', async () => {
    const world = await createLost()
    const uids = () => policiesIn(world).map(({ metadata }) => metadata.uid)
    const before = uids()
    await world.send(
      'relation-changed',
      provides(7, { application: 'db', namespace: 'bank' }, [wire({ target_namespace: 'bank' })]),
    )
    world.calls.length = 0
    expect(await configure(world, { mesh: { hardened: true, modelOnMesh: true } })).toMatchObject({ conflicts: [] })
    expect(uids()).toEqual(before)
    expect(writes(world)).toEqual([])
  })
})
