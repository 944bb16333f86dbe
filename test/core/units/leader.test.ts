import { describe, expect, test } from 'vitest'
import {
  checkAuthority,
  currentLeader,
  isLaterElection,
  type Leader,
  type Leadership,
  laterPending,
  resolvePending,
} from '../../../src/core/units/leader.ts'
import { type Deployed, noUnits, observePods, type PodObservation, type Units } from '../../../src/core/units/units.ts'

const STATELESS: Deployed = { workload: 'web', type: 'stateless' }

const unitsOf = (observations: readonly PodObservation[], deployed = STATELESS): Units =>
  observations.reduce((units, observation) => observePods(units, observation, deployed), noUnits())

/** Pods `a` to `c` are the units 0 to 2. */
const POD_EVENTS = ['a', 'b', 'c'].map((uid) => ({ added: { name: `web-${uid}`, uid } }))
const ALL = unitsOf(POD_EVENTS)
const without = (...uids: string[]) => unitsOf([...POD_EVENTS, ...uids.map((gone) => ({ gone }))])

const led = (leader: Leader | undefined, units = ALL): Leadership => ({ application: 'web', leader, units })

describe('refused, naming the unit and the leader', () => {
  test.each([
    ['another unit', led({ unit: 'web/1' }), { unit: 'web/0' }, 'web/0 does not lead: the leader of web is web/1'],
    [
      'another unit, in the same epoch',
      led({ unit: 'web/1', epoch: 4 }),
      { unit: 'web/0', epoch: 4 },
      'web/0 does not lead: the leader of web is web/1',
    ],
    [
      'another unit, in an epoch where the leader has none',
      led({ unit: 'web/1' }),
      { unit: 'web/0', epoch: 4 },
      'web/0 does not lead: the leader of web is web/1',
    ],
    [
      'a deposed leader',
      led({ unit: 'web/1', epoch: 5 }),
      { unit: 'web/0', epoch: 4 },
      'web/0 led in epoch 4, it is epoch 5 now: the leader of web is web/1',
    ],
    [
      'the leader, of an epoch before',
      led({ unit: 'web/1', epoch: 5 }),
      { unit: 'web/1', epoch: 3 },
      'web/1 led in epoch 3, it is epoch 5 now: the leader of web is web/1',
    ],
    [
      'a deposed leader, while there is none',
      led({ unit: 'web/1', epoch: 5 }, without('b')),
      { unit: 'web/0', epoch: 4 },
      'web/0 led in epoch 4, it is epoch 5 now: web has no leader',
    ],
    [
      'the leader that is gone',
      led({ unit: 'web/1', epoch: 5 }, without('b')),
      { unit: 'web/1', epoch: 5 },
      'web/1 is gone: web has no leader',
    ],
    [
      'a unit that is gone, whatever epoch it tells',
      led({ unit: 'web/1', epoch: 5 }, without('a')),
      { unit: 'web/0', epoch: 6 },
      'web/0 is gone: the leader of web is web/1',
    ],
    [
      'a unit that never was',
      led({ unit: 'web/1' }),
      { unit: 'web/9' },
      'web/9 does not lead: the leader of web is web/1',
    ],
    [
      'the pod that was unit 0 before',
      led(
        { unit: 'web/0' },
        unitsOf([{ added: { name: 'web-0', uid: 'a' } }, { added: { name: 'web-0', uid: 'b' } }], { workload: 'web' }),
      ),
      { unit: 'web/0', uid: 'a' },
      'web/0 is gone: the leader of web is web/0',
    ],
  ])('%s', (_, leadership, claim, reason) => {
    expect(checkAuthority(leadership, claim)).toEqual({ refused: reason })
    expect(checkAuthority(leadership, claim)).toEqual({ refused: reason })
  })
})

