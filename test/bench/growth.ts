import { fork } from 'node:child_process'
import { once } from 'node:events'
import { wire } from '../helpers/beacon-world.ts'
import { PART_OF } from '../helpers/cluster.ts'
import { service, workload } from '../helpers/world.ts'
import { figureOf, type Table } from './figures.ts'
import { type Ground, here, type Program, type Running, type Sent, start } from './ground.ts'
import { step } from './steps.ts'

type Point = {
  readonly what: string
  readonly size: number
  readonly program: string
  readonly wall: number
  readonly cpu: number
  readonly calls: number
  readonly writes: number
  readonly memories: number
  /** The longest that liveness was not answered meanwhile. */
  readonly blocked?: number
}

export type Growth = { readonly table: Table; readonly points: readonly Point[] }

let serial = 0

/** A name that no other measurement has. */
const fresh = (prefix: string): string => `${prefix}-${++serial}`

const changed = (application: string, config: Record<string, unknown>): Sent => ({
  type: 'config-changed',
  data: { namespace: 'shop', application, config },
})

const told = (application: string, relation: Record<string, unknown>, remote: string, data = {}): Sent => ({
  type: 'relation-changed',
  data: { namespace: 'shop', application, relation, remote: { application: remote, data } },
})

const related = (application: string, id: number): Sent =>
  told(application, { id, endpoint: 'web', interface: 'http', role: 'provides' }, `remote-${id}`)

/** A namespace of its own: a first step reads all memories that are there. */
const createNamespace = () => {
  const namespace = fresh('growth')
  return {
    namespace,
    of: <T extends { metadata: object }>(object: T): T => ({
      ...object,
      metadata: { ...object.metadata, namespace },
    }),
    to: (event: Sent): Sent => ({ ...event, data: { ...event.data, namespace } }),
  }
}

/** Asks for liveness until it is stopped; the longest that it was waited for. */
const watchLiveness = async ({ port }: Running): Promise<() => Promise<number>> => {
  const watching = fork(here('liveness.ts'), [String(port)])
  await once(watching, 'message')
  return async () => {
    watching.send('over')
    return (await once(watching, 'message'))[0] as number
  }
}

/** Sends events, so many at a time, each until it is taken. */
const burst = async (ground: Ground, running: Running, events: readonly Sent[], atOnce: number) => {
  const stop = await watchLiveness(running)
  await ground.counts()
  const before = await running.cpu()
  const began = performance.now()
  const left = [...events]
  const send = async () => {
    for (let event = left.shift(); event; event = left.shift()) {
      const { status, body } = await running.post(event)
      if (status === 429 || status === 503) left.push(event)
      else if (status !== 200) throw new Error(`${status}: ${body}`)
    }
  }
  await Promise.all(Array.from({ length: atOnce }, send))
  const wall = performance.now() - began
  const blocked = await stop()
  return { wall, cpu: (await running.cpu()) - before, blocked, ...(await ground.counts()) }
}

const REPETITIONS = 20

/** The same event again and again, in a process that is warm after some of them. */
const warm = async (ground: Ground, running: Running, event: Sent): Promise<Measured> =>
  await median(
    ground,
    running,
    Array.from({ length: REPETITIONS }, () => event),
  )

/** The median of each figure of these events. */
const median = async (ground: Ground, running: Running, all: readonly Sent[]): Promise<Measured> => {
  const rounds: Measured[] = []
  for (const event of all) rounds.push(await step(ground, running, event))
  const of = (figure: 'wall' | 'cpu' | 'calls' | 'writes' | 'memories') =>
    figureOf(rounds.map((one) => one[figure])).median
  return { wall: of('wall'), cpu: of('cpu'), calls: of('calls'), writes: of('writes'), memories: of('memories') }
}

type Scenario = (
  ground: Ground,
  program: Program,
  add: (what: string, size: number, measured: Measured) => void,
) => Promise<void>
type Measured = Omit<Point, 'what' | 'size' | 'program'>

