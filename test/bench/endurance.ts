import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { meshRelation, service, workload } from '../helpers/world.ts'
import { figureOf, type Table } from './figures.ts'
import { type Ground, type Running, type Sent, start } from './ground.ts'

const SENDERS = 20

/** How much of its memory V8 takes, as the image has it for a pod of 256 MiB. */
const LIMITS = ['--max-old-space-size=115', '--max-semi-space-size=8']

const MEGABYTE = 1024 * 1024

/**
 * Ten events of one application, from its join to its leave. Its relation has the same id each time: those that ended are remembered for a
 * day where the other side has no memory, as the beacon here, and nobody has thousands of them.
 */
const lifeOf = (application: string, life: number): readonly Sent[] => {
  const subject = { namespace: 'shop', application }
  const joined: Sent = {
    type: 'relation-changed',
    id: `join ${life}`,
    data: { ...subject, ...meshRelation({ 'istio.io/dataplane-mode': 'ambient' }) },
  }
  const changed: Sent = {
    type: 'relation-changed',
    data: { ...subject, ...meshRelation({ 'istio.io/dataplane-mode': 'ambient', 'istio.io/use-waypoint': 'on' }) },
  }
  const restarted = (unit: number): Sent => ({
    type: 'pod-restarted',
    data: { ...subject, pod: { name: `${application}-${unit}`, uid: `${life}-${unit}` } },
  })
  const left: Sent = { type: 'relation-broken', data: { ...subject, relation: { id: 7 } } }
  return [joined, joined, joined, restarted(0), restarted(1), changed, joined, restarted(0), restarted(1), left]
}

/** Sends so many events, and calls back with how long each took. */
const sendAll = async (running: Running, events: number, add: (milliseconds: number) => void): Promise<void> => {
  const lives = Array.from({ length: events / 10 }, () => ++serial)
  const send = async (_: unknown, sender: number) => {
    for (let life = lives.shift(); life; life = lives.shift())
      for (const event of lifeOf(`app-${sender}`, life)) {
        const began = performance.now()
        const { status, body } = await running.post(event)
        if (status !== 200) throw new Error(`${event.type} was answered ${status}: ${body}`)
        add(performance.now() - began)
      }
  }
  await Promise.all(Array.from({ length: SENDERS }, send))
}

let serial = 0

/** What is in use of V8's heap, from a report of the process itself: https://nodejs.org/api/report.html */
const heapOf = async (running: Running, report: string): Promise<number> => {
  await rm(report, { force: true })
  running.signal('SIGUSR2')
  for (;;) {
    await sleep(50)
    try {
      return JSON.parse(await readFile(report, 'utf8')).javascriptHeap.usedMemory / MEGABYTE
    } catch {
      // not written yet, or not to its end
    }
  }
}

/** One process that takes many events: what it holds after each tenth of them. */
export const endurance = async (ground: Ground, events: number): Promise<Table> => {
  const [program] = ground.snapshots
  if (!program) throw new Error('expected a snapshot to start from')
  const directory = await mkdtemp(join(tmpdir(), 'meshstep-bench-'))
  const reporting = ['--report-on-signal', '--report-compact', `--report-directory=${directory}`, '--report-filename=r']
  const names = Array.from({ length: SENDERS }, (_, sender) => `app-${sender}`)
  await ground.seed(names.flatMap((name) => [workload('StatefulSet', name), service(name)]))
  const environment = { K_SINK: ground.sink, NODE_OPTIONS: [...LIMITS, ...reporting].join(' ') }
  const running = await start(ground, program, environment)
  const rows: Table['rows'][number][] = []
  for (let sent = 0; sent <= events; sent += events / 10) {
    const times: number[] = []
    await ground.counts()
    const before = await running.cpu()
    if (sent > 0) await sendAll(running, events / 10, (time) => void times.push(time))
    const cpu = (await running.cpu()) - before
    const { calls, bytes } = await ground.counts()
    const each = (total: number) => (sent > 0 ? (total / times.length).toFixed(1) : '')
    const { all, sockets } = await running.descriptors()
    rows.push({
      events: sent,
      'RSS MB': (await running.rss()).toFixed(0),
      'heap MB': (await heapOf(running, join(directory, 'r'))).toFixed(0),
      descriptors: all,
      'of them sockets': sockets,
      'ms each': sent > 0 ? figureOf(times) : '',
      'CPU ms each': each(cpu),
      'calls each': each(calls),
      'kB each': each(bytes / 1024),
    })
    process.stderr.write(`${sent} events\n`)
  }
  await running.stop()
  await rm(directory, { recursive: true })
  const how = `${SENDERS} senders, each with an application that joins, hears nothing new, restarts, changes and leaves`
  return {
    title: `Endurance: one process that takes ${events} events`,
    note: `From a snapshot, with the image's bounds for a pod of 256 MiB. ${how}.`,
    rows,
  }
}
