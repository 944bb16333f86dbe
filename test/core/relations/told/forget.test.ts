import { expect, test } from 'vitest'
import { versionOf } from '../../../../src/core/relations/offers/published-version.ts'
import { withoutForgotten } from '../../../../src/core/relations/told/forget.ts'
import type { State } from '../../../../src/core/state/state.ts'
import { entryOf, peersOf, stateOf } from '../../../helpers/states.ts'
import { SUBJECT } from '../../../helpers/world.ts'

const NOW = new Date('2026-01-03T00:00:00Z')
const DAY_AGO = '2026-01-02T00:00:00.000Z'
const LONGER_AGO = '2026-01-01T23:59:59.999Z'

const forgotten = (state: State, left: readonly string[] = [], peers = peersOf({})): State =>
  withoutForgotten(SUBJECT, state, peers, NOW, left)

const kept = (...args: Parameters<typeof forgotten>): number => Object.keys(forgotten(...args).relations).length

const OVER = entryOf({ status: 'ended', endedAt: LONGER_AGO })

test.each([
  ['that ended more than a day ago is forgotten', OVER, 0],
  ['that ended a day ago is kept', entryOf({ status: 'ended', endedAt: DAY_AGO }), 1],
  ['that ended once, and is established again, is kept', entryOf({ endedAt: LONGER_AGO }), 1],
  ['whose labels may be there is kept', { ...OVER, claim: { version: 'v1', phase: 'applied' as const } } as const, 1],
  ['that waits for its id, without an end, is kept', entryOf({ waitsForId: true }), 1],
])('a relation %s', (_, entry, count) => {
  expect(kept(stateOf([entry]))).toBe(count)
})

test('nothing is forgotten while the application awaits others, or unwanted objects exist', () => {
  expect(kept(stateOf([OVER], { awaiting: 'labels-removed' }))).toBe(1)
  expect(kept(stateOf([OVER]), ['Gateway'])).toBe(1)
})

test('a relation is forgotten once its peer has observed the end', () => {
  const own = stateOf([OVER])
  const theirs = (observed: string) =>
    peersOf({
      beacon: stateOf([entryOf({ role: 'provides', remote: { application: 'web' }, peer: { seen: observed } })]),
    })
  expect(kept(own, [], theirs('earlier'))).toBe(1)
  expect(kept(own, [], theirs(versionOf(own, OVER)))).toBe(0)
})

const MARKS = { application: { at: 2 } }

test('the marks of an application that was removed go with its last relation', () => {
  const removed = stateOf([OVER], { removed: LONGER_AGO, marks: MARKS })
  expect(forgotten(removed)).toMatchObject({ relations: {} })
  expect(forgotten(removed)).not.toHaveProperty('marks')
  expect(forgotten(removed)).not.toHaveProperty('removed')
  const related = {
    ...removed,
    relations: stateOf([OVER, entryOf({ id: 2, claim: { version: 'v1', phase: 'applied' as const } })]).relations,
  }
  expect(forgotten(related)).toMatchObject({ removed: LONGER_AGO, marks: MARKS })
  expect(forgotten({ ...removed, removed: DAY_AGO })).toMatchObject({ removed: DAY_AGO, marks: MARKS, relations: {} })
  expect(forgotten(stateOf([OVER], { marks: MARKS }))).toMatchObject({ marks: MARKS })
})

test('a relation of a removed application, which never ended itself, is forgotten a day after the removal', () => {
  expect(kept(stateOf([entryOf()], { removed: LONGER_AGO, marks: MARKS }))).toBe(0)
  expect(kept(stateOf([entryOf()], { removed: DAY_AGO, marks: MARKS }))).toBe(1)
})

test('a kind that was owned under an earlier config is forgotten after a day, and others stay', () => {
  const left = { 'Gateway.gateway.networking.k8s.io': DAY_AGO, Service: null }
  const { owned } = forgotten(stateOf([], { owned: { 'Deployment.apps': LONGER_AGO, ...left } }))
  expect(owned).toEqual(left)
  expect(forgotten(stateOf([], { owned: { 'Deployment.apps': LONGER_AGO } }))).not.toHaveProperty('owned')
})
