import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { differences } from '../../../../src/core/workload/churn/difference.ts'
import { canonicalHash } from '../../../../src/platform/base/canonical-hash.ts'
import { reordered } from '../samples.ts'

const paths = (before: unknown, after: unknown) => differences(before, after).map(({ path }) => path)

const web = (parts: Record<string, unknown>) => ({ containers: [{ name: 'web', ...parts }] })
const env = (...variables: [name: string, value: string][]) =>
  web({ env: variables.map(([name, value]) => ({ name, value })) })

describe('where two specs differ', () => {
  test.each([
    ['a value', web({ image: '1' }), web({ image: '2' }), ['containers[web].image']],
    ['a variable', env(['A', '1'], ['B', '1']), env(['A', '1'], ['B', '2']), ['containers[web].env[B].value']],
    ['an argument', web({ args: ['a', 'b'] }), web({ args: ['a', 'c'] }), ['containers[web].args[1]']],
    ['one argument more', web({ args: ['a'] }), web({ args: ['a', 'b'] }), ['containers[web].args[1]']],
    ['a variable that comes', env(['A', '1']), env(['A', '1'], ['B', '2']), ['containers[web].env[B]']],
    ['a variable that goes', env(['A', '1'], ['B', '2']), env(['A', '1']), ['containers[web].env[B]']],
    ['a variable in the place of another', env(['A', '1']), env(['B', '1']), ['containers[web].env']],
    ['a variable in another place', env(['A', '1'], ['B', '1']), env(['B', '1'], ['A', '1']), ['containers[web].env']],
    ['another key', { nodeSelector: { a: 'x' } }, { nodeSelector: { b: 'x' } }, ['nodeSelector']],
    ['another container', web({}), { containers: [{ name: 'db' }] }, ['containers']],
    ['everything', { a: 1 }, { b: 1 }, ['podSpec']],
    ['a list and a map', { a: [] }, { a: {} }, ['a']],
    ['nothing and null', {}, { a: null }, ['a']],
    [
      'names that are there twice',
      web({ env: [{ name: 'A', value: '1' }, { name: 'A' }] }),
      env(['A', '2']),
      ['containers[web].env[1]', 'containers[web].env[0].value'],
    ],
    ['items of which one has no name', { a: [{ name: 'x' }, { b: 1 }] }, { a: [{ name: 'x' }, { b: 2 }] }, ['a[1].b']],
    ['a strange key', { 'a/b c': 1 }, { 'a/b c': 2 }, ['["a/b c"]']],
  ])('%s', (_, before, after, wanted) => {
    expect(paths(before, after)).toEqual(wanted)
  })

  test('names that are long and begin alike are told apart', () => {
    const long = 'A'.repeat(100)
    expect(differences(env([`${long}1`, 'x'], [`${long}2`, 'x']), env([`${long}1`, 'x'], [`${long}2`, 'y']))).toEqual([
      { path: expect.stringMatching(/^containers\[web\]\.env\["A+…"\]\.value$/), before: 'x', after: 'y' },
    ])
  })

  test('a path is of a length for a message', () => {
    const deep = (value: unknown) =>
      ['x'.repeat(80), 'y'.repeat(80), 'z'.repeat(80)].reduce((inner, key) => ({ [key]: inner }), value as object)
    expect(paths(deep([1]), deep([2]))).toEqual([expect.stringMatching(/^.{200}…$/)])
  })
})

const json = fc.jsonValue({ maxDepth: 4 })

test('two specs differ nowhere, and have the same hash, just when they are equal but for the order of keys', () => {
  fc.assert(
    fc.property(json, json, (one, other) => {
      expect(paths(one, reordered(one))).toEqual([])
      expect(canonicalHash(reordered(one))).toBe(canonicalHash(one))
      const isSame = JSON.stringify(sorted(one)) === JSON.stringify(sorted(other))
      expect(paths(one, other).length === 0).toBe(isSame)
      expect(canonicalHash(one) === canonicalHash(other)).toBe(isSame)
    }),
  )
})

test('a map is no list of its entries', () => {
  expect(canonicalHash({ a: 1 })).not.toBe(canonicalHash([['a', 1]]))
  expect(canonicalHash({ a: 1 })).not.toBe(canonicalHash({ entries: [['a', 1]] }))
})

const sorted = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(sorted)
  if (typeof value !== 'object' || value === null) return value
  const entries = Object.entries(value).map(([key, member]): [string, unknown] => [key, sorted(member)])
  return [...entries.toSorted(([one], [other]) => (one < other ? -1 : 1)), 'a map']
}
