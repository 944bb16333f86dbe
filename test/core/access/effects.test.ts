import { describe, expect, test } from 'vitest'
import { neededRights } from '../../../src/core/access/needed-rights.ts'
import { emptyState, type State } from '../../../src/core/state/state.ts'
import { features } from '../../../src/features.ts'
import { entryOf, stateOf } from '../../helpers/states.ts'
import { createWorld, event, isWrite } from '../../helpers/world.ts'

const subject = { namespace: 'shop', application: 'web' }

const containers = [{ name: 'web', image: 'web:1' }]
const deny = {
  apiVersion: 'security.istio.io/v1',
  kind: 'AuthorizationPolicy',
  metadata: { name: 'deny' },
  spec: { action: 'DENY', rules: [{}] },
}
const meshPolicy = {
  ...{ source_namespace: 'shop', source_app_name: 'a', target_namespace: 'shop', target_app_name: 'web' },
  ...{ target_selector_labels: null, target_service: null, target_type: 'app', endpoints: [] },
}

const state = (config?: unknown): State => ({
  ...emptyState(),
  ...(config !== undefined && { config: features.config.parse(config) }),
})

const newEffects = (before: State, after: State) =>
  neededRights(features, subject, before, after).flatMap(({ effect }) => effect ?? [])

describe('a config asks for effects beyond the application', () => {
  test.each<[string, unknown, string[]]>([
    ['no more than its own policies, and no labels', { labels: {}, policies: [{ type: 'unit', relation: 'api' }] }, []],
    ['labels on its pods', { labels: { a: 'b' } }, ['workload']],
    ['its own workload and Service by name', { workload: { kind: 'Deployment', name: 'web' }, service: 'web' }, []],
    ['no workload and no Service', { workload: null, service: null }, []],
    ['pods', { workload: { podSpec: { containers } } }, ['workload']],
    ['the workload of another', { workload: { kind: 'Deployment', name: 'db' } }, ['workload']],
    ['the Service of another', { service: 'db' }, ['workload']],
    ['a policy as it is given', { rawPolicies: [deny] }, ['policies']],
    ['a policy between others', { meshPolicies: [meshPolicy] }, ['policies']],
    ['a cluster, whose policies select pods by a label', { coordinator: { roles: ['all'] } }, ['policies']],
    ['a beacon', { mesh: {} }, ['mesh']],
    ['a hardened mesh', { mesh: { hardened: true } }, ['mesh', 'root']],
    ['another root namespace', { mesh: { rootNamespace: 'shop' } }, ['mesh', 'root']],
  ])('%s', (_, config, effects) => {
    expect(newEffects(state(), state(config))).toEqual(effects)
  })
})

describe('what was asked for before', () => {
  test('what was asked for before needs no permission again, and neither does less', () => {
    const before = state({ mesh: { hardened: true }, rawPolicies: [deny] })
    expect(
      newEffects(before, state({ mesh: { hardened: true }, rawPolicies: [deny], databag: { db: { a: 'b' } } })),
    ).toEqual([])
    expect(newEffects(before, state({ mesh: { hardened: true } }))).toEqual([])
    expect(newEffects(before, state())).toEqual([])
  })

  test('what was asked for before needs a permission when it is asked for in another way', () => {
    const before = state({ mesh: {}, rawPolicies: [deny] })
    const other = { ...deny, spec: { action: 'ALLOW', rules: [{}] } }
    expect(newEffects(before, state({ mesh: { modelOnMesh: true }, rawPolicies: [other] }))).toEqual([
      'policies',
      'mesh',
    ])
  })

  test.each<[string, Record<string, unknown>, Record<string, unknown>, string[]]>([
    [
      'policies let in another account',
      { meshPolicies: [meshPolicy] },
      { serviceAccounts: { 'shop/a': 'evil' } },
      ['policies'],
    ],
    [
      'policies let in another trust domain',
      { meshPolicies: [meshPolicy] },
      { trustDomain: 'evil.example' },
      ['policies'],
    ],
    [
      'policies are no dry run any more',
      { rawPolicies: [deny], enforcement: 'audit' },
      { enforcement: 'enforce' },
      ['policies'],
    ],
    [
      'a cluster opens other ports',
      { coordinator: { roles: ['all'], leastPrivilege: true, workerPorts: [80] } },
      { coordinator: { roles: ['all'], leastPrivilege: true, workerPorts: [22] } },
      ['policies'],
    ],
    [
      'a cluster opens all of them',
      { coordinator: { roles: ['all'], leastPrivilege: true, workerPorts: [80] } },
      { coordinator: { roles: ['all'] } },
      ['policies'],
    ],
    ['a beacon lets in another account', { mesh: {} }, { serviceAccounts: { 'shop/a': 'evil' } }, ['mesh']],
    ['a beacon lets in another trust domain', { mesh: {} }, { trustDomain: 'evil.example' }, ['mesh']],
    [
      'the workload of another gets a label',
      { workload: { kind: 'Deployment', name: 'db' } },
      { labels: { app: 'web' } },
      ['workload'],
    ],
    [
      'the workload of another is one of another kind',
      { workload: { kind: 'Deployment', name: 'db' } },
      { workload: { kind: 'StatefulSet', name: 'db' } },
      ['workload'],
    ],
    ['the Service of another gets a label', { service: 'db' }, { labels: { app: 'web' } }, ['workload']],
    ['its pods get another label', { labels: { a: 'b' } }, { labels: { a: 'c' } }, ['workload']],
    [
      'only the application itself is concerned',
      { labels: { a: 'b' } },
      { serviceAccounts: { 'shop/a': 'b' }, trustDomain: 'a.b', databag: { db: { a: 'b' } } },
      [],
    ],
  ])('what was asked for before needs a permission for what shapes it: %s', (_, allowed, more, effects) => {
    expect(newEffects(state(allowed), state({ ...allowed, ...more }))).toEqual(effects)
  })

  test('what was asked for before counts from the moment that it waits for a leader', () => {
    const pending = [{ unit: 'web/0', data: { config: features.config.parse({ rawPolicies: [deny] }) } }]
    const waiting = { ...emptyState(), pending }
    expect(newEffects(state(), waiting)).toEqual(['policies'])
    expect(newEffects(waiting, state({ rawPolicies: [deny] }))).toEqual([])
  })
})

