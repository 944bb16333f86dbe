import { afterAll, expect, test } from 'vitest'
import { FOREIGN, LOSSY } from './race.ts'
import { check, type Scenario } from './scenario.ts'
import type { Bounds } from './scheduler.ts'

/** Preemptions, a crash and a lost answer each for itself; EXPLORER=deep takes them together, which is ten times as many schedules. */
const boundsOf = (bounds: Bounds): Bounds[] =>
  process.env.EXPLORER === 'deep'
    ? [bounds, LOSSY]
    : [
        { ...bounds, crashes: 0 },
        { preemptions: 0, crashes: bounds.crashes, losses: 0 },
        { preemptions: 0, crashes: 0, losses: 1 },
      ]

/** A test for each scenario, within its own bounds and with lost answers; says in the end how many schedules there were. */
export const runScenarios = (name: string, scenarios: readonly Scenario[]): void => {
  let schedules = 0

  const run = async (scenario: Scenario) => {
    let count = 0
    for (const bounds of boundsOf(scenario.bounds)) count += await check({ foreign: FOREIGN, ...scenario, bounds })
    schedules += count
    expect(count).toBeGreaterThan(30)
  }
  test.each(scenarios)('$name', run)

  afterAll(() => {
    process.stdout.write(`explorer, ${name}: ${schedules} schedules\n`)
  })
}
