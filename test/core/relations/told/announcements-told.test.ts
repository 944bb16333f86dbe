import { describe, expect, test } from 'vitest'
import { resolveRelations } from '../../../../src/core/relations/resolve-relations.ts'
import {
  announceRelation,
  announceRelationByDocument,
  endedWith,
  endRelation,
  handDocumentOver,
  markNow,
} from '../../../../src/core/relations/told/announcements.ts'
import { mergePeer } from '../../../../src/core/relations/told/merge-peer.ts'
import { marksOf } from '../../../../src/core/relations/told/peer-marks.ts'
import { endOnRemoval } from '../../../../src/core/relations/told/removal.ts'
import { endsAlone, tombstoneOf } from '../../../../src/core/relations/told/tombstones.ts'
import { type RelationEntry, relationKey } from '../../../../src/core/state/relation.ts'
import type { State } from '../../../../src/core/state/state.ts'
import type { Position } from '../../../../src/platform/base/event-order.ts'
import { entryOf, peersOf, stateOf } from '../../../helpers/states.ts'
import { NAMESPACE, SUBJECT } from '../../../helpers/world.ts'

const NOW = new Date('2026-01-02T03:04:05.000Z')
const EARLIER = '2026-01-01T00:00:00.000Z'

const at = (time: number, changes: Partial<Position> = {}): Position => ({
  ...{ source: 'juju', id: `event at ${time}`, time, arrived: time },
  ...changes,
})

const NOBODY = () => []

const entries = ({ relations }: State): RelationEntry[] => Object.values(relations)

const statuses = (state: State): Record<string, string> =>
  Object.fromEntries(Object.entries(state.relations).map(([key, { status }]) => [key, status]))

const announced = ({ id, endpoint, interface: name, role, remote, document }: RelationEntry) => ({
  ...{ id, endpoint, interface: name, role, remote: { data: {}, ...remote } },
  ...(document !== undefined && { document }),
})

const tombstone = (position: number, changes = {}) => ({ position: { at: position }, endedAt: EARLIER, ...changes })

