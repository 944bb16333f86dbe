import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { type Figure, figureOf, type Table } from './figures.ts'
import { here } from './ground.ts'

/** Numbers of applications, of which a change of the root namespace concerns each. */
const SIZES = [50, 500, 5_000] as const

/** A plan of 5,000 applications takes seconds. */
const MOST_ROUNDS = 3

type Measured = {
  readonly milliseconds: number
  readonly cpu: number
  readonly megabytes: number
  readonly lost: number
  readonly incomplete: number
}

/** What a plan costs in a process of its own. */
const measured = async (size: number): Promise<Measured> => {
  const { stdout } = await promisify(execFile)(process.execPath, [here('planned.ts'), String(size)])
  return JSON.parse(stdout) as Measured
}

/** How a plan grows with the applications that are there, when the root namespace denies everything, and when one application is closed. */
export const plan = async (rounds: number): Promise<Table> => {
  const rows: Record<string, string | number | Figure>[] = []
  for (const applications of SIZES) {
    const all: Measured[] = []
    for (let round = 0; round < Math.min(rounds, MOST_ROUNDS); round += 1) all.push(await measured(applications))
    const of = (key: keyof Measured) => figureOf(all.map((one) => one[key]))
    rows.push({
      applications,
      'answered, ms': of('milliseconds'),
      'CPU ms': of('cpu'),
      'CPU ms for each': figureOf(all.map(({ cpu }) => cpu / applications)),
      'peak, MB': of('megabytes'),
      lost: all[0]?.lost ?? 0,
      'not compared': all[0]?.incomplete ?? 0,
    })
  }
  return {
    title: 'Plans: a root namespace that denies everything',
    note: 'Each is the first plan of a process that has loaded its code, and also holds the cluster that it asks.',
    rows,
  }
}