describe('a relation that begins, changes or ends', () => {
  const sides = (before: State, after: State) =>
    neededRights(features, subject, before, after).flatMap(({ application, effect }) => (effect ? [] : [application]))
  const DB = entryOf({ id: 2, remote: { application: 'db' } })
  const SINCE = '2026-01-01T00:00:00Z'

  test('a relation that begins, changes or ends needs a permission for its other side, once for each', () => {
    const [one, two] = [entryOf({ remote: { application: 'db' } }), entryOf({ id: 3, remote: { application: 'api' } })]
    expect(sides(stateOf([]), stateOf([one, DB, two]))).toEqual(['db', 'api'])
    expect(sides(stateOf([one, DB]), stateOf([one, DB]))).toEqual([])
    expect(sides(stateOf([DB, two]), stateOf([DB, { ...two, status: 'ended' }]))).toEqual(['api'])
    expect(sides(stateOf([DB, two]), stateOf([two]))).toEqual(['db'])
    const far = entryOf({ remote: { application: 'db', namespace: 'data' } })
    expect(sides(stateOf([]), stateOf([far]))).toEqual([])
  })

  test('a relation that ends with the removal of the application needs none, and one that begins after the removal does', () => {
    const removed = stateOf([{ ...DB, status: 'ended' }], { removed: SINCE })
    expect(sides(stateOf([DB]), removed)).toEqual([])
    expect(sides(removed, stateOf([DB], { removed: SINCE }))).toEqual(['db'])
    expect(sides(removed, stateOf([DB]))).toEqual(['db'])
    expect(sides(stateOf([DB], { removed: SINCE }), stateOf([], { removed: '2026-01-02T00:00:00Z' }))).toEqual([])
  })
})