describe('counts', () => {
  test.each([
    ['the leader', led({ unit: 'web/1', epoch: 5 }), { unit: 'web/1', epoch: 5 }, 'now'],
    ['the leader, without an epoch', led({ unit: 'web/1', epoch: 5 }), { unit: 'web/1' }, 'now'],
    [
      'the leader, of an epoch whose election is late',
      led({ unit: 'web/1', epoch: 5 }),
      { unit: 'web/1', epoch: 6 },
      'now',
    ],
    ['a leader, where nothing is known of the pods', led({ unit: 'web/7' }, noUnits()), { unit: 'web/7' }, 'now'],
    [
      'a unit that is alone, where nobody was ever elected',
      led(undefined, without('a', 'c')),
      { unit: 'web/1' },
      'now',
    ],
    [
      'a leader whose pod was not seen yet, once it is',
      led({ unit: 'web/7' }),
      { unit: 'web/7' },
      { pending: { unit: 'web/7' } },
    ],
    ['a leader that is named after its pod', led({ unit: 'web-b' }), { unit: 'web/1' }, 'now'],
    ['the successor of the pod that led', led({ unit: 'web/0' }), { unit: 'web/0', uid: 'new' }, 'now'],
    ['anybody, before there is a leader', led(undefined), { unit: 'web/1' }, { pending: { unit: 'web/1' } }],
    ['anybody, with an epoch', led(undefined), { unit: 'web/1', epoch: 1 }, { pending: { unit: 'web/1' } }],
    [
      'anybody, while the leader is gone',
      led({ unit: 'web/1', epoch: 5 }, without('b')),
      { unit: 'web/2', epoch: 5 },
      { pending: { unit: 'web/2' } },
    ],
    [
      'one whose election may only be late',
      led({ unit: 'web/1', epoch: 5 }),
      { unit: 'web/2', epoch: 6 },
      { pending: { unit: 'web/2', epoch: 6 } },
    ],
  ])('%s', (_, leadership, claim, authority) => {
    expect(checkAuthority(leadership, claim)).toEqual(authority)
    expect(checkAuthority(leadership, claim)).not.toHaveProperty('refused')
  })
})

test('a leader whose pod is gone leads no more, until a pod is that unit again', () => {
  expect(currentLeader(led({ unit: 'web/1' }))).toEqual({ unit: 'web/1' })
  expect(currentLeader(led({ unit: 'web/1' }, without('b')))).toBeUndefined()
  expect(currentLeader(led({ unit: 'web-b' }, without('b')))).toBeUndefined()
  const stateful: Deployed = { workload: 'web', type: 'stateful' }
  const replaced = [{ added: { name: 'web-0', uid: 'a' } }, { gone: 'a' }, { added: { name: 'web-0', uid: 'b' } }]
  expect(currentLeader(led({ unit: 'web/0' }, unitsOf(replaced.slice(0, 2), stateful)))).toBeUndefined()
  expect(currentLeader(led({ unit: 'web/0' }, unitsOf(replaced, stateful)))).toEqual({ unit: 'web/0' })
})

test('a unit that is elected before its pod is seen is waited for', () => {
  const pod = { added: { name: 'web-d', uid: 'd' } }
  expect(currentLeader(led({ unit: 'web/3' }))).toBeUndefined()
  expect(currentLeader(led({ unit: 'web/3' }, unitsOf([...POD_EVENTS, pod])))).toEqual({ unit: 'web/3' })
})

test('a unit that is alone leads where nobody was ever elected, and no other', () => {
  expect(currentLeader(led(undefined, without('a', 'b')))).toEqual({ unit: 'web/2' })
  expect(currentLeader(led(undefined, without('a')))).toBeUndefined()
  expect(currentLeader(led(undefined, without('a', 'b', 'c')))).toBeUndefined()
  expect(currentLeader(led({ unit: 'web/0' }, without('a', 'b')))).toBeUndefined()
})

