import { setTimeout as sleep } from 'node:timers/promises'
import type { KubernetesObject } from '../../src/platform/kubernetes/objects.ts'
import { meshRelation, service, workload } from '../helpers/world.ts'
import type { Counts } from './api.ts'
import { type Figure, figureOf, ratio, type Table } from './figures.ts'
import { type Ground, type Program, type Running, type Sent, start } from './ground.ts'
import { NO_ORIGINAL } from './peers.ts'

type Round = { wall: number; cpu: number } & Counts

/** Sends events one after another; measures what one of their steps takes. */
export const step = async (ground: Ground, running: Running, ...events: readonly Sent[]): Promise<Round> => {
  await ground.counts()
  const before = await running.cpu()
  const began = performance.now()
  for (const event of events) {
    const { status, body } = await running.post(event)
    if (status !== 200) throw new Error(`${event.type} was answered ${status}: ${body}`)
  }
  const wall = performance.now() - began
  const cpu = (await running.cpu()) - before
  const { calls, writes, memories, bytes } = await ground.counts()
  const each = (sum: number) => sum / events.length
  return {
    ...{ wall: each(wall), cpu: each(cpu) },
    ...{ calls: each(calls), writes: each(writes), memories: each(memories), bytes: each(bytes) },
  }
}

const NO_OP = 'no-op'

type Application = { readonly namespace: string; readonly application: string }

const STEPS: Readonly<Record<string, (of: Application) => Sent>> = {
  'first join': (of) => joined(of, {}, 'join'),
  [NO_OP]: (of) => joined(of, {}, 'join'),
  change: (of) => joined(of, { 'istio.io/use-waypoint': 'another' }, 'change'),
  leave: (of) => ({ type: 'relation-broken', data: { ...of, relation: { id: 7 } } }),
}

const joined = (of: Application, labels: Record<string, string>, id: string): Sent => ({
  type: 'relation-changed',
  id: `${id} ${of.application}`,
  data: { ...of, ...meshRelation({ 'istio.io/dataplane-mode': 'ambient', ...labels }) },
})

/** Applications that a process has had all steps of before it is measured: a warm process runs code that Node has compiled. */
const WARMING = 500
const TOGETHER = 20

/** So many follow each other before the next program has its turn. */
const IN_A_ROW = 5

/** For so long after a write of an application a step that restarts its pods waits for more of them. */
const APART_MILLISECONDS = 2_500

/** Programs that take steps, and others that only read what the first of them reads when it has nothing to do. */
type Field = { readonly stepping: readonly Program[]; readonly reading: readonly Program[] }

const ofStep = ({ stepping, reading }: Field, name: string): readonly Program[] =>
  name === NO_OP ? [...stepping, ...reading] : stepping

let serial = 0

/** Nothing runs of it: on a real cluster pods of an image that there is not would come and never be ready. */
const withoutPods = ({ spec, ...workload }: KubernetesObject): KubernetesObject => ({
  ...workload,
  spec: { ...spec, replicas: 0 },
})

/** New applications with a workload and a Service each, in a namespace of their own. */
const seeded = async (ground: Ground, count: number): Promise<Application[]> => {
  const namespace = `steps-${++serial}`
  const made = Array.from({ length: count }, () => ({ namespace, application: `app-${++serial}` }))
  const of = (object: KubernetesObject): KubernetesObject => ({
    ...object,
    metadata: { ...object.metadata, namespace },
  })
  await ground.seed(
    made.flatMap(({ application }) => [
      of(withoutPods(workload('StatefulSet', application))),
      of(service(application)),
    ]),
  )
  return made
}

/** Has a program take the steps of applications, a few of them at a time. */
const warmUp = async (ground: Ground, running: Running, names: readonly string[]): Promise<void> => {
  for (let done = 0; done < WARMING; done += TOGETHER) {
    const applications = await seeded(ground, TOGETHER)
    for (const name of names)
      await Promise.all(applications.flatMap((one) => STEPS[name]?.(one) ?? []).map((event) => running.post(event)))
  }
}

/** Starts the programs of a field, and has each take what makes it warm. */
const startWarm = async (ground: Ground, field: Field): Promise<Map<Program, Running>> => {
  const running = new Map<Program, Running>()
  for (const program of ofStep(field, NO_OP)) {
    const process = await start(ground, program, { K_SINK: ground.sink })
    running.set(program, process)
    // the charm library takes one event at a time, and compiles nothing
    if (ground.peers.original.includes(program)) continue
    await warmUp(ground, process, field.stepping.includes(program) ? Object.keys(STEPS) : [NO_OP])
  }
  return running
}

type Measured = { readonly step: string; readonly program: Program; readonly rounds: readonly Round[] }

/** Has the programs take a step of their applications in turn, those of a round in a row; readers read about those of the first one. */
const measureStep = async (
  ground: Ground,
  programs: readonly { program: Program; running: Running; applications: readonly (readonly Application[])[] }[],
  [name, event]: readonly [string, (of: Application) => Sent],
): Promise<Measured[]> => {
  const measured = programs.map((one) => ({ ...one, step: name, rounds: [] as Round[] }))
  for (const round of programs[0]?.applications.keys() ?? [])
    for (const { running, applications, rounds } of measured)
      rounds.push(await step(ground, running, ...(applications[round] ?? []).map(event)))
  return measured
}

/** Each application joins, hears nothing new, changes, and leaves. */
export const steps = async (ground: Ground, rounds: number): Promise<Table> => {
  const { floor, client, original } = ground.peers
  const field = { stepping: [...ground.bundles, ...original], reading: [floor, client] }
  const running = await startWarm(ground, field)
  const applications = new Map<Program, Application[][]>()
  for (const program of field.stepping) {
    const ofRounds: Application[][] = []
    for (let round = 0; round < rounds; round += 1) ofRounds.push(await seeded(ground, IN_A_ROW))
    applications.set(program, ofRounds)
  }
  const [made = []] = applications.values()
  const all: Measured[] = []
  for (const one of Object.entries(STEPS)) {
    const programs = ofStep(field, one[0]).flatMap((program) => {
      const process = running.get(program)
      return process ? [{ program, running: process, applications: applications.get(program) ?? made }] : []
    })
    all.push(...(await measureStep(ground, programs, one)))
    await sleep(APART_MILLISECONDS)
  }
  for (const process of running.values()) await process.stop()
  return tableOf(ground, all, rounds)
}

const tableOf = ({ bundles, peers }: Ground, all: readonly Measured[], rounds: number): Table => {
  const cpuOf = (step: string) => {
    const own = all.find((one) => one.step === step && one.program === bundles[0])
    return figureOf(own?.rounds.map(({ cpu }) => cpu) ?? [])
  }
  return {
    title: 'Steps of a process that is warm',
    note: [
      `${rounds} interleaved rounds of ${IN_A_ROW} applications each, in processes that have had ${WARMING} others before.`,
      ...(peers.original.length > 0 ? [] : [NO_ORIGINAL]),
    ].join(' '),
    rows: all.map(({ step, program, rounds: measured }) => {
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
