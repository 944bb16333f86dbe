import { execFile } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { freePorts } from '../features/coordinated-workers/nginx/nginx.ts'
import { shops } from '../helpers/shops.ts'
import type { Table } from './figures.ts'
import { here, type Running, start } from './ground.ts'

const SIZES = [50, 200, 500]

/** Without a step for so long, nothing happens any more. */
const QUIET_MILLISECONDS = 10_000

/** Asks for the page each second until it is stopped; the longest that it was waited for, in milliseconds. */
const watchPage = (running: Running): (() => Promise<number>) => {
  let isOver = false
  let longest = 0
  const watching = (async () => {
    for (; !isOver; await sleep(1_000)) {
      const began = performance.now()
      await running.get('/')
      longest = Math.max(longest, performance.now() - began)
    }
  })()
  return async () => {
    isOver = true
    await watching
    return longest
  }
}

type Status = { readonly status: { readonly status: string } }

const countActive = async ({ port }: Running, namespaces: ReadonlySet<string>): Promise<number> => {
  let active = 0
  for (const namespace of namespaces) {
    const answer = await fetch(`http://127.0.0.1:${port}/applications/${namespace}`)
    const found = (await answer.json()) as readonly Status[]
    active += found.filter(({ status }) => status.status === 'active').length
  }
  return active
}

/** Applies so many applications to a fresh `npm start` by one kubectl, and waits until all has happened. */
const measured = async (applications: number, folder: string): Promise<Table['rows'][number]> => {
  const objects = shops(applications)
  const file = join(folder, `${applications}.json`)
  await writeFile(file, JSON.stringify({ apiVersion: 'v1', kind: 'List', items: objects }))
  const kubernetes = await freePorts(1)
  const program = { name: 'npm start', entry: here('../../src/local.ts') }
  const running = await start({ environment: {} }, program, { EMBEDDED_PORT: String(kubernetes) })
  let [steps, latest] = [0, performance.now()]
  createInterface(running.output).on('line', (line) => {
    latest = performance.now()
    if (line.includes('"msg":"step done"')) steps += 1
  })
  await running.get('/health/readiness')
  const stopWatching = watchPage(running)
  const [began, before] = [performance.now(), await running.cpu()]
  await promisify(execFile)('kubectl', ['--server', `http://127.0.0.1:${kubernetes}`, 'apply', '-f', file], {
    maxBuffer: 2 ** 26,
  })
  while (performance.now() - latest < QUIET_MILLISECONDS) await sleep(500)
  const [cpu, seconds] = [(await running.cpu()) - before, (latest - began) / 1_000]
  const longest = await stopWatching()
  const namespaces = new Set(objects.flatMap(({ metadata }) => metadata.namespace ?? []))
  const active = await countActive(running, namespaces)
  const rss = Math.round(await running.rss())
  await running.stop()
  return {
    applications,
    objects: objects.length,
    'CPU s': (cpu / 1_000).toFixed(1),
    'CPU ms for each application': Math.round(cpu / applications),
    steps,
    's until the last step': Math.round(seconds),
    'longest wait for the page, ms': Math.round(longest),
    // a beacon in each namespace is one more
    'all are active': active === applications + namespaces.size ? 'yes' : `${active}`,
    'RSS MB': rss,
  }
}

/** What `npm start` costs with 50, 200 and 500 applications that one kubectl applies. */
export const demo = async (): Promise<Table> => {
  const folder = await mkdtemp(join(tmpdir(), 'meshstep-demo-'))
  const rows: Table['rows'][number][] = []
  for (const size of SIZES) rows.push(await measured(size, folder))
  await rm(folder, { recursive: true })
  return {
    title: '`npm start`: applications by one kubectl',
    note: 'Of 50 in a namespace each joins the mesh of its beacon, allows one client, and is the client of another. One process is the functions and their Kubernetes API.',
    rows,
  }
}
