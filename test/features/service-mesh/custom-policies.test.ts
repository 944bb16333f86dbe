import { describe, expect, test } from 'vitest'
import {
  configure,
  createMesh,
  edit,
  lists,
  path,
  policiesIn,
  remove,
  sourcesOf,
  wire,
  writes,
} from '../../helpers/beacon-world.ts'
import type { World } from '../../helpers/world.ts'

const DB = { application: 'db' }
const POLICY = wire()
const RAW = {
  apiVersion: 'security.istio.io/v1',
  kind: 'AuthorizationPolicy',
  metadata: { name: 'no-deletes' },
  spec: {
    targetRefs: [{ kind: 'Service', name: 'db' }],
    action: 'DENY',
    rules: [{ to: [{ operation: { methods: ['DELETE'], ports: ['80'] } }] }],
  },
}

const createDb = () => createMesh(['db', 'web'], false)

const names = (world: World) => policiesIn(world).map(({ metadata }) => `${metadata.namespace}/${metadata.name}`)
const OURS = expect.stringMatching(/^shop\/db-shop-policy-db-[0-9a-f]{10}$/)

describe('policies of its own that an application may not have', () => {
  test.each<[string, Record<string, unknown>, RegExp]>([
    ['a policy with a key that is not known', { meshPolicies: [wire({ port: 80 })] }, /meshPolicies.0: .*port/],
    [
      'a policy without a target',
      { meshPolicies: [wire({ target_app_name: null })] },
      /meshPolicies.0: .*Neither target/,
    ],
    [
      'a wildcard for a name',
      { meshPolicies: [wire({ source_app_name: '*' })] },
      /meshPolicies.0: source_app_name: expected/,
    ],
    [
      'an empty endpoint',
      { meshPolicies: [wire({ endpoints: [{}] })] },
      /meshPolicies.0.endpoints.0: expected hosts, ports/,
    ],
    ['another kind', { rawPolicies: [{ ...RAW, kind: 'PeerAuthentication' }] }, /the only supported kind/],
    [
      'two targets',
      { rawPolicies: [{ ...RAW, spec: { selector: {}, targetRefs: [{ kind: 'Service', name: 'a' }] } }] },
      /At most one of targetRefs and selector can be set/,
    ],
    [
      'a provider that nothing asks',
      { rawPolicies: [{ ...RAW, spec: { provider: { name: 'x' } } }] },
      /CUSTOM action must be set when specifying extension providers/,
    ],
    [
      'a field that Istio does not know',
      { rawPolicies: [{ ...RAW, spec: { rule: [] } }] },
      /rawPolicies.0.spec: .*rule/,
    ],
  ])('%s is refused, and what was there stays', async (_, config, message) => {
    const world = createDb()
    await configure(world, { meshPolicies: [POLICY] }, DB)
    await expect(configure(world, config, DB)).rejects.toThrow(message)
    expect(names(world)).toEqual([OURS])
  })
})

