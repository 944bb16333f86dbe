import { globSync, readFileSync } from 'node:fs'
import { Session } from 'node:inspector/promises'
import { relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { RelationEntry } from '../../src/core/state/relation.ts'
import { commonState } from '../../src/core/state/state.ts'
import { features } from '../../src/features.ts'
import { createWorld, NAMESPACE, service, workload } from '../helpers/world.ts'
import type { Table } from './figures.ts'

/** A function of the sources that ran, and how often. */
export type Ran = { readonly file: string; readonly name: string; readonly calls: number }

const ROOT = fileURLToPath(new URL('../../', import.meta.url))

const isMeasured = (file: string): boolean =>
  (file.startsWith('src/') || file.startsWith('functions/')) && !file.startsWith('src/embedded/')

/**
 * Runs work, and lists the functions of the sources that it calls, by V8's precise coverage (the Profiler of the Chrome DevTools protocol). What ran before, as at
 * the start, does not count, and the embedded API never does.
 */
export const tracePath = async (work: () => Promise<unknown>): Promise<Ran[]> => {
  const session = new Session()
  session.connect()
  try {
    await session.post('Profiler.enable')
    await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false })
    // forgets the calls until now
    await session.post('Profiler.takePreciseCoverage')
    await work()
    const { result } = await session.post('Profiler.takePreciseCoverage')
    return result.flatMap(({ url, functions }) => {
      const file = url.startsWith('file:') ? relative(ROOT, fileURLToPath(url)) : ''
      if (!isMeasured(file)) return []
      return functions.flatMap(({ functionName, ranges }) => {
        const calls = ranges[0]?.count ?? 0
        return calls === 0 ? [] : [{ file, name: functionName, calls }]
      })
    })
  } finally {
    session.disconnect()
  }
}

/** An application that asks for a policy, and its beacon; nothing is related yet. */
const createShop = async () => {
  const both = ['beacon', 'details'].flatMap((name) => [workload('StatefulSet', name), service(name)])
  const world = createWorld(both, { isOwnSink: true })
  const relate = (application: string, id: number, endpoint: string, role: string, remote: string) =>
    world.send('relation-changed', {
      namespace: NAMESPACE,
      application,
      relation: { id, endpoint, interface: endpoint === 'service-mesh' ? 'service_mesh' : 'http', role },
      remote: { application: remote, data: {} },
    })
  const configure = (application: string, config: object) =>
    world.send('config-changed', { namespace: NAMESPACE, application, config })
  await configure('beacon', { mesh: { units: 1 } })
  await configure('details', { policies: [{ type: 'app', relation: 'web', endpoints: [{ ports: [80] }] }] })
  await relate('details', 3, 'web', 'provides', 'productpage')
  return { world, join: () => relate('details', 1, 'service-mesh', 'requires', 'beacon') }
}

const roomOf = (file: string): string => file.split('/').slice(0, 2).join('/')

/** What one `relation-changed`, with all that follows from it at the beacon, runs: by room of the code, and the calls of the Kubernetes API. */
const pathTable = async (): Promise<Table> => {
  const { world, join } = await createShop()
  world.calls.length = 0
  const ran = await tracePath(join)
  const rooms = Map.groupBy(ran, ({ file }) => (file.startsWith('functions/') ? 'functions' : roomOf(file)))
  const row = (room: string, all: readonly Ran[]) => ({
    room,
    files: new Set(all.map(({ file }) => file)).size,
    functions: all.length,
    calls: all.reduce((sum, { calls }) => sum + calls, 0),
  })
  const rows = [...rooms].map(([room, all]) => row(room, all)).toSorted((one, other) => other.functions - one.functions)
  const writes = world.calls.filter((call) => !call.startsWith('GET ')).length
  return {
    title: 'The path of one event',
    note:
      `A consumer is told of its relation with a beacon, and joins the mesh: functions of the TypeScript sources, without the embedded API. ` +
      `The Kubernetes API is called ${world.calls.length} times, ${writes} of them writes.`,
    rows: [row('all', ran), ...rows],
  }
}

/** The rooms that decide and carry out a step, whatever a feature desires. */

const linesOf = (...patterns: readonly string[]): number =>
  globSync([...patterns], { cwd: ROOT }).reduce(
    (sum, file) => sum + readFileSync(`${ROOT}${file}`, 'utf8').split('\n').length - 1,
    0,
  )

/** How much there is to know: of the state, and of the code. */
const sizeTable = (): Table => ({
  title: 'The size of the core',
  note: 'It is all that is in src/core.',
  rows: [
    { what: 'fields of an entry of a relation', number: Object.keys(RelationEntry.shape).length },
    { what: 'parts of a state that belong to no feature', number: Object.keys(commonState(features.config)).length },
    { what: 'lines of the core', number: linesOf('src/core/**/*.ts') },
    { what: 'lines of src and functions', number: linesOf('src/**/*.ts', 'functions/**/*.ts') },
    { what: 'folders beside each other in src', number: new Set(globSync('src/*/', { cwd: ROOT })).size },
  ],
})

/** Measures how much code one event runs, and how much there is: less is easier to change. */
export const path = async (): Promise<readonly Table[]> => [await pathTable(), sizeTable()]
