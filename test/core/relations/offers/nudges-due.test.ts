import { describe, expect, test } from 'vitest'
import { nudgesDue, withSending } from '../../../../src/core/relations/offers/nudges.ts'
import { versionOf } from '../../../../src/core/relations/offers/published-version.ts'
import type { Peer, Peers } from '../../../../src/core/relations/peers.ts'
import type { RelationEntry } from '../../../../src/core/state/relation.ts'
import type { State } from '../../../../src/core/state/state.ts'
import { entryOf, peersOf, stateOf } from '../../../helpers/states.ts'
import { SUBJECT } from '../../../helpers/world.ts'

const NOW = new Date('2026-01-02T03:04:05.000Z')
const USUAL = { isResync: false, isNamespaceResync: false, isAnswer: false, now: NOW }

const due = (state: State, peers: Peers = peersOf({}), occasion: Partial<typeof USUAL> = {}) =>
  nudgesDue(SUBJECT, state, peers, { ...USUAL, ...occasion })

const names = (...args: Parameters<typeof due>): string[] => due(...args).map(({ name }) => name)

const NUDGE = 'relation 1 (service-mesh) to shop/beacon'

const theirs = (changes: Partial<RelationEntry> = {}): RelationEntry =>
  entryOf({ role: 'provides', remote: { application: 'web' }, ...changes })

/** The beacon has observed what `entry` publishes now. */
const observing = (entry: RelationEntry, changes: Partial<RelationEntry> = {}, more: Partial<State> = {}): Peers =>
  peersOf({
    beacon: stateOf([theirs({ peer: { seen: versionOf(stateOf([entry]), entry) }, ...changes })], more),
  })

const unreadable: Peers = new Map<string, Peer>([
  ['shop/beacon', { subject: { namespace: 'shop', application: 'beacon' }, unknown: 'unreadable', problem: 'no' }],
])

describe('a peer with a memory', () => {
  test('a peer with a memory is nudged until it has observed what is published', () => {
    const entry = entryOf()
    expect(names(stateOf([entry]), peersOf({ beacon: stateOf([theirs()]) }))).toEqual([NUDGE])
    expect(names(stateOf([entry]), observing(entry))).toEqual([])
    expect(names(stateOf([entryOf({ published: { digest: 'new' } })]), observing(entry))).toEqual([NUDGE])
  })

  test('a peer with a memory is nudged of a relation that it does not know while that stands', () => {
    expect(names(stateOf([entryOf()]), peersOf({ beacon: stateOf([]) }))).toEqual([NUDGE])
    expect(names(stateOf([entryOf({ status: 'ended' })]), peersOf({ beacon: stateOf([]) }))).toEqual([])
  })

  test.each<[string, Partial<RelationEntry>, Partial<State>, string[]]>([
    ['labels, where labels of the relation are taken', {}, { awaiting: 'labels-applied' }, [NUDGE]],
    ['labels, where it is this side that offers them', { role: 'provides' }, { awaiting: 'labels-applied' }, []],
    ['no labels, where there are none', {}, { awaiting: 'labels-removed' }, [NUDGE]],
    [
      'no labels, where they are still there',
      { claim: { version: 'v1', phase: 'applied' as const } },
      { awaiting: 'labels-removed' },
      [],
    ],
    [
      'no labels of a cluster',
      { claim: { version: 'v1', phase: 'applied' as const }, interface: 'cluster' },
      { awaiting: 'labels-removed' },
      [NUDGE],
    ],
  ])('a peer with a memory is nudged if it awaits %s', (_, own, more, expected) => {
    const entry = entryOf(own)
    const opposite = { role: own.role === 'provides' ? 'requires' : 'provides', interface: entry.interface } as const
    expect(names(stateOf([entry]), observing(entry, opposite, more))).toEqual(expected)
  })

  test('a peer with a memory that lags behind is answered by a step with nothing new, unless that one lags behind as well', () => {
    const other = theirs()
    const lagging = entryOf()
    const current = entryOf({ peer: { seen: versionOf(stateOf([other]), other) } })
    const answer = { isAnswer: true }
    expect(names(stateOf([lagging]), peersOf({ beacon: stateOf([other]) }), answer)).toEqual([])
    expect(names(stateOf([current]), peersOf({ beacon: stateOf([other]) }), answer)).toEqual([NUDGE])
    expect(names(stateOf([current]), observing(current), answer)).toEqual([])
  })

  test('a peer with a memory is nudged if it has another status than the merged one', () => {
    const entry = entryOf()
    expect(names(stateOf([entry]), observing(entry, { status: 'ended' }))).toEqual([NUDGE])
  })

  test('a peer with a memory gets one nudge for all of its relations', () => {
    const state = stateOf([entryOf(), entryOf({ id: 2 })])
    expect(names(state, peersOf({ beacon: stateOf([]) }))).toEqual([NUDGE])
    expect(due(state, peersOf({ beacon: stateOf([]) }))).toMatchObject([{ isRemembered: false }])
  })
})

