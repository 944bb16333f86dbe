import { meshRelation, service, workload } from '../helpers/world.ts'
import { type Figure, figureOf, ratio, type Table } from './figures.ts'
import { type Ground, type Program, type Running, type Sent, start } from './ground.ts'
import { NO_FRAMEWORK, NO_ORIGINAL } from './peers.ts'
import { createQuota } from './quota.ts'

type Round = { first: number; cpu: number; rss: number }

const APPLICATION = 'web'

const eventFor = ({ application = APPLICATION }: Program): Sent => ({
  type: 'relation-changed',
  id: 'same',
  data: { namespace: 'shop', application, ...meshRelation() },
})

/** From the start of the process to the answer to its first event. */
const measure = async (ground: Ground, program: Program, cores: number | undefined): Promise<Round> => {
  const quota = cores === undefined ? undefined : await createQuota(cores)
  const began = performance.now()
  const running = await start(ground, program, { K_SINK: ground.sink }, quota)
  const { status } = await running.post(eventFor(program))
  const first = performance.now() - began
  const used = await usedBy(running)
  await running.stop()
  await quota?.remove()
  if (status !== 200) throw new Error(`${program.name} answered ${status}`)
  return { first, ...used }
}

const usedBy = async (running: Running) => ({ cpu: await running.cpu(), rss: await running.rss() })

/** Runs each program once to its end, so that all compile caches are written. */
const warm = async (ground: Ground, programs: readonly Program[]): Promise<void> => {
  for (const program of programs) {
    const running = await start(ground, program, { K_SINK: ground.sink })
    await running.post(eventFor(program))
    await running.stop('SIGTERM')
  }
}

const interleaved = async (
  ground: Ground,
  programs: readonly Program[],
  { rounds, cores }: { readonly rounds: number; readonly cores?: number },
): Promise<Table['rows']> => {
  const all = new Map<Program, Round[]>(programs.map((program) => [program, []]))
  for (let round = 0; round < rounds; round += 1)
    for (const program of programs) all.get(program)?.push(await measure(ground, program, cores))
  const of = (program: Program, key: keyof Round): Figure => figureOf((all.get(program) ?? []).map((one) => one[key]))
  const { bare, floor } = ground.peers
  return programs.map((program) => ({
    program: program.name,
    ms: of(program, 'first'),
    '× bare': ratio(of(program, 'first'), of(bare, 'first')),
    '× floor': ratio(of(program, 'first'), of(floor, 'first')),
    'CPU ms': of(program, 'cpu'),
    'CPU × floor': ratio(of(program, 'cpu'), of(floor, 'cpu')),
    'RSS MB': of(program, 'rss'),
  }))
}

const QUARTER = 0.25

/** Each start takes four times as long. */
const FEWER = 3

const quarter = async (ground: Ground, programs: readonly Program[], rounds: number): Promise<Table> => {
  const quota = await createQuota(QUARTER)
  await quota?.remove()
  const title = 'Cold start with a quarter of a core'
  if (!quota) return { title, note: 'Not measured: no control group can be made here.', rows: [] }
  const how = 'each process in a control group of its own that may use 25 of each 100 ms'
  return {
    title,
    note: `${rounds} interleaved rounds, ${how}, as a container’s limit has it.`,
    rows: await interleaved(ground, programs, { rounds, cores: QUARTER }),
  }
}

/** Cold starts in interleaved rounds: how long, how much CPU, how much memory. */
export const cold = async (ground: Ground, rounds: number): Promise<readonly Table[]> => {
  const { bare, floor, hono, client, frameworks, original } = ground.peers
  const faas = await frameworks()
  const programs = [bare, floor, hono, client, ...faas, ...original, ...ground.bundles, ...ground.snapshots]
  const applications = new Set(programs.map(({ application = APPLICATION }) => application))
  await ground.seed([...applications].flatMap((name) => [workload('StatefulSet', name), service(name)]))
  await warm(ground, programs)
  const how = `${rounds} interleaved rounds, medians, and the middle half in brackets. Compile caches are warm.`
  const missing = [...(faas.length > 0 ? [] : [NO_FRAMEWORK]), ...(original.length > 0 ? [] : [NO_ORIGINAL])]
  return [
    {
      title: 'Cold start: from the start of the process to its first event answered',
      note: [how, ...missing].join(' '),
      rows: await interleaved(ground, programs, { rounds }),
    },
    await quarter(ground, programs, Math.ceil(rounds / FEWER)),
  ]
}
