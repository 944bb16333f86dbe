import { describe, expect, test } from 'vitest'
import type { Change } from '../../../../src/core/reconcile/change.ts'
import type { Observed } from '../../../../src/core/reconcile/observe/cluster.ts'
import { readSurroundings } from '../../../../src/core/reconcile/observe/surroundings.ts'
import { recoverLostMemory, withLostMemory } from '../../../../src/core/reconcile/recover.ts'
import { resolveRelations } from '../../../../src/core/relations/resolve-relations.ts'
import { memoryName } from '../../../../src/core/state/memory.ts'
import type { State } from '../../../../src/core/state/state.ts'
import { createEmbeddedApi } from '../../../../src/embedded/api/api.ts'
import { features } from '../../../../src/features.ts'
import { createKubernetes } from '../../../../src/platform/kubernetes/client.ts'
import type { KubernetesObject } from '../../../../src/platform/kubernetes/objects.ts'
import { memoryLabels } from '../../../../src/platform/kubernetes/ownership-labels.ts'
import { fakeClock } from '../../../helpers/clock.ts'
import { labelled } from '../../../helpers/situations.ts'
import { entryOf, peersOf, stateOf } from '../../../helpers/states.ts'
import { config, relation } from '../../../helpers/tenants.ts'
import { FORBIDDEN, NAMESPACE, SUBJECT, workload } from '../../../helpers/world.ts'

const MESH = { 'istio.io/dataplane-mode': 'ambient' }
const SINCE = '2026-01-01T00:00:00.000Z'

const memory = (application: string, state: State): KubernetesObject => ({
  ...{ apiVersion: 'v1', kind: 'ConfigMap', data: { labels: '{}', state: JSON.stringify(state) } },
  metadata: { name: memoryName(application), namespace: NAMESPACE, labels: memoryLabels(application) },
})

const connect = (objects: readonly KubernetesObject[], forbids: (path: string) => boolean = () => false) => {
  const clock = fakeClock()
  const api = createEmbeddedApi({ now: () => new Date(clock.now()) })
  api.seed([{ apiVersion: 'v1', kind: 'Namespace', metadata: { name: NAMESPACE } }, ...objects], { manager: 'juju' })
  const calls: string[] = []
  const kubernetes = createKubernetes({
    ...{ clock, deadline: clock.now() + 10_000 },
    transport: async (request) => {
      calls.push(request.path)
      return forbids(request.path) ? FORBIDDEN : api.handle(request)
    },
  })
  return { kubernetes, calls }
}

const observed = (...live: KubernetesObject[]): Observed => ({
  ...{ lookups: new Map(), running: {}, targets: { current: [], earlier: [], library: [] } },
  owned: { kinds: live.map((object) => ({ kind: object.kind as 'Gateway', live: [object], library: [] })) },
})

