import { expect, test } from 'vitest'
import { createYieldTurn } from '../../../src/platform/base/yield-turn.ts'

/** A loop whose turns are counted, and a clock that goes on by the work alone. */
const world = () => {
  let now = 0
  let turns = 0
  const next: (() => void)[] = []
  let asked = 0
  const turn = () =>
    new Promise<void>((resolve) => {
      asked += 1
      next.push(resolve)
    })
  const yieldTurn = createYieldTurn(() => now, turn)
  return {
    /** How many turns were asked for. */
    asked: () => asked,
    work: async (pieces: number, milliseconds: number) => {
      for (let piece = 0; piece < pieces; piece += 1) {
        await yieldTurn()
        now += milliseconds
      }
    },
    /** Has turns until the work is done. */
    run: async (work: Promise<unknown>): Promise<number> => {
      let isDone = false
      void work.then(() => {
        isDone = true
      })
      for (;;) {
        // all that is ready takes place in one turn
        for (let tick = 0; tick < 1_000; tick += 1) await undefined
        if (isDone) return turns
        turns += 1
        for (const resolve of next.splice(0)) resolve()
      }
    },
  }
}

test('work of many pieces has a turn for every 20 milliseconds', async () => {
  const { work, run } = world()
  expect(await run(work(100, 5))).toBe(24)
})

test('what is done at the same time shares the turn', async () => {
  const { work, run } = world()
  // each may still ask before the other has worked
  expect(await run(Promise.all([work(50, 5), work(50, 5)]))).toBeGreaterThanOrEqual(500 / 30)
})

test('a little work waits for no turn', async () => {
  const { work, run } = world()
  expect(await run(work(3, 5))).toBe(0)
})

test('work that takes no time has a turn for every 32 pieces', async () => {
  const { work, run } = world()
  expect(await run(work(100, 0))).toBe(3)
})

test('a piece that is longer than a turn is the only one in it', async () => {
  const { work, run } = world()
  expect(await run(work(10, 100))).toBe(9)
})

test('those that wait go on in their order, and one turn is asked for at a time', async () => {
  const { work, run, asked } = world()
  const order: number[] = []
  const all = Array.from({ length: 100 }, (_, index) => work(1, 0).then(() => order.push(index)))
  expect(await run(Promise.all(all))).toBe(3)
  expect(order).toEqual(all.map((_, index) => index))
  expect(asked()).toBe(4)
})
