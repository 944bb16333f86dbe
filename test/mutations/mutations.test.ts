import { expect, test } from 'vitest'
import { mutantsOf, withMutants } from './mutants.ts'
import { nearestTests, sampleOf } from './sample.ts'

const changes = (source: string): readonly string[] => mutantsOf(source).map(({ change }) => change)

/** The value of `result` in a source, with one of its mutants in force. */
const evaluated = (source: string, active: number): unknown => {
  const mutants = mutantsOf(source).map((mutant, id) => ({ ...mutant, id }))
  const evaluate = new Function('globalThis', `${withMutants(source, mutants)}; return result`)
  return evaluate({ mutation: (id: number) => id === active })
}

test.each([
  ['const f = (a) => a.b < c', ['a.b < c  →  a.b <= c', 'a.b < c  →  a.b >= c']],
  ['const f = (a) => a && b', ['a && b  →  a || b']],
  ['const f = a ?? b ?? c', ['a ?? b ?? c  →  (a ?? b ) && ( c)', 'a ?? b  →  (a ) && ( b)']],
  ['const f = a ? b : c', ['a ? b : c  →  b', 'a ? b : c  →  c']],
  ['if (a) b()', ['a  →  true', 'a  →  false']],
  ['const f = !a', ['!a  →  a']],
  ['const f = [a]', ['[a]  →  []']],
  ['const f = [] as string[]', []],
  ['const f: true = a as false', []],
  ['const f = a.filter(b).some(c)', ['a.filter(b).some(c)  →  a.filter(b).every(c)', 'a.filter(b)  →  a']],
  ['const f = a?.filter(b)', []],
  ['const f = a.toString()', []],
  ['a.filter(b).forEach(c)', []],
])('the mutants of %s are those of its conditions, lists and calls', (source, expected) => {
  expect(changes(source)).toEqual(expected)
})

test('a mutant has the line of its code', () => {
  expect(mutantsOf('const a = 1\nconst b =\n  !a').map(({ line }) => line)).toEqual([3])
})

test('all mutants stand in one text, and one at a time counts', () => {
  const source = 'const result = [1, 2, 3].filter((one) => one > 1 && !(one === 3))'
  expect(evaluated(source, -1)).toEqual([2])
  expect(changes(source).map((change, id) => [change.split('  →  ')[1], evaluated(source, id)])).toEqual([
    ['[1, 2, 3]', [1, 2, 3]],
    ['[]', []],
    ['one > 1 || !(one === 3)', [1, 2, 3]],
    ['one >= 1', [1, 2]],
    ['one <= 1', [1]],
    ['one === 3', [3]],
    ['one !== 3', [3]],
  ])
})

test('a sample is the same for a seed, and another for another seed', () => {
  const numbers = Array.from({ length: 100 }, (_, index) => index)
  const sample = (seed: number) => sampleOf(numbers, 10, seed, String)
  expect(sample(1)).toEqual(sample(1))
  expect(sample(1)).not.toEqual(sample(2))
  expect(sample(1)).toEqual(sample(1).toSorted((a, b) => a - b))
  expect(sample(1)).toHaveLength(10)
})

test('the tests of the folder come first, then those that reach the fewest mutants', () => {
  const tests = [
    { file: 'test/core/units/one.test.ts', reached: 5 },
    { file: 'test/core/state/wide.test.ts', reached: 60 },
    { file: 'test/core/state/narrow.test.ts', reached: 3 },
    { file: 'test/cli/one.test.ts', reached: 1 },
  ]
  const files = (most: number) => nearestTests('src/core/state/memory.ts', tests, most)
  expect(files(2)).toEqual(['test/core/state/narrow.test.ts', 'test/core/state/wide.test.ts'])
  expect(files(9).at(-1)).toBe('test/cli/one.test.ts')
})