describe('the surroundings of an application', () => {
  const change = (look: Change['look']): Change => ({
    observation: false,
    fold: (state) => ({ state }),
    ...(look && { look }),
  })
  const read = async (objects: KubernetesObject[], state: State | undefined, ...looks: Change['look'][]) => {
    const { kubernetes, calls } = connect(objects)
    const { peers, documents } = await readSurroundings(features, kubernetes, SUBJECT, state, looks.map(change))
    return {
      peers: [...peers].map(([name, peer]) => `${name}${'state' in peer ? '' : peer.isGone ? ' gone' : ' missing'}`),
      documents,
      names: documents.found.map(({ name }) => name).toSorted(),
      calls,
    }
  }

  test('the surroundings of an application are the peers that its memory, its event and its documents name', async () => {
    expect((await read([memory('beacon', stateOf([]))], stateOf([entryOf()]), undefined)).peers).toEqual([
      'shop/beacon',
    ])
    expect((await read([], stateOf([entryOf()]))).peers).toEqual(['shop/beacon missing'])
    expect(
      (
        await read([], stateOf([]), {
          remotes: [{ application: 'a' }, { application: 'b', namespace: 'data' }],
          named: ['c'],
        })
      ).peers,
    ).toEqual(['shop/a missing', 'shop/c missing', 'data/b missing'])
    const document = relation('{ application: d, data: {} }', { name: 'one' }, 'web')
    expect((await read([document], stateOf([]), { document: 'one', isTold: true })).peers).toEqual(['shop/d missing'])
  })

  test('the surroundings of an application are all memories that name it, where its own is missing', async () => {
    const naming = memory('naming', stateOf([entryOf({ remote: { application: 'web' } })]))
    const other = memory('other', stateOf([]))
    expect((await read([naming, other], undefined)).peers).toEqual(['shop/naming'])
    expect((await read([naming, other], stateOf([]))).peers).toEqual([])
    expect((await read([naming, other], stateOf([]), { everything: true })).peers).toEqual(['shop/naming'])
    expect((await read([naming, other], stateOf([]), { relation: 1 })).peers).toEqual(['shop/naming'])
    expect((await read([naming, other], stateOf([entryOf()]), { relation: 1 })).peers).toEqual(['shop/beacon missing'])
    expect(
      (
        await read([naming, other], undefined, {
          remotes: [{ application: 'other' }, { application: 'b', namespace: 'data' }],
        })
      ).peers.toSorted(),
    ).toEqual(['data/b missing', 'shop/naming', 'shop/other'])
  })

  test('the surroundings of an application tell of peers that are gone, where these had published something', async () => {
    const known = stateOf([entryOf({ peer: { publishes: true } })])
    expect((await read([], known)).peers).toEqual(['shop/beacon gone'])
    expect((await read([workload('StatefulSet', 'beacon')], known)).peers).toEqual(['shop/beacon missing'])
    expect((await read([], stateOf([entryOf()]))).peers).toEqual(['shop/beacon missing'])
  })

  const ONE = config('{}', { name: 'one' }, 'web')
  const TWO = config('{ labels: { a: b } }', { name: 'two' }, 'web')

  test('the surroundings of an application are the documents of its event, or all', async () => {
    expect((await read([ONE, TWO], stateOf([]), { document: 'one' })).documents.looked).toEqual(['one'])
    expect((await read([ONE, TWO], stateOf([]), { document: 'one' })).names).toEqual(['one'])
    expect((await read([ONE, config('{}', { name: 'x' }, 'db')], undefined)).names).toEqual(['one'])
    expect((await read([ONE], undefined)).documents.looked).toBe('all')
    expect((await read([ONE, TWO], stateOf([]), { isResync: true, documents: ['two'] })).documents.looked).toBe('all')
    expect((await read([ONE, TWO], stateOf([]), { isResync: true, documents: ['two'] })).names).toEqual(['two'])
  })

  test('the surroundings of an application are the documents by which its memory holds the same', async () => {
    const rivals = await read([ONE, TWO], stateOf([], { document: 'two' }), { document: 'one', isTold: true })
    expect(rivals.names).toEqual(['one', 'two'])
    expect((await read([ONE, TWO], stateOf([], { document: 'gone' }), { document: 'one' })).names).toEqual(['one'])
  })

  test('the surroundings of an application are all documents where one is gone that declared a relation', async () => {
    const opposite = relation('{ application: web, data: {} }', { name: 'two' }, 'beacon', {
      id: 1,
      endpoint: 'service-mesh',
      interface: 'service_mesh',
      role: 'provides',
    })
    const held = stateOf([entryOf({ document: 'one' })])
    expect((await read([opposite], held, { document: 'one' })).names).toEqual(['two'])
    expect((await read([opposite], held, undefined)).names).toEqual([])
  })
})

