import { type ChildProcess, fork } from 'node:child_process'
import { availableParallelism } from 'node:os'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { type Report, runSeed } from './history.ts'

type Totals = {
  histories: number
  calls: number
  steps: number
  /** The most events in one history, and for each event of the platform. */
  published: number
  each: number
  violations: number
}

const NOTHING: Totals = { histories: 0, calls: 0, steps: 0, published: 0, each: 0, violations: 0 }

// the stacks of refusals cost time, and nobody reads them
Error.stackTraceLimit = 0

type Message = { totals: Totals; failures: Record<string, number[]> }

const { values } = parseArgs({
  options: {
    histories: { type: 'string', default: '1000' },
    seed: { type: 'string', default: '1' },
    seconds: { type: 'string', default: '600' },
    workers: { type: 'string', default: String(availableParallelism()) },
    worker: { type: 'string' },
    /** Goes on after a violation, and counts them by property. */
    survey: { type: 'boolean', default: false },
  },
})
const [histories, first, seconds, workers] = [values.histories, values.seed, values.seconds, values.workers].map(Number)

const add = (totals: Totals, { histories: ended, calls, steps, published, told, violations }: Report): void => {
  totals.histories += ended
  totals.calls += calls
  totals.steps += steps
  totals.published = Math.max(totals.published, published)
  totals.each = Math.max(totals.each, published / told)
  totals.violations += violations.length > 0 ? 1 : 0
}

/** Runs every nth seed, until there are no more, the time is over, or one fails. */
const work = async (index: number): Promise<Message> => {
  const end = performance.now() + (seconds ?? 0) * 1_000
  const totals = { ...NOTHING }
  const failures: Message['failures'] = {}
  for (let offset = index; offset < (histories ?? 0) && performance.now() < end; offset += workers ?? 1) {
    const seed = (first ?? 0) + offset
    const report = await runSeed(seed)
    add(totals, report)
    for (const { property } of report.violations) failures[property] = [...(failures[property] ?? []), seed]
    if (report.violations.length > 0 && !values.survey) break
  }
  return { totals, failures }
}

const start = (index: number): Promise<Message> =>
  new Promise((resolve, reject) => {
    const child: ChildProcess = fork(
      fileURLToPath(import.meta.url),
      [...process.argv.slice(2), '--worker', `${index}`],
      {
        execArgv: ['--max-semi-space-size=32'],
      },
    )
    child.on('message', (message) => resolve(message as Message))
    child.on('exit', (code) => reject(new Error(`worker ${index} ended with ${code}`)))
  })

const sum = (messages: readonly Message[]): Totals =>
  messages.reduce(
    (all, { totals }) => ({
      histories: all.histories + totals.histories,
      calls: all.calls + totals.calls,
      steps: all.steps + totals.steps,
      published: Math.max(all.published, totals.published),
      each: Math.max(all.each, totals.each),
      violations: all.violations + totals.violations,
    }),
    NOTHING,
  )

const MOST_SEEDS = 20

/** The seeds that failed, by property, in their order. */
const join = (messages: readonly Message[]): Record<string, number[]> => {
  const all = messages.flatMap(({ failures }) => Object.entries(failures))
  const byProperty = Map.groupBy(all, ([property]) => property)
  return Object.fromEntries(
    [...byProperty].map(([property, entries]) => [
      property,
      entries.flatMap(([, seeds]) => seeds).toSorted((one, other) => one - other),
    ]),
  )
}

const printViolation = async (seed: number): Promise<void> => {
  const { violations, trace } = await runSeed(seed, { isTraced: true })
  process.stdout.write(`${trace.join('\n')}\n\nseed ${seed}\n`)
  for (const { property, details } of violations) process.stdout.write(`${property}\n  ${details.join('\n  ')}\n`)
}

const main = async (): Promise<void> => {
  const began = performance.now()
  const messages = await Promise.all(Array.from({ length: workers ?? 1 }, (_, index) => start(index)))
  const took = (performance.now() - began) / 1_000
  const totals = sum(messages)
  const failures = join(messages)
  const seeds = Object.values(failures).flat()
  if (seeds.length > 0) await printViolation(Math.min(...seeds))
  for (const [property, failed] of Object.entries(failures))
    process.stdout.write(`${property}: ${failed.length} histories, seeds ${failed.slice(0, MOST_SEEDS).join(' ')}\n`)
  process.stdout.write(
    `${totals.histories} histories, ${totals.steps} steps, ${totals.calls} calls, at most ${totals.published} events in one, ` +
      `${totals.each.toFixed(1)} for each that was told, ` +
      `${totals.violations} violations, ${took.toFixed(1)} s, ${(totals.histories / took).toFixed(1)} histories/s\n`,
  )
  if (seeds.length > 0) process.exitCode = 1
}

if (values.worker === undefined) await main()
else {
  const message = await work(Number(values.worker))
  process.send?.(message, () => process.exit(0))
}
