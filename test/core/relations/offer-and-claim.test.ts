import { describe, expect, test } from 'vitest'
import { claimAfter, claimBefore } from '../../../src/core/relations/offer-and-claim.ts'
import { type Bounds, explore, type Rule, SMALL } from './offer-and-claim-model.ts'

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