describe('of two elections the later', () => {
  const lease = (uid: string, created?: string) => ({ lease: { uid, ...(created && { created }) } })
  const [OLD, NEW] = ['2026-01-01T00:00:00Z', '2026-01-01T00:01:00Z']

  test.each<[string, Leader | undefined, Leader, boolean | undefined]>([
    ['the first', undefined, { unit: 'web/0', epoch: 7 }, undefined],
    ['a higher epoch', { unit: 'web/1', epoch: 5 }, { unit: 'web/0', epoch: 6 }, true],
    ['a lower epoch', { unit: 'web/1', epoch: 5 }, { unit: 'web/0', epoch: 4 }, false],
    ['the same epoch', { unit: 'web/1', epoch: 5 }, { unit: 'web/0', epoch: 5 }, undefined],
    ['no epoch', { unit: 'web/1', epoch: 5 }, { unit: 'web/0' }, undefined],
    ['a lower epoch after a unit that is gone', { unit: 'web/9', epoch: 5 }, { unit: 'web/0', epoch: 4 }, undefined],
    ['a huge epoch', { unit: 'web/1', epoch: 5 }, { unit: 'web/0', epoch: 2 ** 53 - 1 }, undefined],
    ['an epoch after a huge one', { unit: 'web/1', epoch: 2 ** 53 - 1 }, { unit: 'web/0', epoch: 6 }, undefined],
    [
      'a lower epoch of one Lease',
      { unit: 'web/9', epoch: 5, ...lease('a') },
      { unit: 'web/0', epoch: 4, ...lease('a') },
      false,
    ],
    [
      'a Lease that was made anew, which counts from 0',
      { unit: 'web/1', epoch: 5, ...lease('a', OLD) },
      { unit: 'web/0', epoch: 0, ...lease('b', NEW) },
      true,
    ],
    [
      'the last word of the Lease before',
      { unit: 'web/0', epoch: 0, ...lease('b', NEW) },
      { unit: 'web/1', epoch: 6, ...lease('a', OLD) },
      false,
    ],
    [
      'another Lease of the same second',
      { unit: 'web/0', ...lease('a', OLD) },
      { unit: 'web/1', ...lease('b', OLD) },
      undefined,
    ],
    [
      'another Lease of an unknown age',
      { unit: 'web/0', epoch: 6, ...lease('a') },
      { unit: 'web/1', epoch: 0, ...lease('b') },
      undefined,
    ],
    [
      'a Lease after a platform that had a count of its own',
      { unit: 'web/0', epoch: 6 },
      { unit: 'web/1', epoch: 0, ...lease('b', NEW) },
      undefined,
    ],
  ])('%s', (_, leader, elected, isLater) => {
    expect(isLaterElection(led(leader), elected)).toBe(isLater)
  })
})

describe('what waits', () => {
  const asked = (unit: string, epoch?: number) => ({ unit, ...(epoch !== undefined && { epoch }), data: `${unit}'s` })

  test.each([
    [
      'in a gap is refused when another unit is elected',
      led({ unit: 'web/2', epoch: 6 }),
      asked('web/1'),
      { refused: 'web/1 does not lead: the leader of web is web/2' },
    ],
    [
      'also where its unit has gone since',
      led({ unit: 'web/2' }, without('b')),
      asked('web/1'),
      { refused: 'web/1 does not lead: the leader of web is web/2' },
    ],
    ['in a gap is done once its unit is elected', led({ unit: 'web/1', epoch: 6 }), asked('web/1'), { due: "web/1's" }],
    ['in a gap is done for the unit of a pod', led({ unit: 'web-b', epoch: 6 }), asked('web/1'), { due: "web/1's" }],
    ['waits while there is none', led(undefined), asked('web/1'), { pending: asked('web/1') }],
    [
      'waits while the leader is gone',
      led({ unit: 'web/1' }, without('b')),
      asked('web/2'),
      { pending: asked('web/2') },
    ],
    ['is done once its unit is elected', led({ unit: 'web/2', epoch: 6 }), asked('web/2', 6), { due: "web/2's" }],
    ['or elected once more', led({ unit: 'web/2', epoch: 8 }), asked('web/2', 6), { due: "web/2's" }],
    ['waits for its epoch', led({ unit: 'web/1', epoch: 5 }), asked('web/2', 6), { pending: asked('web/2', 6) }],
    [
      'is refused when another is elected',
      led({ unit: 'web/1', epoch: 6 }),
      asked('web/2', 6),
      { refused: 'web/2 does not lead: the leader of web is web/1' },
    ],
    [
      'is refused when its unit goes before it is elected',
      led({ unit: 'web/1', epoch: 5 }, without('c')),
      asked('web/2', 6),
      { refused: 'web/2 is gone' },
    ],
    [
      'is refused when its epoch was skipped',
      led({ unit: 'web/1', epoch: 7 }),
      asked('web/2', 6),
      { refused: 'web/2 does not lead: the leader of web is web/1' },
    ],
  ])('%s', (_, leadership, pending, wanted) => {
    expect(resolvePending(leadership, pending)).toEqual(wanted)
  })

  test.each([
    ['the last of a gap', asked('web/1'), asked('web/2'), 'web/2'],
    ['the one of the later epoch', asked('web/1', 7), asked('web/2', 6), 'web/1'],
    ['the last of an epoch', asked('web/1', 7), asked('web/2', 7), 'web/2'],
    ['the first there is', undefined, asked('web/2', 7), 'web/2'],
  ])('of two it is %s', (_, before, next, unit) => {
    expect(laterPending(before, next).unit).toBe(unit)
  })
})
