import fc from 'fast-check'
import { expect, test } from 'vitest'
import { jsonBytes } from '../../../src/platform/base/json-bytes.ts'

const bytesOf = (value: unknown): number => Buffer.byteLength(JSON.stringify(value))

test('the measure of a value is what JSON.stringify writes, whatever is measured apart', () => {
  fc.assert(
    fc.property(fc.jsonValue({ stringUnit: 'binary' }), fc.nat(3), (value, depth) => {
      expect(jsonBytes(value, depth)).toBe(bytesOf(value))
    }),
  )
})

test.each([{}, { a: undefined }, { a: undefined, b: 1 }, { a: { b: undefined }, c: 'ü' }, [], { a: [undefined] }])(
  'the measure of a value counts what is written of %j',
  (value) => {
    expect([0, 1, 2].map((depth) => jsonBytes(structuredClone(value), depth))).toEqual(Array(3).fill(bytesOf(value)))
  },
)

test('the measure of a value serialises a member once', () => {
  let times = 0
  const member = { toJSON: () => ++times && {} }
  for (const more of [1, 2, 3]) jsonBytes({ member, more }, 1)
  expect(times).toBe(1)
})
