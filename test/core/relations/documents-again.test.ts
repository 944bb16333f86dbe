import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Event } from '../../../src/platform/cloudevents/cloud-event.ts'
import type { KubernetesObject } from '../../../src/platform/kubernetes/objects.ts'

import { runs, some } from '../../helpers/runs.ts'
import { isWrite, type World } from '../../helpers/world.ts'
import {
  applyDocument,
  atEveryWrite,
  calm,
  configDocument,
  createCopy,
  createPair,
  DELIVERIES,
  deleteDocument,
  deliver,
  effects,
  isOffMesh,
  isOnMesh,
  MESH,
  OFF,
  relationDocument,
  resync,
  USE,
  WORKING,
} from './pair.ts'

const DOCUMENTS = [configDocument('beacon'), configDocument('details'), relationDocument('details', MESH)]
const ALL = [...DOCUMENTS, relationDocument('details', USE)]

const applyAll = (world: World, documents = DOCUMENTS): Event[] => documents.map((one) => applyDocument(world, one))
const deleteAll = (world: World, documents = DOCUMENTS): Event[] => documents.map((one) => deleteDocument(world, one))

const ORDERS = [
  [0, 1, 2],
  [0, 2, 1],
  [1, 0, 2],
  [1, 2, 0],
  [2, 0, 1],
  [2, 1, 0],
]

const inOrder = (events: readonly Event[], order: readonly number[]): Event[] =>
  order.flatMap((index) => events[index] ?? [])

const created = (documents = DOCUMENTS): Promise<World> =>
  createCopy(JSON.stringify(['of documents', documents]), 'broker', async () => {
    const world = createPair()
    await deliver(world, applyAll(world, documents))
    return world
  })

describe.each(DELIVERIES)('with the delivery: %s', (delivery) => {
  test('documents that were deleted and applied again put their application back on the mesh, and let in whom they did', async () => {
    const world = createPair(delivery)
    await deliver(world, applyAll(world, ALL))
    expect(effects(world)).toEqual(WORKING)
    await deliver(world, deleteAll(world, ALL))
    expect(effects(world)).toEqual(OFF)
    await deliver(world, applyAll(world, ALL))
    expect(effects(world)).toEqual(WORKING)
  })
})

describe('documents in any order', () => {
  test.each(some(ORDERS, 2).map((order) => ({ order })))(
    'documents deleted and applied again put details back on the mesh when their deletions are told in the order $order and their additions in any',
    async ({ order: deletions }) => {
      for (const additions of some(ORDERS, 5)) {
        const world = await created()
        await deliver(world, inOrder(deleteAll(world), deletions))
        expect(isOffMesh(world, 'details')).toBe(true)
        await deliver(world, inOrder(applyAll(world), additions))
        expect([additions, isOnMesh(world, 'details')]).toEqual([additions, true])
      }
    },
  )

  test('documents deleted and applied again put details on the mesh when all events come afterwards, in any order', async () => {
    await fc.assert(
      fc.asyncProperty(fc.shuffledSubarray([0, 1, 2, 3, 4, 5, 6, 7, 8], { minLength: 9 }), async (order) => {
        const world = createPair()
        const events = [...applyAll(world), ...deleteAll(world), ...applyAll(world)]
        await deliver(world, inOrder(events, order))
        expect(isOnMesh(world, 'details')).toBe(true)
      }),
      { numRuns: runs(20) },
    )
  })

  test('documents deleted and applied again put details on the mesh when any of the events never arrive, and the namespace is resynced', async () => {
    await fc.assert(
      fc.asyncProperty(fc.shuffledSubarray([0, 1, 2, 3, 4, 5]), async (order) => {
        const world = await created()
        await deliver(world, inOrder([...deleteAll(world), ...applyAll(world)], order))
        await resync(world, undefined)
        expect(isOnMesh(world, 'details')).toBe(true)
      }),
      { numRuns: runs(20) },
    )
  })

  test('documents deleted and applied again put details back on the mesh when only their deletions arrive, and the namespace is resynced', async () => {
    const world = await created()
    await deliver(world, deleteAll(world))
    applyAll(world)
    await resync(world, undefined)
    expect(isOnMesh(world, 'details')).toBe(true)
  })

  test('documents deleted and applied again put details back on the mesh when the deletions arrive after the additions', async () => {
    const world = await created()
    const deletions = deleteAll(world)
    await deliver(world, applyAll(world))
    await deliver(world, deletions)
    expect(isOnMesh(world, 'details')).toBe(true)
  })
})

