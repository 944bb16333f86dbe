import { globSync, readFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { parseArgs } from 'node:util'
import { type Mutant, mutantsOf, withMutants } from './mutants.ts'
import { nearestTests, sampleOf } from './sample.ts'
import { HISTORIES, startSession } from './session.ts'

const { values } = parseArgs({
  options: {
    files: { type: 'string', default: 'src/{core,mesh}/**/*.ts' },
    sample: { type: 'string', default: '300' },
    seed: { type: 'string', default: '1' },
    tests: { type: 'string', default: '40' },
  },
})

type Case = Mutant & { readonly id: number; readonly file: string }

const print = (line: string): void => void process.stdout.write(`${line}\n`)

const all = globSync(values.files)
  .toSorted()
  .flatMap((file) => mutantsOf(readFileSync(file, 'utf8')).map((mutant) => ({ ...mutant, file })))
if (all.length === 0) throw new Error(`--files ${values.files}: no file there has anything to change`)
const chosen = sampleOf(all, Number(values.sample), Number(values.seed), ({ file, change }) => `${file} ${change}`)
const cases: readonly Case[] = chosen.map((mutant, id) => ({ ...mutant, id }))
print(`${cases.length} of ${all.length} mutants`)

const texts = new Map(
  [...Map.groupBy(cases, ({ file }) => file)].map(([file, own]) => [
    file,
    withMutants(readFileSync(file, 'utf8'), own),
  ]),
)
const session = await startSession(texts)
const reaching = await session.reach()

const NOTES = { passed: '', late: '  (a test would not end, which counts)', unreached: '  (no test gets there)' }

/** Says if a test fails with the mutant, and tells of one that lives. */
const isKilled = async ({ id, file, line, change }: Case): Promise<boolean> => {
  const reached = reaching.get(id) ?? []
  const quick = reached.filter((one) => one.file !== HISTORIES)
  const tests = nearestTests(file, quick, Number(values.tests))
  // they take longest, and come last
  if (quick.length < reached.length) tests.push(HISTORIES)
  const end = tests.length === 0 ? 'unreached' : await session.tryMutant(id, tests)
  if (end !== 'failed') print(`${file}:${line}  ${change}${NOTES[end]}`)
  return end === 'failed' || end === 'late'
}

const outcomes: { readonly folder: string; readonly killed: boolean }[] = []
for (const one of cases) outcomes.push({ folder: dirname(one.file), killed: await isKilled(one) })
await session.close()

const score = (name: string, some: typeof outcomes): string => {
  const killed = some.filter((one) => one.killed).length
  return `${`${((100 * killed) / some.length).toFixed(0)} %`.padStart(5)}  ${name} (${killed} of ${some.length})`
}
print('')
for (const [folder, some] of Map.groupBy(outcomes, (one) => one.folder)) print(score(folder, some))
print(score('all', outcomes))
