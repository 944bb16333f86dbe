import { meshRelation, service, workload } from '../helpers/world.ts'
import { type Figure, figureOf, ratio, type Table } from './figures.ts'
import { type Ground, type Program, type Sent, start } from './ground.ts'

type Round = { first: number; cpu: number; rss: number }

const CONFIGMAPS = '/api/v1/namespaces/shop/configmaps'

/** What a redelivered event reads, in two round trips. */
const READS = [
  [
    `${CONFIGMAPS}/juju-service-mesh-web-labels`,
    '/apis/apps/v1/namespaces/shop/statefulsets/web',
    '/api/v1/namespaces/shop/services/web',
  ],
  [`${CONFIGMAPS}/juju-service-mesh-beacon-labels`],
]

const EVENT: Sent = {
  type: 'relation-changed',
  id: 'same',
  data: { namespace: 'shop', application: 'web', ...meshRelation() },
}

/** From the start of the process to the answer to its first event. */
const measure = async (ground: Ground, program: Program): Promise<Round> => {
  const began = performance.now()
  const running = await start(ground, program, { READS: JSON.stringify(READS), K_SINK: ground.sink })
  const { status } = await running.post(EVENT)
  const first = performance.now() - began
  const [cpu, rss] = [await running.cpu(), await running.rss()]
  await running.stop()
  if (status !== 200) throw new Error(`${program.name} answered ${status}`)
  return { first, cpu, rss }
}

/** Runs each program once to its end, so that all compile caches are written. */
const warm = async (ground: Ground, programs: readonly Program[]): Promise<void> => {
  for (const program of programs) {
    const running = await start(ground, program, { READS: JSON.stringify(READS), K_SINK: ground.sink })
    await running.post(EVENT)
    await running.stop('SIGTERM')
  }
}

/** Cold starts in interleaved rounds: how long, how much CPU, how much memory. */
export const cold = async (ground: Ground, rounds: number): Promise<Table> => {
  await ground.seed([workload(), service()])
  const { bare, floor, hono } = ground.programs
  const programs = [bare, floor, hono, ...ground.bundles, ...ground.snapshots]
  await warm(ground, programs)
  const all = new Map<Program, Round[]>(programs.map((program) => [program, []]))
  for (let round = 0; round < rounds; round += 1)
    for (const program of programs) all.get(program)?.push(await measure(ground, program))
  const of = (program: Program, key: keyof Round): Figure => figureOf((all.get(program) ?? []).map((one) => one[key]))
  return {
    title: 'Cold start: from the start of the process to its first event answered',
    note: `${rounds} interleaved rounds, medians, and the middle half in brackets. Compile caches are warm.`,
    rows: programs.map((program) => ({
      program: program.name,
      ms: of(program, 'first'),
      '× bare': ratio(of(program, 'first'), of(bare, 'first')),
      '× floor': ratio(of(program, 'first'), of(floor, 'first')),
      'CPU ms': of(program, 'cpu'),
      'CPU × floor': ratio(of(program, 'cpu'), of(floor, 'cpu')),
      'RSS MB': of(program, 'rss'),
    })),
  }
}