/** A policy for some pods of `db`. */
const policyOf = (db: string, index: number, changes = {}) =>
  wire({
    target_type: 'unit',
    target_app_name: null,
    target_selector_labels: { 'app.kubernetes.io/name': db, part: String(index) },
    endpoints: [{ ports: [80] }],
    ...changes,
  })

const policies =
  (count: number): Scenario =>
  async (ground, program, add) => {
    const running = await start(ground, program, { K_SINK: ground.sink })
    const [beacon, db] = [fresh('beacon'), fresh('db')]
    await ground.seed([workload('StatefulSet', db), service(db)])
    await running.post(changed(beacon, { mesh: {} }))
    const asks = (id: string, changes?: object): Sent => {
      const all = Array.from({ length: count }, (_, index) => policyOf(db, index, index === 1 ? changes : {}))
      const relation = { id: 7, endpoint: 'service-mesh', interface: 'service_mesh', role: 'provides' }
      return { ...told(beacon, relation, db, { policies: JSON.stringify(all) }), id: `${id} ${beacon}` }
    }
    const resumed = { ...asks('first'), id: `first ${beacon}` }
    add('policies, fresh', count, await until(ground, running, resumed))
    await running.post(asks('first'))
    add('policies, unchanged', count, await step(ground, running, asks('first')))
    add('policies, unchanged, warm', count, await warm(ground, running, asks('first')))
    add('policies, one changed', count, await step(ground, running, asks('other', { source_app_name: 'other' })))
    await running.stop()
  }

const MOST_TRIES = 5

/** Sends an event again for as long as it does not end by its deadline. */
const until = async (ground: Ground, running: Running, event: Sent): Promise<Measured> => {
  await ground.counts()
  const before = await running.cpu()
  const began = performance.now()
  for (let tries = 1; ; tries += 1) {
    const { status, body } = await running.post(event)
    if (status === 200) break
    if (status < 500 || tries === MOST_TRIES) throw new Error(`${event.type} was answered ${status}: ${body}`)
  }
  const wall = performance.now() - began
  return { wall, cpu: (await running.cpu()) - before, ...(await ground.counts()) }
}

const workers =
  (count: number): Scenario =>
  async (ground, program, add) => {
    // its own sink: nothing is unchanged before each worker has heard what the coordinator says
    const running = await start(ground, program)
    const coordinator = fresh('coordinator')
    const names = Array.from({ length: count }, () => fresh('worker'))
    await ground.seed([workload('StatefulSet', coordinator), service(coordinator)])
    await ground.seed(
      names.flatMap((name) => {
        const { metadata, ...one } = workload('StatefulSet', name)
        return [{ ...one, metadata: { ...metadata, labels: { ...metadata.labels, ...PART_OF } } }, service(name)]
      }),
    )
    const config = {
      roles: ['all'],
      minimalDeployment: ['all'],
      telemetryProxy: { httpPort: 3300, httpsPort: 3301 },
      workerConfig: 'target: all\n',
    }
    await running.post(changed(coordinator, { coordinator: config }))
    for (const [index, name] of names.entries()) {
      await running.post(changed(name, { worker: { roles: ['all'] } }))
      await running.post(
        told(name, { id: index + 1, endpoint: 'cluster', interface: 'cluster', role: 'requires' }, coordinator),
      )
    }
    const event = { ...changed(coordinator, { coordinator: config }), id: `same ${coordinator}` }
    const resync = { type: 'resync', data: { namespace: 'shop', application: coordinator } }
    for (const one of [resync, resync, event]) await running.post(one)
    add('workers, unchanged', count, await step(ground, running, event))
    add('workers, unchanged, warm', count, await warm(ground, running, event))
    await running.stop()
  }

const relations =
  (count: number): Scenario =>
  async (ground, program, add) => {
    const running = await start(ground, program, { K_SINK: ground.sink })
    const [application, { of, to }] = [fresh('web'), createNamespace()]
    await ground.seed([of(workload('StatefulSet', application)), of(service(application))])
    const events = Array.from({ length: count }, (_, index) => to(related(application, index + 1)))
    add('new relations, all at once', count, await burst(ground, running, events, count))
    const again = { ...to(related(application, 1)), id: 'again' }
    await running.post(again)
    add('relations, unchanged', count, await step(ground, running, again))
    add('relations, unchanged, warm', count, await warm(ground, running, again))
    await running.stop()
  }