describe('a peer without a memory', () => {
  test('a peer without a memory gets a nudge for each relation, with what is published', () => {
    const entry = entryOf({ published: { digest: 'd' } })
    const state = stateOf([entry, entryOf({ id: 2 })], {
      published: { d: { data: { a: 'b' }, units: { 'web/0': { c: 'd' } } } },
    })
    const nudges = due(state)
    expect(nudges.map(({ isRemembered }) => isRemembered)).toEqual([true, true])
    expect(nudges[0]).toMatchObject({
      ...{ key: '1/requires/service_mesh/beacon', shows: versionOf(state, entry), name: NUDGE },
      event: {
        ...{ source: '/meshstep/shop/web', type: 'dev.meshstep.relation-changed.v1', subject: 'shop/beacon' },
        ...{ time: NOW.toISOString(), extensions: { partitionkey: 'shop/beacon' } },
        data: {
          ...{ namespace: 'shop', application: 'beacon' },
          relation: { id: 1, endpoint: 'service-mesh', interface: 'service_mesh', role: 'provides' },
          remote: {
            ...{ application: 'web', namespace: 'shop', endpoint: 'service-mesh' },
            ...{ data: { a: 'b' }, units: { 'web/0': { c: 'd' } } },
          },
        },
      },
    })
    expect(nudges[1]?.event.data).toMatchObject({ remote: { data: {} } })
    expect(nudges[1]?.event.data).not.toHaveProperty('remote.units')
  })

  test('a peer without a memory hears of an end once, where it was told of the relation', () => {
    const ended = (changes: Partial<RelationEntry>) => names(stateOf([entryOf({ status: 'ended', ...changes })]))
    expect(ended({})).toEqual([])
    expect(ended({ peer: { sent: 'before' } })).toEqual([NUDGE])
    expect(ended({ peer: { sent: null } })).toEqual([NUDGE])
    const over = entryOf({ status: 'ended' })
    expect(ended({ peer: { sent: versionOf(stateOf([over]), over) } })).toEqual([])
    expect(due(stateOf([entryOf({ status: 'ended', peer: { sent: null } })]))).toMatchObject([
      {
        event: {
          type: 'dev.meshstep.relation-broken.v1',
          data: {
            relation: { id: 1, interface: 'service_mesh', role: 'provides' },
            remote: { application: 'web', namespace: 'shop' },
          },
        },
      },
    ])
  })

  test('a peer whose memory is unreadable is nudged like one without', () => {
    expect(due(stateOf([entryOf()]), unreadable)).toMatchObject([{ isRemembered: true }])
  })

  test('a nudge has the id of its content', () => {
    const id = (entry: RelationEntry) => due(stateOf([entry]))[0]?.event.id
    expect(id(entryOf())).toBe(id(entryOf()))
    expect(id(entryOf())).not.toBe(id(entryOf({ position: { at: 2 } })))
    expect(id(entryOf())).not.toBe(id(entryOf({ published: { digest: 'd' } })))
  })
})

