import { describe, expect, test } from 'vitest'
import { claimAfter, claimBefore } from '../../../../src/core/relations/offers/offer-and-claim.ts'
import * as cluster from './cluster-model.ts'
import type { Spent } from './interleavings.ts'
import { type Bounds, explore, type Rule, SMALL } from './offer-and-claim-model.ts'
import * as beacons from './two-beacons-model.ts'

describe('an offer and a claim', () => {
  test.each<[string, Partial<Bounds>, number]>([
    ['and a process that dies', {}, 25_629],
    ['and a mesh that denies all others', { modes: ['none', 'pods', 'hardened'], words: 1 }, 7_035],
    ['and a requirer that asks for other policies', { requests: 1, wishes: 0 }, 2_316],
    ['and a memory that is deleted', { losses: 1, wishes: 0 }, 2_372],
    ['and a memory that cannot be read for a while', { outages: 1, words: 1 }, 23_033],
    ['and two processes of the requirer', { requirers: 2, words: 1, wishes: 0 }, 9_840],
  ])('an offer and a claim hold in every order of calls, with a late write %s', (_, more, states) => {
    expect(explore({ ...SMALL, ...more })).toEqual({ states })
  })

  test.each<[Rule, string, Partial<Bounds>]>([
    ['compare', 'whoever saves does not compare its memory', { words: 3 }],
    ['reread', 'nobody reads the offer and the claims again', {}],
    ['touch', 'late writes are not fenced', {}],
    ['taken', 'labels whose memory is lost count as not taken', { losses: 1, wishes: 0 }],
    ['unknown', 'what cannot be read counts as withdrawn', { outages: 1, wishes: 0 }],
    ['phases', 'a claim that is not applied counts as applied', {}],
    ['leaving', 'it is not saved that the labels are to go', { words: 3 }],
    ['awaited', 'all others are denied before every claim is applied', { modes: ['pods', 'hardened'] }],
    ['undone', 'all others are still denied when the offer changes', { modes: ['pods', 'hardened'], wishes: 2 }],
    ['widened', 'stale policies go before new ones are written', { requests: 1, wishes: 0 }],
  ])('an offer and a claim have a history that goes wrong without "%s": where %s', (rule, _, more) => {
    expect(explore({ ...SMALL, ...more }, rule).history).toBeDefined()
  })

  test('an offer and a claim wait where the offer is not known', () => {
    const claim = { version: 'a', phase: 'applied' } as const
    expect(claimBefore(claim, 'unknown')).toEqual(claim)
    expect(claimAfter(claim, 'unknown', { isDone: true, mayRemain: false })).toEqual(claim)
    expect(claimBefore(undefined, 'unknown')).toBeUndefined()
  })

  test('an offer and a claim that cannot be carried out: it stays a claim, and one that leaves lasts as long as labels may remain', () => {
    const claim = { version: 'a', phase: 'claiming' } as const
    expect(claimAfter(claim, { offer: 'a' }, { isDone: false, mayRemain: false })).toEqual(claim)
    const leaving = { version: 'a', phase: 'leaving' } as const
    expect(claimAfter(leaving, 'nothing', { isDone: true, mayRemain: true })).toEqual(leaving)
  })
})

describe('a worker behind a coordinator behind a beacon', () => {
  test.each<[string, Spent, number]>([
    ['the platform ends and begins a relation', { words: 1 }, 1_218],
    ['the beacon changes its mind', { wishes: 1 }, 4_590],
  ])(
    'a worker is on the mesh with its policies and its waypoint in every order of calls where %s',
    (_, bounds, states) => {
      expect(cluster.explore(bounds)).toEqual({ states })
    },
  )

  test.each<[cluster.Rule, string, Spent]>([
    ['reread', 'nobody reads offers, and claims, again', { wishes: 1 }],
    ['touch', 'late writes are not fenced', { words: 1, deaths: 1 }],
    ['awaited', 'the waypoint goes before it is let go of', { wishes: 1 }],
    ['handed on', 'the coordinator lets go before its worker does', { wishes: 1 }],
    ['kept', 'the policies of the cluster go before the labels of the worker', { wishes: 1 }],
    ['held', 'labels are offered before what they rest on stands', { wishes: 2 }],
    ['guarded', 'labels come before policies', { wishes: 1 }],
    ['carried', 'a worker does not save what it is about to carry', { wishes: 1 }],
  ])('a worker has a history that goes wrong without "%s": where %s', (rule, _, bounds) => {
    expect(cluster.explore(bounds, rule).history).toBeDefined()
  })
})

describe('two beacons of one application', () => {
  test.each<[string, Spent, number]>([
    ['and a process that dies', { words: 1, deaths: 1 }, 3_140],
    ['and a beacon that changes its mind', { wishes: 1 }, 1_208],
    ['and a beacon whose memory cannot be read', { wishes: 1, outages: 1 }, 3_926],
  ])('two beacons lead pods to one waypoint with its policies in every order of calls %s', (_, bounds, states) => {
    expect(beacons.explore(bounds)).toEqual({ states })
  })

  test.each<[beacons.Rule, string, Spent]>([
    ['reread', 'nobody reads offers, and claims, again', { wishes: 1 }],
    ['touch', 'late writes are not fenced', { words: 2, deaths: 1 }],
    ['awaited', 'a waypoint goes before it is let go of', { wishes: 1 }],
    ['guarded', 'labels lead to a waypoint before its policies stand', { wishes: 1 }],
    ['replaced', 'policies go before labels lead to the other waypoint', { wishes: 1 }],
    ['released', 'a claim is dropped before labels lead to the other waypoint', { wishes: 1 }],
    ['unknown', 'what cannot be read counts as withdrawn', { wishes: 1, outages: 1 }],
  ])('two beacons have a history that goes wrong without "%s": where %s', (rule, _, bounds) => {
    expect(beacons.explore(bounds, rule).history).toBeDefined()
  })
})
