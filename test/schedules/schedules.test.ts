import { expect, test } from 'vitest'
import { type Report, runSeed } from './history.ts'

/** Each comes to its end in up to three ways. */
const RACES = 150

/** The first seed; SCHEDULES_SEED tries others. */
const FIRST = Number(process.env.SCHEDULES_SEED ?? 1)

const run = async (seed: number): Promise<Report> => {
  const report = await runSeed(seed)
  const { violations } = report
  const again = violations.length > 0 ? (await runSeed(seed, { isTraced: true })).trace.join('\n') : ''
  expect(violations, `${again}\nseed ${seed}`).toEqual([])
  return report
}

test(`two sides agree with the platform after each end of ${RACES} random races`, async () => {
  const reports: Report[] = []
  for (let seed = FIRST; seed < FIRST + RACES; seed += 1) reports.push(await run(seed))
  const histories = reports.reduce((sum, report) => sum + report.histories, 0)
  const most = Math.max(...reports.map(({ published }) => published))
  process.stdout.write(`schedules: ${histories} histories, at most ${most} events in one\n`)
})

test('a history is the same each time', async () => {
  const [one, other] = [await runSeed(7, { isTraced: true }), await runSeed(7, { isTraced: true })]
  expect(other).toEqual(one)
})
