import { expect, test } from 'vitest'
import { carryOn, retryWhenOvertaken, type StepProgress } from '../../../src/core/reconcile/attempts.ts'
import type { Memory } from '../../../src/core/state/memory.ts'
import { type State, VERSION } from '../../../src/core/state/state.ts'
import { Unavailable } from '../../../src/platform/base/errors.ts'

const SUBJECT = { namespace: 'shop', application: 'db' }
const STATE = { version: VERSION, relations: {}, units: {} } as unknown as State
const memoryWith = (writeToken?: string): Memory =>
  ({ state: { ...STATE, writeToken }, labels: {} }) as unknown as Memory
const BEGUN: StepProgress = { changes: [], before: STATE, dropped: ['a'], writes: [] }
const TAKEN = { taken: [{ message: 'taken' }], dropped: ['b'] }
const WRITE = { name: 'Service shop/db', drift: [], isGone: false }

test('a lost attempt that saved nothing has taken no changes, and keeps what was written and dropped', () => {
  const carried = carryOn(BEGUN, TAKEN, { writes: [WRITE], overtaken: {} }, memoryWith())
  expect(carried).toMatchObject({ dropped: ['a', 'b'], writes: [WRITE] })
  expect(carried.taken).toBe(undefined)
})

test('a lost attempt that saved the memory has taken its changes, which are folded in no second time', () => {
  const carried = carryOn(BEGUN, TAKEN, { writes: [], writeToken: 'own', overtaken: {} }, memoryWith())
  expect(carried).toMatchObject({ taken: TAKEN.taken, writeToken: 'own', isFencing: false })
})

test('an attempt that replaces the token of another step fences until the step ends', () => {
  const first = carryOn(BEGUN, TAKEN, { writes: [], writeToken: 'own', overtaken: {} }, memoryWith('foreign'))
  expect(first.isFencing).toBe(true)
  expect(carryOn(first, TAKEN, { writes: [], writeToken: 'own' }, memoryWith('own')).isFencing).toBe(true)
})

/** A clock that only sleeping moves. */
const createClock = () => {
  let now = 0
  const slept: number[] = []
  const sleep = async (milliseconds: number) => {
    slept.push(milliseconds)
    now += milliseconds
  }
  return { slept, now: () => now, random: () => 0.5, sleep }
}

test('a lost race is run again after growing pauses, and each further attempt knows that there is another writer', async () => {
  const clock = createClock()
  const seen: (boolean | undefined)[] = []
  const attempt = async (carried: StepProgress | undefined) => {
    seen.push(carried?.wasOvertaken)
    return seen.length < 4 ? { carried: BEGUN } : { carried: BEGUN, attempted: 'done' }
  }
  const { attempted } = await retryWhenOvertaken({ subject: SUBJECT, clock, deadline: 10_000, attempt })
  expect([attempted, seen, clock.slept]).toEqual(['done', [undefined, true, true, true], [20, 40, 80]])
})

test('a race that is lost until the deadline is unavailable, and names the last cause', async () => {
  const clock = createClock()
  const causes = [new Error('first'), undefined]
  const attempt = async () => ({ carried: BEGUN, cause: causes.shift() })
  const overtaken = await retryWhenOvertaken({ subject: SUBJECT, clock, deadline: 100, attempt }).catch(
    (error) => error,
  )
  expect(overtaken).toBeInstanceOf(Unavailable)
  expect(overtaken).toMatchObject({ message: expect.stringContaining('shop/db'), cause: { message: 'first' } })
  expect(clock.now()).toBeLessThan(100)
})
