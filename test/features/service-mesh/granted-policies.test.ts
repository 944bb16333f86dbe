import { describe, expect, test } from 'vitest'
import { REQUESTED_BY } from '../../../src/core/policies/requested-by.ts'
import {
  ask,
  BEACON,
  configure,
  createMesh,
  policiesIn,
  policiesOf,
  provides,
  remove,
  sourcesOf,
  wire,
} from '../../helpers/beacon-world.ts'
import { service } from '../../helpers/world.ts'

const NAME = 'app.kubernetes.io/name'
const DB = { application: 'db' }

const createBeacon = async (config: Record<string, unknown> = { mesh: {} }) => {
  const world = createMesh(['db', 'web'], false)
  await configure(world, config)
  return world
}

describe('what a consumer asks for and may not have', () => {
  test.each<[string, Record<string, unknown>, RegExp]>([
    ['another application', { target_app_name: 'vault' }, /asks for shop\/vault, and may only name shop\/db/],
    ['another namespace', { target_namespace: 'bank' }, /asks for bank\/db, and may only name shop\/db/],
    ['a Service of another application', { target_service: 'web' }, /Service shop\/web, which does not select/],
    [
      'its own Service of another name, by no name',
      { target_app_name: null, target_service: 'web' },
      /does not select/,
    ],
    [
      'pods by labels of its choice',
      { target_type: 'unit', target_app_name: null, target_selector_labels: { team: 'blue' } },
      /asks for pods of shop by labels/,
    ],
    [
      'the pods of another application by labels',
      { target_type: 'unit', target_app_name: null, target_selector_labels: { 'app.kubernetes.io/name': 'web' } },
      /asks for pods of shop by labels/,
    ],
    ['all pods', { target_type: 'unit', target_app_name: null }, /it would open the whole namespace/],
    ['everybody as the source', { source_app_name: '*' }, /source_app_name: expected .*got "\*"/],
    ['every namespace', { source_namespace: 'shop/sa/*' }, /source_namespace: expected/],
    ['an endpoint that says nothing', { endpoints: [{}] }, /policies\[0\].endpoints\[0\]: expected hosts, ports/],
    [
      'a port that is none',
      { endpoints: [{ ports: [0] }] },
      /policies\[0\].endpoints\[0\].ports\[0\]: expected a port/,
    ],
    [
      'paths at a pod',
      { target_type: 'unit', endpoints: [{ ports: [80], paths: ['/'] }] },
      /policies\[0\].endpoints\[0\].paths: expected no paths with target_type unit/,
    ],
    ['a name of 254 characters', { source_app_name: 'a'.repeat(254) }, /source_app_name: expected at most 63/],
    ['a number for a name', { source_app_name: 7 }, /policies\[0\].source_app_name: expected an application/],
    ['a list for a policy', [] as unknown as Record<string, unknown>, /policies\[0\]: expected a policy/],
  ])('%s: it is named with its relation, and the others are granted', async (_, changes, message) => {
    const world = await createBeacon()
    const bad = Array.isArray(changes) ? changes : wire(changes)
    const outcome = await ask(world, [bad, wire({ source_app_name: 'cart' })])
    const [first, ...others] = outcome.messages
    expect(first).toMatch(message)
    expect(others.filter((one) => !one.startsWith('by its relations nobody may reach '))).toEqual([])
    expect(first).toMatch(/^relation 7 \(service-mesh\) of shop\/db: /)
    expect(first?.length).toBeLessThan(400)
    expect(sourcesOf(policiesIn(world))).toEqual(['shop/cart'])
  })

  test.each<[string, unknown, RegExp]>([
    ['broken JSON', '[{', /policies: .*expected a list/],
    ['no list', { a: 1 }, /policies: .*expected a list/],
    ['null', 'null', /policies: .*expected a list/],
  ])('%s: nothing of it, and the other consumers are granted', async (_, policies, message) => {
    const world = await createBeacon()
    await ask(world, [wire()])
    const outcome = await ask(world, policies, { id: 8, application: 'web' })
    expect(outcome.messages).toEqual([expect.stringMatching(message)])
    expect(outcome.messages[0]).toMatch(/^relation 8 \(service-mesh\) of shop\/web: /)
    expect(sourcesOf(policiesIn(world))).toEqual(['shop/web'])
  })
})

