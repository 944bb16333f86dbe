import { expect, test } from 'vitest'
import { UNCHANGED, withDelivered } from '../../../src/core/reconcile/outcome.ts'

const REFUSED = { name: 'settings-changed', reason: 'it is full' }

test.each([
  ['changed', 'waiting'],
  ['unchanged', 'waiting'],
  ['waiting', 'waiting'],
  ['conflict', 'conflict'],
] as const)('an outcome that is %s is %s once a receiver has refused its part', (status, result) => {
  const outcome = withDelivered({ ...UNCHANGED, status }, { published: [], refused: [REFUSED], effects: [] })
  expect(outcome.status).toBe(result)
  expect(outcome.messages).toEqual([expect.stringContaining(REFUSED.reason)])
})
