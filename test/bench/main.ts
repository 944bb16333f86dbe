import { loadavg } from 'node:os'
import { parseArgs } from 'node:util'
import { cold } from './cold.ts'
import { markdown, type Table } from './figures.ts'
import { createGround, type Ground } from './ground.ts'
import { growth } from './growth.ts'
import { steps } from './steps.ts'

const { values } = parseArgs({
  options: {
    json: { type: 'boolean' },
    cold: { type: 'boolean' },
    steps: { type: 'boolean' },
    growth: { type: 'boolean' },
    rounds: { type: 'string', default: '21' },
    /** Another bundle to compare with, as `name=dist/server.mjs`. */
    with: { type: 'string', multiple: true, default: [] },
  },
})

const isAll = !values.cold && !values.steps && !values.growth
const rounds = Number(values.rounds)
const others = Object.fromEntries(values.with.map((one) => one.split('=', 2)))

const measure = async (ground: Ground): Promise<Table[]> => {
  const tables: Table[] = []
  if (isAll || values.cold) tables.push(await cold(ground, rounds))
  if (isAll || values.steps) tables.push(await steps(ground, rounds))
  if (isAll || values.growth) tables.push((await growth(ground)).table)
  return tables
}

const load = () =>
  loadavg()
    .map((one) => one.toFixed(1))
    .join(' ')

for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => process.exit(1))
const ground = await createGround(others)
const before = load()
const tables = await measure(ground).finally(() => ground.close())
const about = `Node ${process.version}, load ${before} before and ${load()} after.`
process.stdout.write(
  values.json
    ? `${JSON.stringify({ about, tables }, null, 2)}\n`
    : `${[about, '', ...tables.map(markdown)].join('\n')}\n`,
)
