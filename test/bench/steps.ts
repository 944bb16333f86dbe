import { meshRelation, service, workload } from '../helpers/world.ts'
import type { Counts } from './api.ts'
import { figureOf, ratio, type Table } from './figures.ts'
import { type Ground, type Program, type Running, type Sent, start } from './ground.ts'

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

const STEPS: Readonly<Record<string, (application: string) => Sent>> = {
  'first join': (application) => joined(application, {}, 'join'),
  'no-op': (application) => joined(application, {}, 'join'),
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

/** Each application of a round joins, hears nothing new, changes, and leaves. */
export const steps = async (ground: Ground, rounds: number): Promise<Table> => {
  const all = new Map<string, Round[]>()
  const running = await Promise.all(
    ground.bundles.map(async (program) => ({
      program,
      process: await start(ground, program, { K_SINK: ground.sink }),
    })),
  )
  const unmeasured = 5
  for (let round = 0; round < rounds + unmeasured; round += 1)
    for (const { program, process } of running) {
      const application = `app-${round}-${program.name}`
      await ground.seed([workload('StatefulSet', application), service(application)])
      for (const [name, event] of Object.entries(STEPS)) {
        const measured = await step(ground, process, event(application))
        const key = keyOf(program, name)
        if (round >= unmeasured) all.set(key, [...(all.get(key) ?? []), measured])
      }
    }
  for (const { process } of running) await process.stop()
  const [first] = ground.bundles
  const of = (program: Program | undefined, name: string, what: keyof Round) =>
    figureOf((all.get(program ? keyOf(program, name) : '') ?? []).map((one) => one[what]))
  return {
    title: 'Steps of a process that is warm',
    note: `${rounds} interleaved rounds, each with applications of its own.`,
    rows: Object.keys(STEPS).flatMap((name) =>
      ground.bundles.map((program) => ({
        step: name,
        program: program.name,
        ms: of(program, name, 'wall'),
        'CPU ms': of(program, name, 'cpu'),
        ...(running.length > 1 && { '× meshstep': ratio(of(program, name, 'cpu'), of(first, name, 'cpu')) }),
        calls: of(program, name, 'calls').median,
        writes: of(program, name, 'writes').median,
        kB: (of(program, name, 'bytes').median / 1024).toFixed(1),
      })),
    ),
  }
}

const keyOf = ({ name: program }: Program, step: string): string => `${program} ${step}`