describe('a sender who may update the application alone', () => {
  const allowed = new Set<string>()
  const createOwn = (...more: string[]) => {
    allowed.clear()
    for (const name of ['web', ...more]) allowed.add(name)
    return createWorld(undefined, { allows: (about) => allowed.has(about) })
  }
  const send = async (world: ReturnType<typeof createWorld>, config: unknown, more: Record<string, unknown> = {}) => {
    const response = await world.post(event('config-changed', { config, ...more }))
    return { status: response.status, text: await response.text() }
  }

  test.each<[string, unknown, RegExp]>([
    ['pods', { workload: { podSpec: { containers } } }, /applications\.meshstep\.dev\/workload shop\/web/],
    ['labels on its pods', { labels: { app: 'db' } }, /applications\.meshstep\.dev\/workload shop\/web/],
    ['a policy as it is given', { rawPolicies: [deny] }, /applications\.meshstep\.dev\/policies shop\/web/],
    ['a beacon', { mesh: {} }, /applications\.meshstep\.dev\/mesh shop\/web/],
    ['a hardened mesh', { mesh: { hardened: true } }, /applications\.meshstep\.dev\/(mesh|root) shop\/web/],
  ])(
    'a sender who may update the application alone is refused when it asks for %s, and nothing is written',
    async (_, config, message) => {
      const world = createOwn()
      expect(await send(world, config)).toMatchObject({ status: 403, text: expect.stringMatching(message) })
      expect(world.calls.filter(isWrite).filter((call) => !call.includes('reviews'))).toEqual([])
    },
  )

  test('a sender who may update the application alone is refused when it changes what somebody else was allowed to ask for, and may ask for less', async () => {
    const world = createOwn('policies web')
    expect(await send(world, { rawPolicies: [deny] })).toMatchObject({ status: 200 })
    allowed.delete('policies web')
    world.clock.advance(11_000)
    const open = { ...deny, spec: { action: 'ALLOW', rules: [{}] } }
    expect(await send(world, { rawPolicies: [open] })).toMatchObject({ status: 403 })
    expect(await send(world, { rawPolicies: [deny], databag: { db: { a: 'b' } } })).toMatchObject({ status: 200 })
    expect(await send(world, { databag: { db: { a: 'b' } } })).toMatchObject({ status: 200 })
    expect(await send(world, { rawPolicies: [deny] })).toMatchObject({ status: 403 })
  })

  test('a sender who may update the application alone is refused also as a unit whose words wait for a leader', async () => {
    const world = createOwn()
    expect(await send(world, { rawPolicies: [deny] }, { unit: 'web/0' })).toMatchObject({ status: 403 })
  })

  const relate = async (world: ReturnType<typeof createWorld>, remote: Record<string, unknown>) => {
    const relation = { id: 7, endpoint: 'db', interface: 'sql', role: 'requires' }
    const response = await world.post(event('relation-changed', { relation, remote: { data: {}, ...remote } }))
    return { status: response.status, text: await response.text() }
  }

  test('a sender who may update the application alone may relate it to no application of the namespace that would take the relation up, and nothing is written', async () => {
    const world = createOwn()
    expect(await relate(world, { application: 'db', endpoint: 'clients' })).toMatchObject({
      status: 403,
      text: expect.stringContaining('applications.meshstep.dev shop/db'),
    })
    expect(world.calls.filter(isWrite).filter((call) => !call.includes('reviews'))).toEqual([])
  })

  test('a sender who may update the application alone may relate it to another that it may update as well, and to one of another namespace, which goes by its own word', async () => {
    const both = createOwn('db')
    expect(await relate(both, { application: 'db' })).toMatchObject({ status: 200 })
    expect(await relate(createOwn(), { application: 'db', namespace: 'data' })).toMatchObject({ status: 200 })
  })

  test('a sender who may update the application alone may ask for an effect with a Role that names its subresource for the namespace', async () => {
    expect(await send(createOwn('mesh *'), { mesh: {} })).toMatchObject({ status: 200 })
  })
})

describe('a sender who may not run workloads', () => {
  const withPassword = (value: string) => ({
    config: { workload: { podSpec: { containers: [{ ...containers[0], env: [{ name: 'DB_PASSWORD', value }] }] } } },
  })
  const createKept = async () => {
    const rights = new Set(['web', 'workload web'])
    const world = createWorld([{ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'shop' } }], {
      allows: (about) => rights.has(about),
    })
    await world.send('config-changed', withPassword('hush'))
    rights.delete('workload web')
    world.clock.advance(11_000)
    return world
  }
  const tell = async (world: ReturnType<typeof createWorld>, data: Record<string, unknown>) => {
    const answer = await world.post(event('config-changed', data))
    return [answer.status, await answer.text()]
  }

  test.each(['of a person', 'of a unit that waits for a leader'])(
    'a sender who may not run workloads cannot try a secret value in a config %s',
    async (by) => {
      const world = await createKept()
      const unit = by === 'of a person' ? {} : { unit: 'web/0' }
      const answers = []
      for (const value of ['hush', 'wrong']) answers.push(await tell(world, { ...withPassword(value), ...unit }))
      expect(answers.map(([status]) => status)).toEqual([403, 403])
      expect(answers[0]).toEqual(answers[1])
    },
  )

  test('a sender who may not run workloads is refused alone: what else is told at that moment counts', async () => {
    const world = await createKept()
    const answers = await Promise.all([tell(world, withPassword('wrong')), tell(world, { settings: { a: '1' } })])
    expect(answers.map(([status]) => status)).toEqual([403, 200])
  })
})
