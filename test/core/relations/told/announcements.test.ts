import { expect, test } from 'vitest'
import { announceRelation, endRelation } from '../../../../src/core/relations/told/announcements.ts'
import { mergePeer } from '../../../../src/core/relations/told/merge-peer.ts'
import { type RelationEntry, relationKey } from '../../../../src/core/state/relation.ts'
import { emptyState, type State } from '../../../../src/core/state/state.ts'

const NOW = new Date('2026-01-02T03:04:05Z')
const DETAILS = { namespace: 'shop', application: 'details' }
const BEACON = { namespace: 'shop', application: 'beacon' }

const shared = { id: 1, interface: 'service_mesh', status: 'established' } as const

/** The entry of `details`, told at a moment. */
const ours = (at: number, others: Partial<RelationEntry> = {}): RelationEntry => ({
  ...{ ...shared, endpoint: 'service-mesh', role: 'requires', remote: { application: 'beacon' } },
  ...{ position: { at }, told: { at } },
  ...others,
})

/** The entry of `beacon` of the same relation. */
const theirs = (at: number, others: Partial<RelationEntry> = {}): RelationEntry => ({
  ...{ ...shared, endpoint: 'service-mesh', role: 'provides', remote: { application: 'details' } },
  ...{ position: { at }, told: { at } },
  ...others,
})

const stateOf = (entries: readonly RelationEntry[], marks?: State['marks']): State => ({
  ...emptyState(),
  ...(marks && { marks }),
  relations: Object.fromEntries(entries.map((entry) => [relationKey(entry), entry])),
})

const merged = (own: State, other: RelationEntry): RelationEntry | undefined =>
  Object.values(mergePeer(own, DETAILS, BEACON, stateOf([other]), NOW).relations)[0]

test.each([
  ['established', 5, 'ended', 6, 'ended'],
  ['established', 5, 'ended', 5, 'ended'],
  ['established', 5, 'ended', 4, 'established'],
  ['ended', 5, 'established', 6, 'established'],
  ['ended', 5, 'established', 5, 'ended'],
  ['ended', 5, 'established', 4, 'ended'],
] as const)('a relation told as %s at %i here and as %s at %i to the peer is %s', (own, at, other, otherAt, status) => {
  expect(merged(stateOf([ours(at, { status: own })]), theirs(otherAt, { status: other }))?.status).toBe(status)
})

const REMOVED = stateOf([], { application: { at: 5 } })

test.each([
  [4, 'ended'],
  [5, 'ended'],
  [6, 'established'],
])(
  'a relation told here at %i, which only the peer remembers, is %s if the application was removed at 5',
  (at, status) => {
    expect(merged(REMOVED, theirs(at, { told: undefined }))?.status).toBe(status)
  },
)

test('a relation of a document, which only the peer remembers, stands after the removal of the application', () => {
  expect(merged(REMOVED, theirs(4, { told: undefined, document: 'relation' }))?.status).toBe('established')
})

test('the end of a relation announces it to nobody', () => {
  const position = { source: 'juju', id: 'end', arrived: 9 }
  const told = { relation: { id: 1 }, remote: { application: 'beacon' } }
  const { state } = endRelation(stateOf([ours(5, { told: undefined })]), told, position, NOW, () => [])
  expect(Object.values(state.relations)).toMatchObject([{ status: 'ended', position: { at: 6 } }])
  expect(Object.values(state.relations)[0]?.told).toBeUndefined()
})

test.each([
  [4, 'established'],
  [5, 'ended'],
  [6, 'ended'],
])('an end of an unknown relation that was told here at %i leaves that of the peer at 5 %s', (at, status) => {
  const told = { ...stateOf([]), tombstones: { 1: { endedAt: NOW.toISOString(), position: { at } } } }
  const { relations, tombstones } = mergePeer(told, DETAILS, BEACON, stateOf([theirs(5)]), NOW)
  expect(Object.values(relations)).toMatchObject([{ status, position: { at: Math.max(at, 5) } }])
  expect(tombstones).toBeUndefined()
})

test('a relation of which nothing but a late word tells is remembered as ended', () => {
  const position = { source: 'juju', id: 'late', time: 5, arrived: 9 }
  const { status: _, told: __, position: ___, ...announced } = ours(5)
  const { state, late } = announceRelation(stateOf([]), announced, position, NOW, () => [{ at: 9 }])
  expect([late, Object.values(state.relations)]).toMatchObject([
    'stale',
    [{ id: 1, status: 'ended', position: { at: 5 } }],
  ])
})