describe('an announcement', () => {
  const announce = (state: State, entry: RelationEntry, position: Position, known = NOBODY as () => { at: number }[]) =>
    announceRelation(state, announced(entry), position, NOW, known)

  test('an announcement counts if it is later than what is known of the relation, and of the removal of the application', () => {
    const known = stateOf([entryOf({ position: { at: 5 } })])
    expect(announce(known, entryOf(), at(4)).late).toBe('stale')
    expect(announce(known, entryOf(), at(6)).late).toBeUndefined()
    expect(announce(stateOf([], { marks: { application: { at: 5 } } }), entryOf(), at(4)).late).toBe('stale')
    expect(announce(stateOf([]), entryOf(), at(4), () => [{ at: 5 }]).late).toBe('stale')
    expect(announce(stateOf([]), entryOf(), at(6), () => [{ at: 5 }]).late).toBeUndefined()
  })

  test('an announcement that was known as ended stays late, and a later one brings the relation back without the tombstone', () => {
    const told = stateOf([], { tombstones: { 1: tombstone(5), 2: tombstone(5) } })
    const stale = announce(told, entryOf(), at(4))
    expect(stale.late).toBe('stale')
    expect(entries(stale.state)).toMatchObject([{ status: 'ended', position: { at: 5 } }])
    const { state } = announce(told, entryOf(), at(6))
    expect(entries(state)).toMatchObject([{ status: 'established', position: { at: 6 } }])
    expect(Object.keys(state.tombstones ?? {})).toEqual(['2'])
  })

  test.each(['1', '1/beacon', '1/beacon/mesh'])(
    'an announcement is late by the tombstone %s of its relation',
    (key) => {
      const elsewhere = entryOf({ remote: { application: 'beacon', namespace: 'mesh' } })
      const told = stateOf([], { tombstones: { [key]: tombstone(5) } })
      expect(announce(told, elsewhere, at(4)).late).toBe('stale')
      expect(announce(told, elsewhere, at(6)).state.tombstones).toBeUndefined()
    },
  )

  test.each(['2', '1/other', '1/beacon/mesh'])(
    'an announcement is not late by the tombstone %s of another relation',
    (key) => {
      const told = stateOf([], { tombstones: { [key]: tombstone(5) } })
      const { late, state } = announce(told, entryOf(), at(4))
      expect(late).toBeUndefined()
      expect(Object.keys(state.tombstones ?? {})).toEqual([key])
    },
  )

  test('an announcement is late by the latest of several tombstones', () => {
    const tombstones = { 1: tombstone(5), '1/beacon': tombstone(3) }
    expect(announce(stateOf([], { tombstones }), entryOf(), at(4)).late).toBe('stale')
    expect(
      announce(stateOf([], { tombstones: { 1: tombstone(3), '1/beacon': tombstone(5) } }), entryOf(), at(4)).late,
    ).toBe('stale')
  })

  test('an announcement that is late by the memory of the peer alone is remembered as received', () => {
    const known = stateOf([entryOf({ position: { at: 5 } })])
    const { state } = announce(known, entryOf(), at(6), () => [{ at: 9 }])
    expect(entries(state)).toMatchObject([{ position: { at: 5, ids: ['event at 6'] } }])
    expect(announce(known, entryOf(), at(4), () => [{ at: 9 }]).state).toBe(known)
  })

  test('an announcement keeps the progress of both sides and the last end', () => {
    const progress: Partial<RelationEntry> = {
      ...{
        published: { digest: 'd' },
        peer: { publishes: true },
        claim: { version: 'v1', phase: 'applied' as const },
        endedAt: EARLIER,
      },
      ...{ waitsForId: true },
    }
    const { state } = announce(stateOf([entryOf({ ...progress, status: 'ended' })]), entryOf(), at(6))
    expect(entries(state)).toMatchObject([{ ...progress, status: 'established' }])
  })

  test('an announcement with an empty databag empties it only if the platform had sent one while the relation stood', () => {
    const databag = (before: Partial<RelationEntry>) =>
      entries(announce(stateOf([entryOf(before)]), entryOf(), at(6)).state)[0]?.remote
    const told = { application: 'beacon', data: { a: 'b' } }
    expect(databag({})).toEqual({ application: 'beacon' })
    expect(databag({ remote: told })).toEqual({ application: 'beacon', data: {} })
    expect(databag({ remote: told, status: 'ended' })).toEqual({ application: 'beacon' })
  })

  test('an announcement by an event leaves the relation of a document to the document while it declares the relation', () => {
    const document = (before: Partial<RelationEntry>) =>
      entries(announce(stateOf([entryOf({ document: 'one', ...before })]), entryOf(), at(6)).state)[0]?.document
    expect(document({})).toBe('one')
    expect(document({ status: 'ended' })).toBeUndefined()
    expect(document({ told: undefined })).toBeUndefined()
  })

  test('an announcement by a document is late by the relation that the document declared before, and ends that one', () => {
    const before = entryOf({ document: 'one', position: { at: 5 } })
    const other = entryOf({ id: 2, document: 'one' })
    expect(announce(stateOf([before]), other, at(4)).late).toBe('stale')
    expect(announce(stateOf([before]), { ...other, document: 'two' }, at(4)).late).toBeUndefined()
    const { state } = announce(stateOf([before]), other, at(6))
    expect(statuses(state)).toEqual({ [relationKey(before)]: 'ended', [relationKey(other)]: 'established' })
    const apart = announce(stateOf([before]), { ...other, document: 'two' }, at(6)).state
    expect(statuses(apart)).toEqual({ [relationKey(before)]: 'established', [relationKey(other)]: 'established' })
  })

  test('an announcement of a relation whose id another one has waits for the id, and entries are sorted by id', () => {
    const third = entryOf({ id: 3 })
    const { state } = announce(stateOf([third]), entryOf({ id: 2 }), at(6))
    expect(entries(state).map(({ id }) => id)).toEqual([2, 3])
    const rival = announce(stateOf([third]), entryOf({ id: 3, remote: { application: 'other' } }), at(6)).state
    expect(entries(rival).map(({ waitsForId }) => waitsForId)).toEqual([undefined, true])
  })

  test('an announcement of a relation with a namesake of the peer in another namespace is of another relation', () => {
    const elsewhere = entryOf({ remote: { application: 'beacon', namespace: 'mesh' } })
    const { state } = announce(stateOf([entryOf()]), elsewhere, at(6))
    expect(Object.keys(state.relations)).toEqual([
      '1/requires/service_mesh/beacon',
      '1/requires/service_mesh/mesh/beacon',
    ])
  })
})