describe('a peer in another namespace', () => {
  const ELSEWHERE = { application: 'beacon', namespace: 'mesh' }
  const far = (changes: Partial<RelationEntry> = {}) => stateOf([entryOf({ remote: ELSEWHERE, ...changes })])

  test('a peer in another namespace is nudged only where this side publishes something, or has a protocol', () => {
    expect(names(far())).toEqual(['relation 1 (service-mesh) to mesh/beacon'])
    expect(names(far({ interface: 'sql' }))).toEqual([])
    expect(names(far({ interface: 'sql', published: { digest: 'd' } }))).toHaveLength(1)
    expect(names(stateOf([entryOf({ interface: 'sql' })]))).toHaveLength(1)
  })

  test('a peer in another namespace has a status of its own', () => {
    const entry = entryOf({ remote: ELSEWHERE })
    const state = stateOf([entry])
    const other = theirs({
      ...{ status: 'ended', remote: { application: 'web', namespace: 'shop' } },
      peer: { seen: versionOf(state, entry) },
    })
    const subject = { namespace: 'mesh', application: 'beacon' }
    const peers = new Map<string, Peer>([['mesh/beacon', { subject, state: stateOf([other]), labels: {} }]])
    expect(names(state, peers)).toEqual([])
  })

  test('a resync nudges every peer, and one of the namespace only those in others', () => {
    const entry = entryOf()
    const state = stateOf([entry, entryOf({ id: 2, remote: ELSEWHERE })])
    const far = { peer: { seen: versionOf(state, entryOf({ id: 2, remote: ELSEWHERE })) } }
    const peers = new Map<string, Peer>([
      ...observing(entry),
      [
        'mesh/beacon',
        {
          ...{ subject: { namespace: 'mesh', application: 'beacon' }, labels: {} },
          state: stateOf([theirs({ id: 2, remote: { application: 'web', namespace: 'shop' }, ...far })]),
        },
      ],
    ])
    const of = (occasion: Partial<typeof USUAL>) => names(state, peers, occasion).map((name) => name.split(' to ')[1])
    expect(of({})).toEqual([])
    expect(of({ isResync: true })).toEqual(['shop/beacon', 'mesh/beacon'])
    expect(of({ isResync: true, isNamespaceResync: true })).toEqual(['mesh/beacon'])
  })
})

test('neither the application itself nor an alias is nudged', () => {
  const alias = entryOf({ id: 2, interface: 'cross_model_mesh', remote: { application: 'alias' } })
  const state = stateOf([
    entryOf({ remote: { application: 'web' } }),
    alias,
    entryOf({ id: 3, remote: { application: 'alias' } }),
  ])
  expect(names(state)).toEqual([])
  expect(withSending(SUBJECT, state, peersOf({}))).toEqual(state)
})

test('a message to a peer without a memory is marked as on its way before it is sent', () => {
  const delivered = (state: State, peers: Peers = peersOf({})) =>
    Object.values(withSending(SUBJECT, state, peers).relations).map(({ peer }) => peer?.sent)
  expect(delivered(stateOf([entryOf(), entryOf({ id: 2, status: 'ended' })]))).toEqual([null, undefined])
  expect(delivered(stateOf([entryOf({ peer: { sent: 'before' } })]))).toEqual([null])
  expect(delivered(stateOf([entryOf()]), peersOf({ beacon: stateOf([]) }))).toEqual([undefined])
  expect(delivered(stateOf([entryOf()]), unreadable)).toEqual([null])
  const marked = stateOf([entryOf({ peer: { sent: null } })])
  expect(withSending(SUBJECT, marked, peersOf({}))).toBe(marked)
})