describe('what a consumer asks for and may have', () => {
  const named = { target_service: 'db-read' }

  test('its own Service of another name, once that exists and selects its pods', async () => {
    const world = await createBeacon()
    const outcome = await ask(world, [wire(named), wire({ source_app_name: 'cart' })])
    expect(outcome).toMatchObject({
      status: 'waiting',
      messages: [expect.stringMatching(/^relation 7 .* of shop\/db: Service shop\/db-read does not exist/)],
    })
    expect(sourcesOf(policiesIn(world))).toEqual(['shop/cart'])
    world.api.seed([{ ...service('db-read'), spec: { selector: { [NAME]: 'db' }, ports: [{ port: 80 }] } }])
    expect(await world.send('resync', BEACON)).toMatchObject({ status: 'changed', messages: [] })
    expect(sourcesOf(policiesOf(world, 'db-read'))).toEqual(['shop/web'])
  })

  test('no more than 20 Services of other names', async () => {
    const world = await createBeacon()
    const many = Array.from({ length: 22 }, (_, index) => wire({ target_service: `db-${index}` }))
    world.calls.length = 0
    const { messages } = await ask(world, many)
    expect(new Set(world.calls.filter((call) => call.includes('/services/db-'))).size).toBe(20)
    expect(messages).toContainEqual('and 2 more messages')
    expect(policiesIn(world)).toEqual([])
  })

  test.each<[string, Record<string, unknown>, string, string[], unknown]>([
    ['its Service', {}, 'Service', ['shop/web'], undefined],
    [
      'its pods',
      { target_type: 'unit', endpoints: [{ ports: ['80', 443] }] },
      'pods',
      ['shop/web'],
      [{ operation: { ports: ['80', '443'] } }],
    ],
    [
      'its pods, by its name and more',
      { target_type: 'unit', target_app_name: null, target_selector_labels: { [NAME]: 'db', team: 'blue' } },
      'pods',
      ['shop/web'],
      undefined,
    ],
    ['to an application of another namespace', { source_namespace: 'bank' }, 'Service', ['bank/web'], undefined],
    ['with fields that nobody knows', { planets: ['mars'] }, 'Service', ['shop/web'], undefined],
  ])('%s', async (_, changes, target, sources, to) => {
    const world = await createBeacon()
    expect(await ask(world, [wire(changes)])).toMatchObject({ status: 'changed', messages: [] })
    const [policy] = policiesIn(world)
    expect(policy?.spec.targetRefs ? 'Service' : 'pods').toBe(target)
    expect([sourcesOf(policiesIn(world)), policy?.spec.rules?.at(-1)?.to]).toEqual([sources, to])
    expect(policy?.metadata.annotations).toEqual({ [REQUESTED_BY]: 'relation 7 (service-mesh) of shop/db' })
  })

  test('a consumer has what it asks for in its own namespace, from a beacon in another', async () => {
    const world = await createBeacon()
    world.api.seed([{ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'bank' } }])
    await ask(world, [wire({ target_namespace: 'bank' })], { namespace: 'bank' })
    expect(policiesIn(world).map(({ metadata }) => metadata.namespace)).toEqual(['bank'])
    await world.send('relation-broken', { ...BEACON, relation: { id: 7 } })
    expect(policiesIn(world)).toEqual([])
  })

  test('each by the relation that asked', async () => {
    const world = await createBeacon()
    for (const [id, application] of [
      [7, 'db'],
      [8, 'web'],
    ] as const)
      await ask(world, [wire({ target_app_name: application, source_app_name: 'cart' })], { id, application })
    expect(policiesIn(world).map(({ metadata }) => metadata.annotations?.[REQUESTED_BY])).toEqual([
      'relation 7 (service-mesh) of shop/db',
      'relation 8 (service-mesh) of shop/web',
    ])
    await world.send('relation-broken', { ...BEACON, relation: { id: 7 } })
    expect(policiesIn(world).map(({ metadata }) => metadata.annotations?.[REQUESTED_BY])).toEqual([
      'relation 8 (service-mesh) of shop/web',
    ])
  })

  test('a consumer has what it asks for under the names of the config: its trust domain, and the ServiceAccounts that are not called as their application', async () => {
    const world = await createBeacon({ mesh: { trustDomain: 'example.org' }, serviceAccounts: { 'shop/web': 'robot' } })
    await ask(world, [wire()])
    expect(policiesIn(world)[0]?.spec.rules).toEqual([
      { from: [{ source: { principals: ['example.org/ns/shop/sa/robot'] } }] },
    ])
  })

  test('a consumer has what it asks for until the beacon does not manage policies any more', async () => {
    const world = await createBeacon()
    await ask(world, [wire()])
    await configure(world, { mesh: { manageAuthorizationPolicies: false } })
    expect(policiesIn(world)).toEqual([])
    await configure(world, { mesh: {} })
    expect(sourcesOf(policiesIn(world))).toEqual(['shop/web'])
  })
})