const events =
  (count: number): Scenario =>
  async (ground, program, add) => {
    const running = await start(ground, program, { K_SINK: ground.sink })
    const [application, { of, to }] = [fresh('web'), createNamespace()]
    await ground.seed([of(workload('StatefulSet', application)), of(service(application))])
    const all = Array.from({ length: count }, () => to(related(application, 1)))
    add('events of one application, 20 at once', count, await burst(ground, running, all, 20))
    await running.stop()
  }

const applications =
  (count: number): Scenario =>
  async (ground, program, add) => {
    const running = await start(ground, program)
    const { namespace, of } = createNamespace()
    const names = Array.from({ length: count }, (_, index) => `app-${index}`)
    await ground.seed(names.flatMap((name) => [of(workload('StatefulSet', name)), of(service(name))]))
    const configs = names.map((application) => ({
      type: 'config-changed',
      data: { namespace, application, config: { labels: { team: 'blue' } } },
    }))
    await burst(ground, running, configs, 20)
    const resync = { type: 'resync', data: { namespace } }
    await until(ground, running, resync)
    add('applications, a resync with nothing to do', count, await until(ground, running, resync))
    await running.stop()
  }

const joins =
  (count: number): Scenario =>
  async (ground, program, add) => {
    // its own sink: what follows at the beacon is a part of a join
    const running = await start(ground, program)
    const { of, to } = createNamespace()
    const names = Array.from({ length: count + REPETITIONS }, () => fresh('db'))
    await ground.seed(names.flatMap((name) => [of(workload('StatefulSet', name)), of(service(name))]))
    const config = { policies: [{ type: 'unit', relation: 'web', ports: [80] }] }
    await running.post(to(changed('beacon', { mesh: { waypoint: false } })))
    await burst(
      ground,
      running,
      names.flatMap((name) => [to(changed(name, config)), to(related(name, 1))]),
      20,
    )
    const relation = { endpoint: 'service-mesh', interface: 'service_mesh', role: 'requires' }
    const join = names.map((name, index) => to(told(name, { ...relation, id: 10 + index }, 'beacon')))
    await burst(ground, running, join.slice(0, count), 20)
    add('a join, of consumer and beacon', count, await median(ground, running, join.slice(count)))
    await running.stop()
  }

const SCENARIOS: readonly Scenario[] = [
  ...[10, 100, 1000].map(policies),
  ...[3, 30, 100].map(workers),
  ...[10, 100, 1000].map(relations),
  ...[100, 1000].map(events),
  ...[10, 100, 1000].map(applications),
  ...[10, 100].map(joins),
]

/** How cost grows with what there is. */
export const growth = async (ground: Ground): Promise<Growth> => {
  const points: Point[] = []
  for (const scenario of SCENARIOS)
    for (const program of ground.bundles)
      await scenario(ground, program, (what, size, measured) => {
        process.stderr.write(`${program.name}: ${what}, ${size}: ${Math.round(measured.wall)} ms\n`)
        points.push({ what, size, program: program.name, ...measured })
      })
  const order = ({ what }: Point) => points.findIndex((point) => point.what === what)
  const rows = points
    .toSorted((one, other) => order(one) - order(other))
    .map(({ what, size, program, wall, cpu, calls, writes, memories, blocked }) => ({
      what,
      size,
      ...(ground.bundles.length > 1 && { program }),
      ms: Math.round(wall),
      'CPU ms': Math.round(cpu),
      'CPU ms each': (cpu / size).toFixed(2),
      calls,
      writes,
      'of memories': memories,
      'liveness ms': blocked === undefined ? '' : Math.round(blocked),
    }))
  return {
    table: {
      title: 'Growth',
      note: `One run each, in a process that is new; warm: the median of ${REPETITIONS} more.`,
      rows,
    },
    points,
  }
}
