import { expect, test } from 'vitest'
import { type Report, runSeed } from './history.ts'

/** The first seed; SCHEDULES_SEED tries others. */
const FIRST = Number(process.env.SCHEDULES_SEED ?? 1)

/** Races in which calls fail on their way, too. `npm run test:schedules` runs those in which none does. */
const DISTURBED = 300
const FIRST_DISTURBED = FIRST + 1_999
const DISTURBANCES = 6

const run = async (seed: number, options: Parameters<typeof runSeed>[1] = {}): Promise<Report> => {
  const report = await runSeed(seed, options)
  const { violations } = report
  const again = violations.length > 0 ? (await runSeed(seed, { ...options, isTraced: true })).trace.join('\n') : ''
  expect(violations, `${again}\nseed ${seed}`).toEqual([])
  return report
}

test(`two sides agree after ${DISTURBED} races with a proxy that delays, resets, truncates and fails`, async () => {
  let histories = 0
  let disturbed = 0
  for (let seed = FIRST_DISTURBED; seed < FIRST_DISTURBED + DISTURBED; seed += 1) {
    const report = await run(seed, { disturbances: DISTURBANCES })
    histories += report.histories
    disturbed += report.traits.includes('call disturbed') ? report.histories : 0
  }
  process.stdout.write(`schedules: ${histories} histories, calls failed on their way in ${disturbed}\n`)
  expect(disturbed).toBeGreaterThan(histories / 2)
})

test('a history is the same each time', async () => {
  const [one, other] = [await runSeed(7, { isTraced: true }), await runSeed(7, { isTraced: true })]
  expect(other).toEqual(one)
})
