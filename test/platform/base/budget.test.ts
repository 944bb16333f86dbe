import { expect, test } from 'vitest'
import { type Budget, createBudget } from '../../../src/platform/base/budget.ts'

const REFUSED = expect.objectContaining({ status: 429, retryAfterSeconds: 1 })

test('what is kept beside others is refused with 429 where it is too much, and fits once they have closed', () => {
  const budget = createBudget(100, 'busy')
  const [one, other] = [budget.open(), budget.open()]
  one.keep(60)
  other.keep(40)
  expect(() => other.keep(1)).toThrow(REFUSED)
  one.close()
  other.keep(60)
  expect(() => budget.open().keep(1)).toThrow(REFUSED)
})

test('one that needs more than all may have it by itself', () => {
  const budget = createBudget(100, 'busy')
  const one = budget.open()
  one.keep(90)
  one.keep(90)
  expect(() => budget.open().keep(1)).toThrow(REFUSED)
  one.close()
  budget.open().keep(100)
})

test('no account has more than the bound, by itself or not, but has it anew once it was closed', () => {
  const budget = createBudget(100, 'busy', { most: 150, problem: 'too much' })
  const one = budget.open('one')
  one.keep(150)
  expect(() => one.keep(1)).toThrow(expect.objectContaining({ status: 429, message: 'too much' }))
  one.close()
  one.keep(150)
})

test('an account that is closed twice gives back once', () => {
  const budget = createBudget(100, 'busy')
  const [one, other] = [budget.open(), budget.open()]
  one.keep(50)
  other.keep(50)
  one.close()
  one.close()
  expect(() => budget.open().keep(51)).toThrow(REFUSED)
})

/** Takes as many of a size as it gets, and tells how much that was. */
const flood = (budget: Budget, owner: string, size = 1): number => {
  for (let taken = 0; ; taken += size)
    try {
      budget.open(owner).keep(size)
    } catch (error) {
      expect(error).toEqual(REFUSED)
      return taken
    }
}

test('each owner gets three quarters of what others leave free, so that any number of floods leaves room', () => {
  const budget = createBudget(1024, 'busy')
  expect(['one', 'two', 'three', 'four'].map((owner) => flood(budget, owner))).toEqual([768, 192, 48, 12])
  budget.open('five').keep(3)
})

test('room that an owner leaves is there for others', () => {
  const budget = createBudget(64, 'busy')
  const one = budget.open('one')
  one.keep(48)
  expect(flood(budget, 'two')).toBe(12)
  one.close()
  expect(flood(budget, 'two')).toBe(36)
  expect(flood(budget, 'one')).toBe(12)
})

test('where there are few, who has none gets one of what is left, and nobody gets more than there are', () => {
  const budget = createBudget(4, 'busy')
  expect(['one', 'two', 'three'].map((owner) => flood(budget, owner))).toEqual([3, 1, 0])
})

test('one that is larger than its share is taken beside few others alone, and leaves room for more', () => {
  const budget = createBudget(100, 'busy')
  expect(flood(budget, 'one', 1)).toBe(75)
  expect(() => budget.open('two').keep(25)).toThrow(REFUSED)

  const other = createBudget(100, 'busy')
  other.open('one').keep(20)
  other.open('two').keep(200)
  expect(() => other.open('two').keep(1)).toThrow(REFUSED)
  expect(() => other.open('three').keep(200)).toThrow(REFUSED)
  expect(flood(other, 'three')).toBe(15)
})
