import { mkdir, writeFile } from 'node:fs/promises'
import { loadavg } from 'node:os'
import { parseArgs } from 'node:util'
import { cold } from './cold.ts'
import { demo } from './demo.ts'
import { endurance } from './endurance.ts'
import { markdown, type Table } from './figures.ts'
import { createGround, type Ground } from './ground.ts'
import { type Growth, growth } from './growth.ts'
import { page } from './page.ts'
import { path } from './path.ts'
import { plan } from './plan.ts'
import { plot } from './plot.ts'
import { simulation } from './simulate.ts'
import { steps } from './steps.ts'

const { values } = parseArgs({
  options: {
    json: { type: 'boolean' },
    cold: { type: 'boolean' },
    steps: { type: 'boolean' },
    growth: { type: 'boolean' },
    simulate: { type: 'boolean' },
    page: { type: 'boolean' },
    plan: { type: 'boolean' },
    path: { type: 'boolean' },
    demo: { type: 'boolean' },
    /** A hundred thousand events take a quarter of an hour. */
    endurance: { type: 'boolean' },
    events: { type: 'string', default: '100000' },
    /** A folder to write plots to. */
    plots: { type: 'string' },
    rounds: { type: 'string', default: '21' },
    /** Another bundle to compare with, as `name=dist/server.cjs`. */
    with: { type: 'string', multiple: true, default: [] },
    /** The Python that has the charm library, if any has. */
    python: { type: 'string', default: 'python3' },
  },
})

const rounds = Number(values.rounds)
const others = Object.fromEntries(values.with.map((one) => one.split('=', 2)))

type Section = 'cold' | 'steps' | 'growth' | 'simulate' | 'page' | 'plan' | 'path' | 'demo' | 'endurance'

const MEASURE: Readonly<Record<Section, (ground: Ground) => Promise<readonly Table[]>>> = {
  cold: (ground) => cold(ground, rounds),
  steps: async (ground) => [await steps(ground, rounds)],
  growth: async (ground) => {
    const grown = await growth(ground)
    if (values.plots !== undefined) await draw(values.plots, grown)
    return [grown.table]
  },
  simulate: async () => [simulation(COSTS)],
  page: async () => [await page(Math.min(rounds, MOST_LOOKS))].filter((one) => one !== undefined),
  plan: async () => [await plan(rounds)],
  path: async () => await path(),
  demo: async () => [await demo()],
  endurance: async (ground) => [await endurance(ground, Number(values.events))],
}

const SECTIONS = Object.keys(MEASURE) as Section[]

/** Of these the first takes a quarter of an hour, and the other needs kubectl. */
const BY_NAME_ONLY: readonly Section[] = ['endurance', 'demo']

/** The sections that are asked for; without any, all but those that are asked for by name only. */
const chosen = (): readonly Section[] => {
  const named = SECTIONS.filter((section) => values[section])
  return named.length > 0 ? named : SECTIONS.filter((section) => !BY_NAME_ONLY.includes(section))
}

const measure = async (ground: Ground): Promise<Table[]> => {
  const tables: Table[] = []
  for (const section of chosen()) tables.push(...(await MEASURE[section](ground)))
  return tables
}

/** Each takes seconds. */
const MOST_LOOKS = 5

/**
 * A change of an application within two seconds of another, in a process that is not warm yet: twice what the table of steps has, and the wait for
 * what restarts its pods as well. A pod of an image that is on its node is there in about two seconds.
 */
const COSTS = { cpu: 12, wait: 155, calls: 9, writes: 4, start: 2_000 }

const draw = async (folder: string, { points }: Growth): Promise<void> => {
  await mkdir(folder, { recursive: true })
  const own = points.filter(({ program }) => program === 'meshstep')
  const lines = [...Map.groupBy(own, ({ what }) => what)].map(([name, all]) => ({
    name,
    points: all.map(({ size, cpu }) => [size, cpu] as const),
  }))
  const axes = { x: 'how many', y: 'CPU ms' }
  await writeFile(`${folder}/growth.svg`, plot('How cost grows', axes, lines))
}

const load = () =>
  loadavg()
    .map((one) => one.toFixed(1))
    .join(' ')

for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => process.exit(1))
const ground = await createGround(others, values.python)
const before = load()
const tables = await measure(ground).finally(() => ground.close())
const about = `Node ${process.version}, load ${before} before and ${load()} after.`
process.stdout.write(
  values.json
    ? `${JSON.stringify({ about, tables }, null, 2)}\n`
    : `${[about, '', ...tables.map(markdown)].join('\n')}\n`,
)
