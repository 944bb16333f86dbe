import { expect, test } from 'vitest'
import { createRecalls, type Recall } from '../../../src/platform/base/recall.ts'

type Input = { readonly a: number; readonly b?: readonly number[] }

/** A function that counts how often it is asked. */
const createCounting = () => {
  const counts = { made: 0 }
  const sum = ({ a, b = [] }: Input): { readonly sum: number } => {
    counts.made += 1
    return { sum: b.reduce((one, other) => one + other, a) }
  }
  return { counts, sum }
}

const ask = (recall: Recall, sum: (input: Input) => object, name = 'sum') => recall(name, sum, { a: 1, b: [2] })

test('what was made of an equal input is recalled, and is the same value', () => {
  const recalls = createRecalls()
  const { counts, sum } = createCounting()
  expect(
    ask(
      recalls('web', () => 10),
      sum,
    ),
  ).toBe(
    ask(
      recalls('web', () => 10),
      sum,
    ),
  )
  expect(counts.made).toBe(1)
})

test('another input is made anew, under another name and for another key as well', () => {
  const recalls = createRecalls()
  const { counts, sum } = createCounting()
  for (const input of [{ a: 1 }, { a: 2 }, { a: 2, b: [] }, { a: 2 }]) recalls('web', () => 10)('sum', sum, input)
  expect(counts.made).toBe(4)
  ask(
    recalls('web', () => 10),
    sum,
    'other',
  )
  ask(
    recalls('db', () => 10),
    sum,
    'other',
  )
  expect(counts.made).toBe(6)
})

test('of more than it may take the keys are forgotten that were asked for first', () => {
  const recalls = createRecalls(100)
  const { counts, sum } = createCounting()
  for (const key of ['often', 'once', 'often', 'other', 'often'])
    ask(
      recalls(key, () => 40),
      sum,
    )
  expect(counts.made).toBe(3)
  ask(
    recalls('once', () => 40),
    sum,
  )
  expect(counts.made).toBe(4)
})

test('a key that takes more than all is not kept, and costs no other its place', () => {
  const recalls = createRecalls(100)
  const { counts, sum } = createCounting()
  for (const [key, size] of [
    ['small', 40],
    ['large', 101],
    ['small', 40],
    ['large', 101],
  ] as const)
    ask(
      recalls(key, () => size),
      sum,
    )
  expect(counts.made).toBe(3)
})

test('what a key keeps counts as long as it is kept, also where the steps after it read less', () => {
  const recalls = createRecalls(100)
  const { counts, sum } = createCounting()
  for (const [key, name, size] of [
    ['large', 'all', 80],
    ['large', 'first', 10],
    ['small', 'all', 40],
    ['large', 'all', 80],
  ] as const)
    ask(
      recalls(key, () => size),
      sum,
      name,
    )
  expect(counts.made).toBe(4)
})