describe('a document that exists', () => {
  const exists = (state: State, known = NOBODY as () => { at: number }[]) =>
    entries(announceRelationByDocument(state, announced(entryOf({ document: 'one' })), NOW, known))

  test('a document that exists keeps the place of its relation in the order of events', () => {
    expect(exists(stateOf([entryOf({ document: 'one', position: { at: 5 } })]))).toMatchObject([
      { position: { at: 5 } },
    ])
  })

  test('a document that exists announces its relation now, later than all that is known of it', () => {
    const now = NOW.getTime()
    expect(exists(stateOf([]))).toMatchObject([{ position: { at: now } }])
    expect(exists(stateOf([entryOf({ status: 'ended', position: { at: now + 5 } })]))).toMatchObject([
      { status: 'established', position: { at: now + 6 } },
    ])
    expect(exists(stateOf([]), () => [{ at: now + 7 }])).toMatchObject([{ position: { at: now + 8 } }])
    expect(exists(stateOf([], { tombstones: { 1: tombstone(now + 9) } }))).toMatchObject([
      { position: { at: now + 10 } },
    ])
  })
})

test('a mark of now is later than each known mark, and never earlier than the clock', () => {
  const now = NOW.getTime()
  const removal = (time: number) => stateOf([], { marks: { application: { at: time } } })
  expect(markNow(stateOf([]), undefined, NOW)).toEqual({ at: now })
  expect(markNow(stateOf([]), { at: now, ids: ['a'] }, NOW)).toEqual({ at: now + 1, ids: ['a'] })
  expect(markNow(removal(now + 4), { at: 3 }, NOW)).toEqual({ at: now + 5 })
  expect(markNow(removal(1), { at: 3 }, NOW, [{ at: now + 7 }, { at: 2 }])).toEqual({ at: now + 8 })
})

