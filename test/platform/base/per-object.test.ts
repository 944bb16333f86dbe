import { expect, test, vi } from 'vitest'
import { perObject, perObjects } from '../../../src/platform/base/per-object.ts'

test('a result is made once for an object, also where there is none', () => {
  const of = vi.fn((): undefined => undefined)
  const made = perObject(of)
  const [one, other] = [{}, {}]
  for (const input of [one, one, other, one]) made(input)
  expect(of).toHaveBeenCalledTimes(2)
})

test('a result is made once for the same objects in the same order, however many they are', () => {
  let count = 0
  const made = perObjects((...inputs: readonly object[]) => {
    count += 1
    return inputs.length
  })
  const [one, other] = [{}, {}]
  expect([made(one, other), made(one), made(one, other), made(other, one), made()]).toEqual([2, 1, 2, 2, 0])
  expect(count).toBe(4)
})