describe('policies of its own', () => {
  test('policies of its own are held without a beacon, and say whose they are', async () => {
    const world = createDb()
    const outcome = await configure(world, { meshPolicies: [POLICY], rawPolicies: [RAW] }, DB)
    expect(outcome).toMatchObject({ status: 'changed', conflicts: [], messages: [] })
    expect(names(world)).toEqual([OURS, 'shop/no-deletes'])
    const [made, raw] = policiesIn(world)
    for (const policy of [made, raw])
      expect(policy?.metadata).toMatchObject({
        annotations: { 'meshstep.dev/requested-by': 'config of shop/db' },
        labels: {
          'app.kubernetes.io/managed-by': 'meshstep',
          'meshstep.dev/application': 'db',
          'meshstep.dev/namespace': 'shop',
        },
      })
    expect(sourcesOf([...(made ? [made] : [])])).toEqual(['shop/web'])
    expect(raw?.spec).toEqual(RAW.spec)
  })

  test('policies of its own may be about anything, in any namespace: the config is trusted', async () => {
    const world = createDb()
    world.api.seed([{ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'bank' } }])
    await configure(
      world,
      {
        meshPolicies: [wire({ target_namespace: 'bank', target_app_name: 'vault' })],
        rawPolicies: [{ ...RAW, metadata: { name: 'no-deletes', namespace: 'bank', labels: { team: 'red' } } }],
      },
      DB,
    )
    expect(policiesIn(world).map(({ metadata }) => [metadata.namespace, metadata.labels?.team])).toEqual([
      ['bank', undefined],
      ['bank', 'red'],
    ])
    await world.send('application-removed', DB)
    expect(names(world)).toEqual([])
  })

  test('policies of its own cost one LIST and no write when nothing differs, and none a day after the last', async () => {
    const world = createDb()
    await configure(world, { meshPolicies: [POLICY], rawPolicies: [RAW] }, DB)
    for (const [config, count] of [
      [{ meshPolicies: [POLICY], rawPolicies: [RAW] }, 1],
      [{}, 1],
      [{}, 1],
    ] as const) {
      world.calls.length = 0
      await configure(world, config, DB)
      expect(lists(world, 'authorizationpolicies')).toHaveLength(count)
    }
    expect(names(world)).toEqual([])
    // a write that was sent before may be executed late
    world.clock.advance(25 * 60 * 60 * 1_000)
    await world.send('resync', DB)
    world.calls.length = 0
    await world.send('resync', DB)
    expect(lists(world, 'authorizationpolicies')).toEqual([])
  })

  test('policies of its own, also those that deny, come before the application is enrolled, and go after it is not any more', async () => {
    const world = createDb()
    const events: string[] = []
    world.api.subscribe(({ type, object: { kind, metadata } }) => {
      if (['AuthorizationPolicy', 'StatefulSet', 'Service'].includes(kind))
        events.push(`${type} ${kind} ${metadata.name.slice(0, 9)}`)
    })
    await configure(
      world,
      { labels: { 'istio.io/dataplane-mode': 'ambient' }, meshPolicies: [POLICY], rawPolicies: [RAW] },
      DB,
    )
    expect(events).toEqual([
      ...['ADDED AuthorizationPolicy db-shop-p', 'ADDED AuthorizationPolicy no-delete'],
      ...['MODIFIED StatefulSet db', 'MODIFIED StatefulSet db', 'MODIFIED Service db'],
    ])
    events.length = 0
    await configure(world, {}, DB)
    expect(events).toEqual([
      ...['MODIFIED StatefulSet db', 'MODIFIED StatefulSet db', 'MODIFIED Service db'],
      ...['DELETED AuthorizationPolicy no-delete', 'DELETED AuthorizationPolicy db-shop-p'],
    ])
  })

  test('policies of its own that are there twice are told, and written once', async () => {
    const world = createDb()
    const rawPolicies = [RAW, { ...RAW, metadata: { name: 'no-deletes', namespace: 'shop' }, spec: {} }]
    expect((await configure(world, { rawPolicies }, DB)).messages).toEqual([
      expect.stringMatching(/^AuthorizationPolicy shop\/no-deletes is in the config more than once/),
    ])
    world.calls.length = 0
    expect((await world.send('resync', DB)).status).toBe('unchanged')
    expect(writes(world)).toEqual([])
  })

  test('of the same target as another application’s are objects of their own', async () => {
    const world = createDb()
    for (const application of ['db', 'web']) await configure(world, { meshPolicies: [POLICY] }, { application })
    expect(names(world)).toEqual([OURS, expect.stringMatching(/^shop\/web-shop-policy-db-/)])
    await world.send('application-removed', DB)
    expect(names(world)).toEqual([expect.stringMatching(/^shop\/web-shop-policy-db-/)])
  })
})

describe('an object of the same name', () => {
  const THEIRS = { ...RAW, metadata: { ...RAW.metadata, namespace: 'shop' }, spec: { rules: [{}] } }

  test('an object of the same name that is somebody else’s is a conflict and stays, and the rest is done', async () => {
    const world = createDb()
    world.api.seed([THEIRS], { manager: 'argocd' })
    expect(await configure(world, { meshPolicies: [POLICY], rawPolicies: [RAW] }, DB)).toMatchObject({
      status: 'conflict',
      conflicts: [{ object: 'AuthorizationPolicy shop/no-deletes', manager: 'argocd' }],
    })
    expect(policiesIn(world)[1]?.spec).toEqual(THEIRS.spec)
    expect(names(world)).toEqual([OURS, 'shop/no-deletes'])
    await configure(world, {}, DB)
    expect(names(world)).toEqual(['shop/no-deletes'])
  })

  test('an object of the same name that carries our labels as well is a conflict, too: somebody copied one of ours', async () => {
    const world = createDb()
    await configure(world, { rawPolicies: [RAW] }, DB)
    const [ours] = policiesIn(world)
    remove(world, ours ? path(ours) : '')
    world.api.seed([{ ...THEIRS, metadata: { ...THEIRS.metadata, labels: ours?.metadata.labels ?? {} } }], {
      manager: 'kubectl',
    })
    expect((await world.send('resync', DB)).status).toBe('conflict')
    await configure(world, {}, DB)
    expect(policiesIn(world).map(({ spec }) => spec)).toEqual([THEIRS.spec])
  })

  test('an object of the same name that comes between looking and writing is not taken over', async () => {
    const world = createDb()
    world.intercept = ({ method, path: where }) => {
      if (method !== 'PATCH' || !where.includes('no-deletes')) return undefined
      world.intercept = undefined
      world.api.seed([THEIRS], { manager: 'argocd' })
      return undefined
    }
    expect((await configure(world, { rawPolicies: [RAW] }, DB)).status).toBe('conflict')
    expect(policiesIn(world)[0]?.spec).toEqual(THEIRS.spec)
  })

  test('an object of the same name that takes the place of ours between looking and writing is not written', async () => {
    const world = createDb()
    await configure(world, { rawPolicies: [RAW] }, DB)
    const [ours] = policiesIn(world)
    edit(world, ours ? path(ours) : '', { spec: { action: 'ALLOW' } })
    world.intercept = ({ method, path: where }) => {
      if (method !== 'PATCH' || !where.includes('no-deletes')) return undefined
      world.intercept = undefined
      remove(world, ours ? path(ours) : '')
      world.api.seed([THEIRS], { manager: 'argocd' })
      return undefined
    }
    expect((await world.send('resync', DB)).status).toBe('conflict')
    expect(policiesIn(world)[0]?.spec).toEqual(THEIRS.spec)
  })
})