describe('the end of a relation', () => {
  type Told = Parameters<typeof endRelation>[1]
  const end = (state: State, told: Told, position = at(9), known = NOBODY as () => { at: number }[]) =>
    endRelation(state, told, position, NOW, known)

  const MESH = entryOf()
  const DB = entryOf({ endpoint: 'db', interface: 'sql', remote: { application: 'db' }, waitsForId: true })
  const ELSEWHERE = entryOf({ endpoint: 'db', interface: 'sql', remote: { application: 'db', namespace: 'data' } })
  const BACK = entryOf({
    endpoint: 'db',
    interface: 'sql',
    role: 'provides',
    remote: { application: 'db' },
    waitsForId: true,
  })

  const endedIn = (told: Told, ...all: RelationEntry[]): string[] =>
    Object.entries(statuses(end(stateOf(all), told).state)).flatMap(([key, status]) =>
      status === 'ended' ? [key] : [],
    )

  test('the end of a relation ends that with its id and its application', () => {
    expect(endedIn({ relation: { id: 2 } }, MESH)).toEqual([])
    expect(endedIn({ relation: { id: 1 } }, MESH)).toEqual([relationKey(MESH)])
    expect(endedIn({ relation: { id: 1 }, remote: { application: 'db' } }, MESH, DB)).toEqual([relationKey(DB)])
    expect(endedIn({ relation: { id: 1 }, remote: { application: 'other' } }, MESH, DB)).toEqual([])
  })

  test('the end of a relation ends that which agrees most, and of others that which has the id', () => {
    expect(endedIn({ relation: { id: 1 } }, DB, MESH)).toEqual([relationKey(MESH)])
    expect(endedIn({ relation: { id: 1, interface: 'sql' } }, MESH, DB)).toEqual([relationKey(DB)])
    expect(endedIn({ relation: { id: 1, role: 'provides' } }, MESH, BACK)).toEqual([relationKey(BACK)])
    expect(endedIn({ relation: { id: 1 }, remote: { application: 'db', namespace: 'data' } }, DB, ELSEWHERE)).toEqual([
      relationKey(ELSEWHERE),
    ])
    expect(endedIn({ relation: { id: 1 }, remote: { application: 'db' } }, { ...ELSEWHERE }, DB)).toEqual([
      relationKey(DB),
    ])
  })

  test('the end of a relation by its document ends what the document declares here, and nothing else', () => {
    const held = { ...MESH, document: 'one', waitsForId: true } as const
    const told = { relation: { id: 1, interface: 'sql' }, remote: { application: 'db' }, document: 'one' }
    expect(endedIn(told, { ...DB, waitsForId: undefined }, held)).toEqual([relationKey(held)])
    expect(endedIn(told, DB, { ...held, told: undefined })).toEqual([relationKey(DB)])
    expect(endedIn({ ...told, document: 'two' }, DB, held)).toEqual([relationKey(DB)])
  })

  test('the end of a relation is late by what is known of the relation, and not by the removal of the application', () => {
    const known = stateOf([entryOf({ position: { at: 5 } })])
    const told = { relation: { id: 1 } }
    expect(end(known, told, at(4)).late).toBe('stale')
    expect(end(known, told, at(6)).late).toBeUndefined()
    expect(end({ ...known, marks: { application: { at: 7 } } }, told, at(6)).late).toBeUndefined()
    expect(end(known, told, at(6), () => [{ at: 7 }])).toMatchObject({ late: 'stale' })
    expect(entries(end(known, told, at(6), () => [{ at: 7 }]).state)).toMatchObject([
      { position: { ids: ['event at 6'] } },
    ])
    expect(end(stateOf([], { tombstones: { 1: tombstone(5) } }), told, at(4)).late).toBe('stale')
  })

  test('an announcement without a time is later than the removal of the peer, which makes no end of a relation late', () => {
    const removed = peersOf({ beacon: stateOf([], { marks: { application: { at: 9, sequences: { juju: '5' } } } }) })
    const known = marksOf(SUBJECT, removed)
    const untimed = announceRelation(
      stateOf([]),
      announced(MESH),
      at(1, { time: undefined, sequence: '4' }),
      NOW,
      known,
    )
    expect(entries(untimed.state)).toMatchObject([{ position: { at: 10 } }])
    const timed = announceRelation(stateOf([]), announced(MESH), at(6), NOW, known)
    expect(entries(timed.state)).toMatchObject([{ status: 'established', position: { at: 6 } }])
    expect(endRelation(stateOf([MESH]), { relation: { id: 1 } }, at(6), NOW, known).late).toBeUndefined()
  })

  test('the end of a relation keeps the time of its first end, and a relation that stood again has a new one', () => {
    const endOf = (before: Partial<RelationEntry>) =>
      entries(end(stateOf([entryOf({ endedAt: EARLIER, ...before })]), { relation: { id: 1 } }).state)[0]?.endedAt
    expect(endOf({ status: 'ended' })).toBe(EARLIER)
    expect(endOf({})).toBe(NOW.toISOString())
  })

  test('the end of an unknown relation is remembered as ended where it is named completely', () => {
    const { id, endpoint, interface: name, role, remote } = MESH
    const whole = { relation: { id, endpoint, interface: name, role }, remote }
    const told = stateOf([], { tombstones: { 1: tombstone(5) } })
    const { state } = end(told, whole)
    expect(statuses(state)).toEqual({ [relationKey(MESH)]: 'ended' })
    expect(state.tombstones).toBeUndefined()
    for (const field of ['endpoint', 'interface', 'role'] as const) {
      const lacking = { ...whole, relation: { ...whole.relation, [field]: undefined } }
      expect(entries(end(stateOf([]), lacking).state)).toEqual([])
    }
  })

  test('the end of an unknown relation leaves a tombstone for its id and its application, with the time of the first end', () => {
    const told = { relation: { id: 1, interface: 'sql' }, remote: { application: 'db', namespace: 'data' } }
    const tombstones = (one: Told, before: State = stateOf([])) => end(before, one).state.tombstones
    expect(tombstones({ relation: { id: 1 } })).toEqual({
      1: { position: { at: 9, ids: ['event at 9'] }, endedAt: NOW.toISOString() },
    })
    expect(tombstones(told)).toMatchObject({ '1/db/data': { interface: 'sql' } })
    expect(Object.keys(tombstones({ ...told, remote: { application: 'db' } }) ?? {})).toEqual(['1/db'])
    expect(
      tombstones({ relation: { id: 1 } }, stateOf([], { tombstones: { 1: tombstone(5), 2: tombstone(5) } })),
    ).toMatchObject({
      1: { endedAt: EARLIER, position: { at: 9 } },
      2: { endedAt: EARLIER, position: { at: 5 } },
    })
  })
})

