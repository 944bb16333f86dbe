import { meshRelation, service, workload } from '../helpers/world.ts'
import type { Counts } from './api.ts'
import { type Figure, figureOf, ratio, type Table } from './figures.ts'
import { type Ground, type Program, type Running, type Sent, start } from './ground.ts'
import { NO_ORIGINAL } from './peers.ts'

type Round = { wall: number; cpu: number } & Counts

/** Sends an event, and measures its step. */
export const step = async (ground: Ground, running: Running, event: Sent): Promise<Round> => {
  await ground.counts()
  const before = await running.cpu()
  const began = performance.now()
  const { status, body } = await running.post(event)
  const wall = performance.now() - began
  const cpu = (await running.cpu()) - before
  if (status !== 200) throw new Error(`${event.type} was answered ${status}: ${body}`)
  return { wall, cpu, ...(await ground.counts()) }
}

const NO_OP = 'no-op'

const STEPS: Readonly<Record<string, (application: string) => Sent>> = {
  'first join': (application) => joined(application, {}, 'join'),
  [NO_OP]: (application) => joined(application, {}, 'join'),
  change: (application) => joined(application, { 'istio.io/use-waypoint': 'another' }, 'change'),
  leave: (application) => ({
    type: 'relation-broken',
    data: { namespace: 'shop', application, relation: { id: 7 } },
  }),
}

const joined = (application: string, labels: Record<string, string>, id: string): Sent => ({
  type: 'relation-changed',
  id: `${id} ${application}`,
  data: { namespace: 'shop', application, ...meshRelation({ 'istio.io/dataplane-mode': 'ambient', ...labels }) },
})

const UNMEASURED_ROUNDS = 5

/** Programs that take steps, and others that only read what the first of them reads when it has nothing to do. */
type Field = { readonly stepping: readonly Program[]; readonly reading: readonly Program[] }

/** Calls back with each step of a round. */
const takeRound = async (
  ground: Ground,
  { stepping, reading }: Field,
  running: ReadonlyMap<Program, Running>,
  add: (program: Program, name: string, measured: Round) => void,
): Promise<void> => {
  serial += 1
  const applications = new Map(stepping.map((program, index) => [program, `app-${serial}-${index}`]))
  const [made = ''] = applications.values()
  await ground.seed([...applications.values()].flatMap((name) => [workload('StatefulSet', name), service(name)]))
  for (const [name, event] of Object.entries(STEPS))
    for (const program of name === NO_OP ? [...stepping, ...reading] : stepping) {
      const process = running.get(program)
      if (process) add(program, name, await step(ground, process, event(applications.get(program) ?? made)))
    }
}

let serial = 0

/** Each application of a round joins, hears nothing new, changes, and leaves. */
export const steps = async (ground: Ground, rounds: number): Promise<Table> => {
  const { floor, client, original } = ground.peers
  const field = { stepping: [...ground.bundles, ...original], reading: [floor, client] }
  const running = new Map<Program, Running>()
  for (const program of [...field.stepping, ...field.reading])
    running.set(program, await start(ground, program, { K_SINK: ground.sink }))
  for (let round = 0; round < UNMEASURED_ROUNDS; round += 1) await takeRound(ground, field, running, () => undefined)
  const all = new Map<string, { step: string; program: Program; rounds: Round[] }>()
  for (let round = 0; round < rounds; round += 1)
    await takeRound(ground, field, running, (program, step, measured) => {
      const key = `${step} ${program.name}`
      const one = all.get(key) ?? { step, program, rounds: [] }
      one.rounds.push(measured)
      all.set(key, one)
    })
  for (const process of running.values()) await process.stop()
  const cpuOf = (step: string) =>
    figureOf(all.get(`${step} ${ground.bundles[0]?.name}`)?.rounds.map(({ cpu }) => cpu) ?? [])
  return {
    title: 'Steps of a process that is warm',
    note: [
      `${rounds} interleaved rounds, each with applications of its own.`,
      ...(original.length > 0 ? [] : [NO_ORIGINAL]),
    ].join(' '),
    rows: [...all.values()].map(({ step, program, rounds: measured }) => {
      const of = (what: keyof Round): Figure => figureOf(measured.map((one) => one[what]))
      return {
        step,
        program: program.name,
        ms: of('wall'),
        'CPU ms': of('cpu'),
        'CPU × meshstep': ratio(of('cpu'), cpuOf(step)),
        calls: of('calls').median,
        writes: of('writes').median,
        kB: (of('bytes').median / 1024).toFixed(1),
      }
    }),
  }
}