describe('replacement by force', () => {
  test.each([
    ['beacon', 'in order', [0, 1]],
    ['beacon', 'in the other order', [1, 0]],
    ['details', 'in order', [0, 1]],
    ['details', 'in the other order', [1, 0]],
  ])(
    'a config document of %s that is replaced by force keeps the relations whose documents exist, with its events %s',
    async (name, _, order) => {
      const world = await created(ALL)
      const events = [deleteDocument(world, configDocument(name)), applyDocument(world, configDocument(name))]
      await deliver(world, inOrder(events, order))
      expect(effects(world)).toEqual(WORKING)
    },
  )

  test.each(['beacon', 'details'])(
    'a config document of %s that is replaced by force keeps the relations, with both events at once',
    async (name) => {
      const world = await created(ALL)
      const events = [deleteDocument(world, configDocument(name)), applyDocument(world, configDocument(name))]
      await Promise.all(events.map((one) => world.post(one)))
      await calm(world)
      expect(effects(world)).toEqual(WORKING)
    },
  )

  test('a config document that is replaced by force keeps the relations when only its deletion arrives', async () => {
    const world = await created(ALL)
    const deletion = deleteDocument(world, configDocument('details'))
    applyDocument(world, configDocument('details'))
    await deliver(world, [deletion])
    expect(effects(world)).toEqual(WORKING)
  })
})

describe('a relation whose document is made again for its other side', () => {
  const [ours, theirs] = ['details', 'productpage'].map((name) => relationDocument(name, USE)) as [
    KubernetesObject,
    KubernetesObject,
  ]
  const ways = ['relation-2', 'another'].flatMap((name) =>
    [[], ['add'], ['delete'], ['delete', 'add'], ['add', 'delete']].map((told) => ({ name, told })),
  )

  test.each(ways)(
    'a relation whose document is made again for its other side stands, as $name, when $told is told, and after resyncs',
    async ({ name, told }) => {
      for (const [from, to] of [
        [ours, theirs],
        [theirs, ours],
      ] as const) {
        const world = await created([...DOCUMENTS, from])
        const seen = atEveryWrite(world, () => effects(world))
        const deletion = deleteDocument(world, from)
        const addition = applyDocument(world, { ...to, metadata: { ...to.metadata, name } })
        await deliver(
          world,
          told.map((verb) => (verb === 'add' ? addition : deletion)),
        )
        await resync(world, undefined)
        await resync(world, undefined)
        expect(seen).toEqual([WORKING])
        await deliver(world, [deleteDocument(world, { ...to, metadata: { ...to.metadata, name } })])
        expect(effects(world)).toEqual({ mesh: 'on', principals: [] })
      }
    },
  )

  test('a relation whose document is made again for its other side stands by one document where both sides have one and the other goes', async () => {
    const second = { ...theirs, metadata: { ...theirs.metadata, name: 'another' } }
    for (const [gone, left] of [
      [ours, second],
      [second, ours],
    ] as const) {
      const world = await created([...ALL, second])
      const seen = atEveryWrite(world, () => effects(world))
      await deliver(world, [deleteDocument(world, gone)])
      await resync(world, undefined)
      expect(seen).toEqual([WORKING])
      await deliver(world, [deleteDocument(world, left)])
      expect(effects(world)).toEqual({ mesh: 'on', principals: [] })
    }
  })
})