describe('the relations that end with a document', () => {
  const MESH = entryOf({ document: 'one' })
  const DB = entryOf({ id: 2, endpoint: 'db', interface: 'sql', remote: { application: 'db' }, document: 'one' })
  const told = { relation: { id: 1 } }
  const ends = (all: RelationEntry[], named: typeof told | undefined, document: string | undefined): number[] =>
    endedWith(stateOf(all), named, document).map(({ relation }) => relation.id)

  test('the relations that end with a document are those that it declares, and the named one', () => {
    expect(ends([MESH, DB], undefined, 'one')).toEqual([1, 2])
    expect(ends([MESH, DB], told, 'one')).toEqual([1, 2])
    expect(ends([MESH, DB], undefined, undefined)).toEqual([])
    expect(ends([MESH, DB], undefined, 'two')).toEqual([])
    expect(ends([MESH], { relation: { id: 3 } }, 'one')).toEqual([3, 1])
    expect(ends([{ ...MESH, status: 'ended' }, DB], undefined, 'one')).toEqual([2])
  })

  test('the relations that end with a document are not those of another one, of events, or of the other side', () => {
    expect(ends([{ ...MESH, document: 'two' }, DB], told, 'one')).toEqual([2])
    expect(ends([{ ...MESH, told: undefined }, DB], told, 'one')).toEqual([2])
    expect(ends([{ ...MESH, told: undefined, status: 'ended' }, DB], told, 'one')).toEqual([1, 2])
    expect(ends([entryOf(), DB], told, 'one')).toEqual([2])
    expect(ends([{ ...MESH, document: 'two' }], told, undefined)).toEqual([1])
  })

  test('a document that is declared by another one now is handed over to the side of that one', () => {
    const state = stateOf([MESH])
    expect(entries(handDocumentOver(state, relationKey(MESH), 'two'))).toMatchObject([
      { document: 'two', position: { at: 2 }, told: { at: 1 }, status: 'established' },
    ])
    expect(handDocumentOver(state, relationKey(DB), 'two')).toBe(state)
  })
})

test('a tombstone names the id, and the application of the namespace if the end named one', () => {
  expect(tombstoneOf(SUBJECT, '1')).toEqual({ id: '1' })
  expect(tombstoneOf(SUBJECT, '1/db')).toEqual({ id: '1', remote: { namespace: NAMESPACE, application: 'db' } })
  expect(tombstoneOf(SUBJECT, '1/db/data')).toEqual({ id: '1', remote: { namespace: 'data', application: 'db' } })
})

test('relations of which only the end is known have ended, whether the application or a peer knows it', () => {
  const own = stateOf([], { tombstones: { '1/db': tombstone(1), 12: tombstone(1) } })
  const peer = { namespace: NAMESPACE, application: 'db' }
  const state = stateOf([], { tombstones: { '3/web': tombstone(1), '4/other': tombstone(1) } })
  const peers = new Map([[`${NAMESPACE}/db`, { subject: peer, state, labels: {} }]])
  expect(resolveRelations(SUBJECT, own, peers).over).toMatchObject([
    { id: '12' },
    { id: '1', remote: peer },
    { id: '3', remote: peer },
  ])
  expect(resolveRelations(SUBJECT, stateOf([]), new Map()).over).toEqual([])
})

test('a peer knows alone of the ends that name the application', () => {
  const peer = { namespace: NAMESPACE, application: 'db' }
  const tombstones = {
    '1/web': tombstone(1, { interface: 'sql' }),
    '2/web': tombstone(1),
    '3/other': tombstone(1),
    4: tombstone(1),
  }
  expect(endsAlone(SUBJECT, peer, { tombstones })).toEqual([
    { id: '1', interface: 'sql' },
    { id: '2', interface: '' },
  ])
  expect(endsAlone(SUBJECT, { ...peer, namespace: 'data' }, { tombstones: { '1/web/shop': tombstone(1) } })).toEqual([])
  expect(endsAlone(SUBJECT, peer, {})).toEqual([])
})

