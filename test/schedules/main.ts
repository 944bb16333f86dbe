import { type ChildProcess, fork } from 'node:child_process'
import { availableParallelism } from 'node:os'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { type Report, runSeed } from './history.ts'

type Totals = {
  histories: number
  races: number
  calls: number
  steps: number
  /** Milliseconds of CPU time. */
  cpu: number
  /** The most events in one history, and for each event of the platform. */
  published: number
  each: number
  violations: number
}

const NOTHING: Totals = {
  histories: 0,
  races: 0,
  calls: 0,
  steps: 0,
  cpu: 0,
  published: 0,
  each: 0,
  violations: 0,
}

// the stacks of refusals cost time, and nobody reads them
Error.stackTraceLimit = 0

/** Seeds by the property that failed; histories by what they had in them. */
type Message = { totals: Totals; failures: Record<string, number[]>; traits: Record<string, number> }

const { values } = parseArgs({
  options: {
    histories: { type: 'string', default: '1000' },
    seed: { type: 'string', default: '1' },
    seconds: { type: 'string', default: '600' },
    workers: { type: 'string', default: String(availableParallelism()) },
    worker: { type: 'string' },
    /** Goes on after a violation, counts them by property, and says what the histories had in them. */
    survey: { type: 'boolean', default: false },
  },
})
const [histories, first, seconds, workers] = [values.histories, values.seed, values.seconds, values.workers].map(Number)

const add = (totals: Totals, { histories: ended, calls, steps, published, told, violations }: Report): void => {
  totals.histories += ended
  totals.races += 1
  totals.calls += calls
  totals.steps += steps
  totals.published = Math.max(totals.published, published)
  totals.each = Math.max(totals.each, published / told)
  totals.violations += violations.length > 0 ? 1 : 0
}

const note = (message: Message, seed: number, report: Report): void => {
  const { failures, traits } = message
  add(message.totals, report)
  for (const trait of report.traits) traits[trait] = (traits[trait] ?? 0) + report.histories
  for (const { property } of report.violations) {
    failures[property] = [...(failures[property] ?? []), seed]
    process.stderr.write(`seed ${seed}: ${property}\n`)
  }
}

/** Runs every nth seed, until there were enough histories, the time is over, or one fails. */
const work = async (index: number): Promise<Message> => {
  const end = performance.now() + (seconds ?? 0) * 1_000
  const message: Message = { totals: { ...NOTHING }, failures: {}, traits: {} }
  const { totals } = message
  const isOver = () =>
    totals.histories >= (histories ?? 0) / (workers ?? 1) ||
    performance.now() >= end ||
    (totals.violations > 0 && !values.survey)
  for (let seed = (first ?? 0) + index; !isOver(); seed += workers ?? 1) note(message, seed, await runSeed(seed))
  const { user, system } = process.cpuUsage()
  totals.cpu = (user + system) / 1_000
  return message
}

const start = (index: number): Promise<Message> =>
  new Promise((resolve, reject) => {
    const child: ChildProcess = fork(
      fileURLToPath(import.meta.url),
      [...process.argv.slice(2), '--worker', `${index}`],
      {
        execArgv: ['--max-semi-space-size=64'],
      },
    )
    child.on('message', (message) => resolve(message as Message))
    child.on('exit', (code) => reject(new Error(`worker ${index} ended with ${code}`)))
  })

const sum = (messages: readonly Message[]): Totals =>
  messages.reduce(
    (all, { totals }) => ({
      histories: all.histories + totals.histories,
      races: all.races + totals.races,
      cpu: all.cpu + totals.cpu,
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

const printTraits = (messages: readonly Message[], histories: number): void => {
  const counts = new Map<string, number>()
  for (const [trait, count] of messages.flatMap(({ traits }) => Object.entries(traits)))
    counts.set(trait, (counts.get(trait) ?? 0) + count)
  for (const [trait, count] of [...counts].toSorted(([, one], [, other]) => other - one))
    process.stdout.write(`  ${((100 * count) / histories).toFixed(0).padStart(3)} % ${trait}\n`)
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
  const each = (count: number) => (count / totals.histories).toFixed(1)
  process.stdout.write(
    `${totals.histories} histories of ${totals.races} races, ${each(totals.steps)} steps and ${each(totals.calls)} calls for each, ` +
      `at most ${totals.published} events in one, ${totals.each.toFixed(1)} for each that was told, ${totals.violations} violations, ` +
      `${took.toFixed(1)} s, ${(totals.histories / took).toFixed(1)} histories/s, ${each(totals.cpu)} ms of CPU time for each\n`,
  )
  if (values.survey) printTraits(messages, totals.histories)
  if (seeds.length > 0) process.exitCode = 1
}

if (values.worker === undefined) await main()
else {
  const message = await work(Number(values.worker))
  process.send?.(message, () => process.exit(0))
}
