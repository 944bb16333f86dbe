import { afterAll, expect, test } from 'vitest'
import { FOREIGN, LOSSY } from './race.ts'
import { check, type Scenario } from './scenario.ts'
import type { Bounds } from './scheduler.ts'

/** A test for each scenario, within its own bounds and once more with lost answers; says in the end how many schedules there were. */
export const runScenarios = (name: string, scenarios: readonly Scenario[]): void => {
  let schedules = 0

  const run = async (scenario: Scenario) => {
    const within = (bounds: Bounds) => check({ foreign: FOREIGN, ...scenario, bounds })
    const count = (await within(scenario.bounds)) + (await within(LOSSY))
    schedules += count
    expect(count).toBeGreaterThan(100)
  }
  test.each(scenarios)('$name', run)

  afterAll(() => {
    process.stdout.write(`explorer, ${name}: ${schedules} schedules\n`)
  })
}