describe('the memory of a peer', () => {
  const BEACON = { namespace: NAMESPACE, application: 'beacon' }
  const theirs = (changes: Partial<RelationEntry> = {}) =>
    entryOf({ role: 'provides', remote: { application: 'web' }, position: { at: 5 }, ...changes })
  const merge = (own: State, ...all: RelationEntry[]) => mergePeer(own, SUBJECT, BEACON, stateOf(all), NOW)

  test('the memory of a peer is merged for its relations with the application alone', () => {
    expect(entries(merge(stateOf([]), theirs(), theirs({ id: 2, remote: { application: 'other' } })))).toMatchObject([
      { id: 1, role: 'requires', remote: { application: 'beacon' } },
    ])
  })

  test('the memory of a peer brings no relation that waits for its id there', () => {
    expect(entries(merge(stateOf([]), theirs({ waitsForId: true })))).toEqual([])
  })

  test.each<[string, Partial<RelationEntry>, Partial<State>, number]>([
    ['which nobody awaits is not adopted', {}, {}, 0],
    ['with a claim is adopted', { claim: { version: 'v1', phase: 'applied' as const } }, {}, 1],
    ['whose labels may be those that a lost memory knew is adopted', {}, { lost: { labels: true } }, 1],
    ['without labels is not adopted after a lost memory', { interface: 'sql' }, { lost: { labels: true } }, 0],
    [
      'of which this side was the beacon is not adopted after a lost memory',
      { role: 'requires' },
      { lost: { labels: true } },
      0,
    ],
    [
      'that waits for its id is adopted with a claim',
      { claim: { version: 'v1', phase: 'applied' }, waitsForId: true },
      {},
      1,
    ],
  ])('an end in the memory of a peer %s', (_, other, own, count) => {
    expect(entries(merge(stateOf([], own), theirs({ status: 'ended', endedAt: EARLIER, ...other })))).toHaveLength(
      count,
    )
  })

  test('the memory of a peer that was not told itself shows that this side was told', () => {
    expect(entries(merge(stateOf([]), theirs()))[0]).not.toHaveProperty('told')
    expect(entries(merge(stateOf([]), theirs({ told: undefined })))).toMatchObject([{ told: { at: 5 } }])
  })

  test('the memory of a peer keeps the end of a relation of an application that was removed since', () => {
    const removed = stateOf([], { marks: { application: { at: 9 } } })
    const over = theirs({
      status: 'ended',
      endedAt: EARLIER,
      told: undefined,
      claim: { version: 'v1', phase: 'applied' },
    })
    expect(entries(merge(removed, over))).toMatchObject([{ status: 'ended', endedAt: EARLIER, position: { at: 5 } }])
    expect(entries(merge(removed, theirs({ told: undefined })))).toMatchObject([
      { status: 'ended', endedAt: NOW.toISOString(), position: { at: 9 } },
    ])
    expect(entries(merge(removed, theirs()))).toMatchObject([{ status: 'established' }])
  })

  test.each<[string, Partial<RelationEntry>, Partial<RelationEntry>, string | undefined]>([
    ['declares the relation there', { told: undefined }, { document: 'one' }, 'one'],
    ['no longer declares it there', { told: undefined, document: 'one' }, {}, undefined],
    ['declares it here', { document: 'two' }, { document: 'one' }, 'two'],
    ['declares it at neither', { told: undefined }, { document: 'one', told: undefined }, undefined],
  ])('the memory of a peer tells of the document that %s', (_, own, other, document) => {
    expect(entries(merge(stateOf([entryOf(own)]), theirs(other)))[0]?.document).toBe(document)
  })

  test('the memory of a peer that tells nothing new leaves the state as it is', () => {
    const own = stateOf([entryOf({ told: undefined, document: 'one' })])
    expect(merge(own, theirs({ document: 'one' }))).toBe(own)
  })

  test('the memory of a peer with a later status counts, with its document and the marks of both', () => {
    const own = entryOf({ status: 'ended', endedAt: EARLIER, position: { at: 3, ids: ['a'] } })
    expect(entries(merge(stateOf([own]), theirs({ document: 'one' })))).toMatchObject([
      { status: 'established', told: { at: 3 }, document: 'one', position: { at: 5, ids: ['a'] } },
    ])
    // so that a relation that comes back is told from the one before, whichever side was told
    expect(entries(merge(stateOf([own]), theirs()))[0]).toHaveProperty('endedAt', EARLIER)
    const over = entries(merge(stateOf([entryOf({ document: 'two' })]), theirs({ status: 'ended', document: 'one' })))
    expect(over).toMatchObject([{ status: 'ended', document: 'two', endedAt: NOW.toISOString() }])
  })
})

