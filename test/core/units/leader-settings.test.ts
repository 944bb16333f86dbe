import { expect, test } from 'vitest'
import { LeaderSettings } from '../../../src/core/units/leader-settings.ts'

test.each([
  ['a number', { port: 80 }],
  ['a space in a key', { 'a b': 'x' }],
  ['an empty key', { '': 'x' }],
  ['a path', { '..': 'x' }],
  ['another path', { '..a': 'x' }],
  ['the folder itself', { '.': 'x' }],
  ['a long key', { ['k'.repeat(254)]: 'x' }],
])('leader settings are refused, as no ConfigMap could hold them: %s', (_, settings) => {
  expect(LeaderSettings.safeParse(settings).success).toBe(false)
})

test.each([
  ['nothing', {}],
  ['dots, dashes and capitals', { 'a.b_c-D': '' }],
  ['dots elsewhere', { '.hidden': 'x', 'a..b': 'y' }],
  ['the name of something that every object has', { constructor: 'x' }],
])('leader settings are accepted: %s', (_, settings) => {
  expect(LeaderSettings.parse(settings)).toEqual(settings)
})