describe('a memory that may be lost', () => {
  const carrying = (found = labelled('StatefulSet', MESH)): Observed => ({
    ...observed(),
    targets: { current: [found], earlier: [], library: [] },
  })
  const nothing = { state: stateOf([]), labels: {}, stored: undefined }
  const stored = { ...nothing, stored: memory('web', stateOf([])) }

  test('the labels of a memory that may be lost are unknown where the application carries labels', async () => {
    const lostLabels = async (early: Promise<Observed>, known = nothing as Parameters<typeof withLostMemory>[0]) =>
      (await withLostMemory(known, SUBJECT, early, new Map())).lost?.labels
    expect(await lostLabels(Promise.resolve(carrying()))).toBe(true)
    expect(await lostLabels(Promise.resolve(carrying()), stored)).toBeUndefined()
    expect(await lostLabels(Promise.resolve(carrying(labelled('StatefulSet', { team: 'a' }))))).toBeUndefined()
    expect(await lostLabels(Promise.resolve(carrying(labelled('StatefulSet', MESH, 'other'))))).toBeUndefined()
    expect(await lostLabels(Promise.reject(new Error('away')))).toBeUndefined()
  })

  const recover = (
    state: State,
    { seen = carrying(), peers = peersOf({}), known = nothing as Parameters<typeof recoverLostMemory>[1] } = {},
  ) => {
    const found = { peers, documents: { found: [], looked: 'all' as const, expected: [] } }
    return recoverLostMemory(
      features,
      known,
      SUBJECT,
      { state, resolved: resolveRelations(SUBJECT, state, peers), observed: seen },
      found,
    ).state
  }

  test('the labels of a lost memory are unknown until the relation that asked for them is known, or over, or the config explains them', () => {
    expect(recover(stateOf([])).lost?.labels).toBe(true)
    expect(recover(stateOf([], { lost: { labels: true } }), { known: stored }).lost?.labels).toBe(true)
    expect(recover(stateOf([]), { known: stored }).lost?.labels).toBeUndefined()
    expect(recover(stateOf([]), { seen: carrying(labelled('StatefulSet', {})) }).lost?.labels).toBeUndefined()
    expect(recover(stateOf([], { removed: SINCE })).lost?.labels).toBeUndefined()
    expect(recover(stateOf([], { config: features.config.parse({ labels: MESH }) })).lost?.labels).toBeUndefined()
    const beacon = stateOf(
      [entryOf({ role: 'provides', remote: { application: 'web' }, published: { digest: 'd' } })],
      { published: { d: { data: { labels: JSON.stringify(MESH) } } } },
    )
    expect(recover(stateOf([entryOf()]), { peers: peersOf({ beacon }) })).toMatchObject({
      relations: { '1/requires/service_mesh/beacon': { claim: { version: '', phase: 'applied' } } },
    })
    expect(recover(stateOf([entryOf()]), { peers: peersOf({ beacon }) }).lost?.labels).toBeUndefined()
    expect(recover(stateOf([entryOf({ status: 'ended' })])).lost?.labels).toBeUndefined()
    const led = carrying(labelled('StatefulSet', { ...MESH, 'istio.io/use-waypoint': 'shop-other-waypoint' }))
    expect(recover(stateOf([entryOf({ status: 'ended' })]), { seen: led }).lost?.labels).toBe(true)
  })

  test('a lost memory waits for the endpoints of its config', () => {
    const policies = features.config.parse({ policies: [{ type: 'app', relation: 'a', endpoints: [] }] })
    expect(recover(stateOf([], { config: policies })).lost?.endpoints).toEqual(['a'])
    expect(recover(stateOf([], { config: policies }), { known: stored }).lost?.endpoints).toBeUndefined()
    const quiet = carrying(labelled('StatefulSet', {}))
    expect(recover(stateOf([], { config: policies }), { seen: quiet }).lost?.endpoints).toBeUndefined()
    const knowing = peersOf({ db: stateOf([entryOf({ remote: { application: 'web' }, peer: { publishes: true } })]) })
    expect(recover(stateOf([], { config: policies }), { seen: quiet, peers: knowing }).lost?.endpoints).toEqual(['a'])
  })
})