describe('the removal of an application', () => {
  const remove = (entry: RelationEntry | undefined, position: Position, changes: Partial<State> = {}) =>
    endOnRemoval(stateOf(entry ? [entry] : [], changes), position, NOW)

  test('the removal of an application ends the relations that were told before, except those of documents', () => {
    const outcome = (entry: RelationEntry) => entries(remove(entry, at(5)).state)[0]
    expect(outcome(entryOf({ position: { at: 4 } }))).toMatchObject({
      ...{ status: 'ended', position: { at: 5 }, endedAt: NOW.toISOString() },
    })
    expect(outcome(entryOf({ position: { at: 6 } }))).toMatchObject({ status: 'established', position: { at: 6 } })
    expect(outcome(entryOf({ document: 'one' }))).toMatchObject({ status: 'established', position: { at: 1 } })
    expect(outcome(entryOf({ told: undefined }))).toMatchObject({ status: 'established', position: { at: 1 } })
    const over = entryOf({ status: 'ended', endedAt: EARLIER })
    expect(outcome(over)).toBe(over)
  })

  test('the removal of an application is late by an earlier removal', () => {
    const before = { marks: { application: { at: 7 } } }
    expect(remove(undefined, at(5), before).late).toBe('stale')
    expect(remove(undefined, at(8), before).state).toMatchObject({
      removed: NOW.toISOString(),
      marks: { application: { at: 8 } },
    })
  })

  test('the removal of an application without a time is later than all that is known', () => {
    const timeless = at(5, { time: undefined })
    const marks = { config: { at: 9 }, settings: { at: 3 } }
    expect(remove(entryOf({ position: { at: 12 } }), timeless, { marks }).state).toMatchObject({
      marks: { ...marks, application: { at: 13 } },
    })
    expect(remove(entryOf(), timeless, { marks }).state.marks?.application?.at).toBe(10)
    expect(remove(undefined, timeless).state.marks?.application?.at).toBe(0)
    expect(
      remove(undefined, timeless, { marks: { application: { at: 20 }, config: { at: 9 } } }).state.marks?.application
        ?.at,
    ).toBe(21)
  })

  test('the removal of an application by a sequence ends what has an earlier one, and keeps the later of both times', () => {
    const numbered = (time: number, sequence: string) =>
      entryOf({ position: { at: time, sequences: { juju: sequence } } })
    const removal = at(5, { sequence: '2' })
    expect(entries(remove(numbered(9, '1'), removal).state)).toMatchObject([{ status: 'ended', position: { at: 9 } }])
    expect(entries(remove(numbered(3, '1'), removal).state)).toMatchObject([{ status: 'ended', position: { at: 5 } }])
    expect(entries(remove(numbered(3, '3'), removal).state)).toMatchObject([
      { status: 'established', position: { at: 6 } },
    ])
    expect(entries(remove(numbered(9, '3'), removal).state)).toMatchObject([
      { status: 'established', position: { at: 9 } },
    ])
    const over = { ...numbered(3, '3'), status: 'ended' } as const
    expect(entries(remove(over, removal).state)[0]).toBe(over)
    const timeless = at(5, { sequence: '2', time: undefined })
    const later = remove(numbered(9, '3'), timeless, { marks: { config: { at: 20, sequences: { juju: '3' } } } })
    expect(later.state.marks?.application?.at).toBe(0)
  })
})
