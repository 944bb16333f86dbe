import { expect, test } from 'vitest'
import * as cluster from './cluster-model.ts'
import type { Spent } from './interleavings.ts'
import { type Bounds, explore, SMALL } from './offer-and-claim-model.ts'
import * as beacons from './two-beacons-model.ts'

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

test.each<[string, Spent, number]>([
  ['relations that end and begin, and a death', { words: 2, deaths: 1 }, 54_304],
  ['a beacon that changes its mind twice, and a death', { wishes: 2, deaths: 1 }, 142_003],
  ['both', { words: 1, wishes: 1 }, 21_254],
])(
  'a worker behind a coordinator is on the mesh with policies and waypoint in every order of calls with %s',
  (_, bounds, states) => {
    expect(cluster.explore(bounds)).toEqual({ states })
  },
)

test.each<[cluster.Rule, string, Spent]>([
  ['fenced', 'labels are handed on while a late write may remove policies', { words: 2, deaths: 1 }],
  ['fenced', 'labels are offered while a late write may remove the waypoint', { wishes: 2, deaths: 1 }],
  ['claimed', 'labels are handed on before the claim to them is saved', { wishes: 3, deaths: 1 }],
])('a worker has a history that goes wrong without "%s": where %s', (rule, _, bounds) => {
  expect(cluster.explore(bounds, rule).history).toBeDefined()
})

test.each<[string, Spent, number]>([
  [
    'relations that end and begin, a beacon that changes its mind, and a death',
    { words: 1, wishes: 1, deaths: 1 },
    98_280,
  ],
  ['relations that end and begin, and a death', { words: 2, deaths: 1 }, 12_168],
  ['a memory that cannot be read, and a death', { words: 1, outages: 1, deaths: 1 }, 10_080],
])('two beacons lead pods to one waypoint with its policies in every order of calls with %s', (_, bounds, states) => {
  expect(beacons.explore(bounds)).toEqual({ states })
})
