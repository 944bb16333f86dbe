import { expect, test } from 'vitest'
import { runSeed } from './history.ts'

const HISTORIES = 300

/** The first seed; SCHEDULES_SEED tries others. */
const FIRST = Number(process.env.SCHEDULES_SEED ?? 1)

const run = async (seed: number): Promise<number> => {
  const { violations, published } = await runSeed(seed)
  const again = violations.length > 0 ? (await runSeed(seed, { isTraced: true })).trace.join('\n') : ''
  expect(violations, `${again}\nseed ${seed}`).toEqual([])
  return published
}

test(`two sides agree with the platform after each of ${HISTORIES} random histories`, async () => {
  const published: number[] = []
  for (let seed = FIRST; seed < FIRST + HISTORIES; seed += 1) published.push(await run(seed))
  process.stdout.write(`schedules: ${HISTORIES} histories, at most ${Math.max(...published)} events in one\n`)
})

test('a history is the same each time', async () => {
  const [one, other] = [await runSeed(7, { isTraced: true }), await runSeed(7, { isTraced: true })]
  expect(other).toEqual(one)
})