describe('documents while their source is away', () => {
  test('relations whose documents were made while their source was away are applied by a resync of the namespace', async () => {
    const world = await created(DOCUMENTS.slice(0, 2))
    applyDocument(world, relationDocument('details', MESH))
    applyDocument(world, relationDocument('details', USE))
    await resync(world, undefined)
    expect(effects(world)).toEqual(WORKING)
  })

  test('documents that no event has told of are applied by a resync of the namespace', async () => {
    const world = createPair()
    applyAll(world, ALL)
    await resync(world, undefined)
    expect(effects(world)).toEqual(WORKING)
  })

  test('a relation whose document was deleted while its source was away is ended by a resync of the namespace', async () => {
    const world = await created(ALL)
    expect(effects(world)).toEqual(WORKING)
    deleteDocument(world, relationDocument('details', USE))
    await resync(world, undefined)
    expect(effects(world)).toEqual({ mesh: 'on', principals: [] })
  })

  test('an application whose documents were all deleted while their source was away is removed by a resync of the namespace', async () => {
    const world = await created(ALL)
    deleteAll(world, ALL)
    await resync(world, undefined)
    expect(effects(world)).toEqual(OFF)
  })

  test('a config whose document was changed while its source was away is applied by a resync of the namespace', async () => {
    const world = await created(ALL)
    deleteDocument(world, configDocument('details'))
    applyDocument(world, configDocument('details', {}))
    await resync(world, undefined)
    expect(effects(world)).toEqual({ mesh: 'on', principals: [] })
  })

  test('a relation whose document was deleted while its source was away is ended by a resync of its application alone', async () => {
    const world = await created(ALL)
    deleteDocument(world, relationDocument('details', USE))
    await resync(world, 'details')
    expect(effects(world)).toEqual({ mesh: 'on', principals: [] })
  })
})

describe('a document that cannot be read', () => {
  const broken = [
    ['the config', configDocument('details'), { config: 'policies: [ {' }, 'data.config: neither JSON nor YAML'],
    ['the relation', relationDocument('details', USE), { remote: '{' }, 'data.remote: neither JSON nor YAML'],
    ['a config of nobody', configDocument('details'), { application: '' }, 'details-config: data.application'],
    ['a config of unknown keys', configDocument('details'), { config: '{"polices": []}' }, 'polices'],
  ] as const

  test.each(broken)(
    'a document that cannot be read leaves what it said before, and a resync of the namespace or of the application names it: %s',
    async (_, document, data, problem) => {
      const world = await created(ALL)
      deleteDocument(world, document)
      applyDocument(world, { ...document, data: { ...document.data, ...data } })
      await resync(world, undefined)
      expect(effects(world)).toEqual(WORKING)
      const { messages } = await world.send('resync', { application: 'details' })
      expect(messages).toEqual([expect.stringContaining(problem)])
      expect(messages).toEqual([expect.stringContaining('the last readable data stays in effect')])
      expect(effects(world)).toEqual(WORKING)
    },
  )
})

test('a document of which nobody knows whose it is, is told once for the namespace, and by no application', async () => {
  const world = await created(ALL)
  const nobodys = { ...configDocument('reviews'), data: { ...configDocument('reviews').data, application: 'reviews"' } }
  applyDocument(world, nobodys)
  const { status, messages } = await world.send('resync', { application: undefined })
  const told = expect.stringMatching(/reviews-config: application: .*; the last readable data stays in effect$/)
  expect([status, messages]).toEqual(['waiting', [expect.stringContaining('looked at'), told]])
  for (const application of ['details', 'beacon']) {
    const { messages } = await world.send('resync', { application })
    expect([application, messages]).toEqual([application, []])
  }
  expect(effects(world)).toEqual(WORKING)
})

test('a relation of a document is told once to an application without a memory', async () => {
  const world = await created(DOCUMENTS)
  await deliver(world, [applyDocument(world, relationDocument('details', { ...USE, requirer: 'reviews' }))])
  world.calls.length = 0
  await resync(world, 'details')
  expect(world.calls.filter(isWrite)).toEqual([])
})
