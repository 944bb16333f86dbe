import { expect, test } from 'vitest'
import { createMemo } from '../../../src/platform/base/memo.ts'

/** A parser that counts how often it is asked. */
const createCounting = () => {
  const counts = { parsed: 0 }
  const parse = (text: string): unknown => {
    counts.parsed += 1
    return JSON.parse(text)
  }
  return { counts, parse }
}

test('a text that comes again is parsed once, by each function', () => {
  const memo = createMemo()
  const [one, other] = [createCounting(), createCounting()]
  expect([memo('{"a":1}', one.parse), memo('{"a":1}', one.parse)]).toEqual([{ a: 1 }, { a: 1 }])
  expect(memo('null', one.parse)).toBe(null)
  expect(memo('{"a":1}', other.parse)).toEqual({ a: 1 })
  expect([one.counts.parsed, other.counts.parsed]).toEqual([2, 1])
})

test('texts that do not come any more are forgotten, and those that do are kept', () => {
  const memo = createMemo(100)
  const { counts, parse } = createCounting()
  for (let count = 0; count < 50; count += 1) {
    memo('"often"', parse)
    memo(`"${'once'.repeat(5)} ${count}"`, parse)
  }
  expect(counts.parsed).toBe(51)
  memo(`"${'once'.repeat(5)} 0"`, parse)
  expect(counts.parsed).toBe(52)
})

test('a text that is longer than the memo is not kept, and costs no other its place', () => {
  const memo = createMemo(100)
  const { counts, parse } = createCounting()
  const long = JSON.stringify('x'.repeat(100))
  for (const text of ['"short"', long, '"short"', long]) memo(text, parse)
  expect(counts.parsed).toBe(3)
})

test('a text counts once, by however many functions it is read', () => {
  const memo = createMemo(100)
  const readers = Array.from({ length: 5 }, createCounting)
  const text = JSON.stringify('x'.repeat(60))
  for (const _ of ['first', 'second']) for (const { parse } of readers) memo(text, parse)
  expect(readers.map(({ counts }) => counts.parsed)).toEqual([1, 1, 1, 1, 1])
})

test('a text that cannot be read is an error each time', () => {
  const memo = createMemo()
  const { parse } = createCounting()
  for (const _ of ['once', 'again']) expect(() => memo('{', parse)).toThrow(SyntaxError)
})
