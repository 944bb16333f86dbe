import { expect, test } from 'vitest'
import { createBudget } from '../../src/base/budget.ts'

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

test('an account that is closed twice gives back once', () => {
  const budget = createBudget(100, 'busy')
  const [one, other] = [budget.open(), budget.open()]
  one.keep(50)
  other.keep(50)
  one.close()
  one.close()
  expect(() => budget.open().keep(51)).toThrow(REFUSED)
})
