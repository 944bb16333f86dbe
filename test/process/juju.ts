import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { temporaryDirectory } from './helpers.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))

/** The folder of the example. */
export const EXAMPLE = `${ROOT}examples/juju/`

const found = spawnSync(process.env.PYTHON ?? 'python3', ['-c', 'import sys; print(sys.executable)'], {
  encoding: 'utf8',
})

export const hasPython = found.status === 0

/** The interpreter of charms, which `PYTHON` may name. */
export const PYTHON = hasPython ? found.stdout.trim() : 'python3'

const TOOLS = [
  'config-get',
  'goal-state',
  'is-leader',
  'juju-log',
  'relation-get',
  'relation-ids',
  'relation-list',
  'relation-model-get',
  'relation-set',
  'state-get',
  'state-set',
  'status-set',
]

type Databag = Record<string, string>

/** `model` is the UUID of the model of the application at the other side, where it is another one; `own` is the databag of this one. */
type Related = {
  application: string
  data: Databag
  units: Record<string, Databag>
  model?: string
  own?: Databag
}

/** One unit as Juju has it: what the hook tools answer, and what was told to them. */
export type Unit = {
  leader: boolean
  config: Record<string, unknown>
  /** The status of each unit of the application. */
  units: Record<string, string>
  /** By id, as `details:3`. */
  relations: Record<string, Related>
  state: Record<string, string>
  log: string[]
  status?: [string, string]
  /** Bytes in hexadecimal that a tool prints. */
  prints?: Record<string, string>
  /** Tools that fail, with what they say. */
  fails?: Record<string, string>
}

export type Charm = {
  /** Runs a hook, as Juju does: a relation's with the environment that it has. Its state is kept when it succeeds alone. */
  hook(name: string, relation?: string): Promise<{ code: number | null; stderr: string; unit: Unit }>
  /** Changes what Juju has. */
  change(change: (unit: Unit) => void): Promise<void>
}

type Deployed = {
  name: string
  model?: string
  config?: Record<string, unknown>
  leader?: boolean
  /** A file of another program that is run in place of the example. */
  program?: string
  /** More of the environment of its hooks. */
  environment?: Record<string, string>
}

/** The UUID of the model of each unit. */
const MODEL = '6f5d3c1e-0000-4000-8000-000000000000'

/** A unit of an application in a model, with the example charm and stand-ins for the hook tools. */
export const deploy = async ({
  name,
  model = 'bookinfo',
  config = {},
  leader = true,
  program = `${EXAMPLE}charm.py`,
  environment: more = {},
}: Deployed): Promise<Charm> => {
  const directory = await temporaryDirectory()
  const path = join(directory, 'unit.json')
  const bin = join(directory, 'bin')
  await mkdir(bin)
  const source = await readFile(`${ROOT}test/process/hook-tool.py`, 'utf8')
  for (const tool of TOOLS) await writeFile(join(bin, tool), `#!${PYTHON} -ISB\n${source}`, { mode: 0o755 })
  const read = async (): Promise<Unit> => JSON.parse(await readFile(path, 'utf8'))
  const write = (unit: Unit) => writeFile(path, JSON.stringify(unit))
  await write({ leader, config, units: { [name]: 'active' }, relations: {}, state: {}, log: [] })

  const hook: Charm['hook'] = async (named, relation) => {
    const before = await read()
    const related = relation === undefined ? undefined : before.relations[relation]
    const environment = {
      PATH: `${bin}:${process.env.PATH}`,
      JUJU_STAND_IN: path,
      PYTHONDONTWRITEBYTECODE: '1',
      JUJU_DISPATCH_PATH: `hooks/${named}`,
      JUJU_UNIT_NAME: name,
      JUJU_MODEL_NAME: model,
      JUJU_MODEL_UUID: MODEL,
      // no request may go there
      http_proxy: 'http://127.0.0.1:1',
      ...(relation !== undefined && { JUJU_RELATION_ID: relation, JUJU_RELATION: relation.split(':')[0] }),
      ...(related !== undefined && { JUJU_REMOTE_APP: related.application }),
      ...more,
    }
    const child = spawn(PYTHON, [program], { env: environment, stdio: ['ignore', 'inherit', 'pipe'] })
    let stderr = ''
    child.stderr.setEncoding('utf8').on('data', (chunk) => {
      stderr += chunk
    })
    const [code] = await once(child, 'close')
    const unit = await read()
    if (code !== 0) await write({ ...unit, state: before.state })
    return { code, stderr, unit }
  }
  const change: Charm['change'] = async (changed) => {
    const unit = await read()
    changed(unit)
    await write(unit)
  }
  return { hook, change }
}

type Side = { charm: Charm; application: string; endpoint: string }

/** Relates two charms, and runs the hooks that Juju runs at both sides. */
export const relate = async (id: number, ...sides: [Side, Side]): Promise<void> => {
  for (const [{ charm, endpoint }, { application }] of [sides, sides.toReversed() as [Side, Side]]) {
    const relation = `${endpoint}:${id}`
    await charm.change(({ relations }) => {
      relations[relation] = { application, data: {}, units: { [`${application}/0`]: {} } }
    })
    for (const event of ['created', 'changed']) await charm.hook(`${endpoint}-relation-${event}`, relation)
  }
}