describe('a databag that cannot be read any more', () => {
  test('a databag that cannot be read any more leaves what was granted before, and says so', async () => {
    const world = await createBeacon()
    await ask(world, [wire()])
    for (const policies of ['[{', '"x"', 7])
      expect(await ask(world, policies)).toMatchObject({
        status: 'saved',
        messages: [expect.stringMatching(/shop\/db: policies: .*; the last readable data stays in effect/)],
      })
    expect(sourcesOf(policiesIn(world))).toEqual(['shop/web'])
    expect(await ask(world, [])).toMatchObject({ status: 'changed', messages: [] })
    expect(policiesIn(world)).toEqual([])
  })

  test.each<[string, Record<string, unknown>]>([
    ['is broken', { policies: '[{' }],
    ['is of another version', { _supported_versions: '["v7"]' }],
  ])(
    'a databag that cannot be read any more leaves it also when it %s and the memory was lost in between, and no more than that',
    async (_, data) => {
      const world = await createBeacon()
      await ask(world, [wire()])
      await ask(world, [wire({ target_app_name: 'web', source_app_name: 'cart' })], { id: 8, application: 'web' })
      remove(world, '/api/v1/namespaces/shop/configmaps/juju-service-mesh-beacon-labels')
      await world.send('relation-changed', { ...provides(7, DB, []), remote: { ...DB, data } })
      await configure(world, { mesh: {} })
      // of `web`, which has not been told again, nothing is known
      expect(sourcesOf(policiesIn(world))).toEqual(['shop/cart', 'shop/web'])
      await world.send('relation-broken', { ...BEACON, relation: provides(8, { application: 'web' }, []).relation })
      expect(sourcesOf(policiesIn(world))).toEqual(['shop/web'])
    },
  )
})

describe('a relation whose remote side has vanished', () => {
  test('a relation whose remote side has vanished with its namespace: it is named, and the others are granted', async () => {
    const world = await createBeacon()
    await ask(world, [wire({ target_namespace: 'gone' })], { namespace: 'gone' })
    const outcome = await ask(world, [wire({ target_app_name: 'web' })], { id: 8, application: 'web' })
    expect(outcome).toMatchObject({
      status: 'waiting',
      messages: [
        expect.stringMatching(/namespaces "gone" not found/),
        expect.stringMatching(/namespaces "gone" not found/),
      ],
    })
    expect(policiesOf(world, 'web')).toHaveLength(1)
  })

  test('a relation whose remote side has vanished, and then breaks: the beacon has nobody to tell, and is done', async () => {
    const world = createMesh()
    await configure(world, { mesh: {} })
    world.api.seed([{ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'bank' } }])
    expect(await ask(world, [], { namespace: 'bank' })).toMatchObject({ messages: [] })
    remove(world, '/api/v1/namespaces/bank')
    await world.send('relation-broken', { ...BEACON, relation: { id: 7 } })
    expect(await world.send('resync', BEACON)).toMatchObject({ status: 'unchanged', messages: [] })
  })
})
