import { expect, test } from 'vitest'
import { type Bounds, explore, SMALL } from './offer-and-claim-model.ts'

test.each<[string, Partial<Bounds>, number]>([
  ['all ways to offer', { modes: ['none', 'pods', 'namespace', 'hardened'] }, 42_968],
  ['a mesh that denies all others, told twice', { modes: ['none', 'pods', 'hardened'], wishes: 2 }, 173_358],
  ['a requirer that asks for other policies', { requests: 1 }, 102_806],
  ['a memory that is deleted', { losses: 1 }, 121_624],
  ['a memory that cannot be read for a while', { outages: 1 }, 89_065],
  ['a memory that is deleted twice, and two deaths', { losses: 2, deaths: 2, wishes: 0 }, 32_680],
  ['two processes of the requirer', { requirers: 2, words: 1 }, 416_005],
  ['two processes of the provider', { providers: 2, words: 1 }, 762_116],
])('an offer and a claim hold in every order of calls with %s', (_, more, states) => {
  expect(explore({ ...SMALL, ...more })).toEqual({ states })
})
