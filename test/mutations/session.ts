import { readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { createVitest, type TestSpecification } from 'vitest/node'
import { QUICK } from '../../vitest.config.ts'
import type { Reaching } from './sample.ts'

/** The end of a run of test files; `late` is one that would not end, and was stopped. */
export type End = 'passed' | 'failed' | 'late'

/** The named histories of two sides, which are slow for a quick test. */
export const HISTORIES = 'test/schedules/named.test.ts'

const EXCLUDED = QUICK.exclude.map((glob) => (glob === 'test/schedules/**' ? 'test/schedules/schedules.test.ts' : glob))

/** Keeps the order that is asked for. */
class InOrder {
  shard(files: TestSpecification[]) {
    return files
  }
  sort(files: TestSpecification[]) {
    return files
  }
}

/** A run that takes longer than this, in milliseconds, would not end. */
const LONGEST = 240_000

const PID = join(tmpdir(), `mutations-${process.pid}.pid`)
const REACHED = join(tmpdir(), `mutations-${process.pid}.jsonl`)

type Reached = { readonly file: string; readonly reached: readonly number[]; readonly loading: readonly number[] }

/** Runs the quick tests and the named histories in one worker at a time, with the given texts in place of sources; nothing changes on disk. */
export const startSession = async (texts: ReadonlyMap<string, string>) => {
  const transform = (_: string, id: string) => texts.get(relative(process.cwd(), id))
  const setupFiles = ['test/helpers/seed.ts', 'test/mutations/setup.ts']
  const vitest = await createVitest(
    {
      ...QUICK,
      exclude: EXCLUDED,
      ...{ config: false, watch: false, fsModuleCache: false, maxWorkers: 1, bail: 1 },
      ...{ setupFiles, reporters: [{}], sequence: { sequencer: InOrder }, testTimeout: 60_000, hookTimeout: 60_000 },
    },
    { plugins: [{ name: 'mutants', enforce: 'pre', transform }] },
  )
  const runFiles = async (specifications: TestSpecification[]) => {
    vitest.state.filesMap.clear()
    const { testModules, unhandledErrors } = await vitest.runTestSpecifications(specifications)
    const failed = testModules.find((module) => module.state() === 'failed')
    return { testModules, failure: failed?.relativeModuleId ?? unhandledErrors[0] }
  }

  /** Runs all files without a mutant; answers with the files that reach each mutant. */
  const reach = async (): Promise<ReadonlyMap<number, readonly Reaching[]>> => {
    process.env.MUTANTS_REACHED = REACHED
    const { testModules, failure } = await runFiles(await vitest.globTestSpecifications())
    delete process.env.MUTANTS_REACHED
    if (failure !== undefined) throw new Error(`Without a mutant the tests fail: ${failure}. Correct them first.`)
    const lines: readonly Reached[] = readFileSync(REACHED, 'utf8')
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line))
    rmSync(REACHED)
    const all = testModules.map(({ relativeModuleId: file }) => {
      const own = lines.find((line) => relative(process.cwd(), line.file) === file)
      return { file, ids: new Set(own?.reached), reached: own?.reached.length ?? 0 }
    })
    const loading = new Set(lines.flatMap((line) => line.loading))
    const ids = new Set([...loading, ...lines.flatMap((line) => line.reached)])
    return new Map([...ids].map((id) => [id, loading.has(id) ? all : all.filter((one) => one.ids.has(id))]))
  }

  /** Runs files in their order until one fails, with one mutant in force. */
  const tryMutant = async (id: number, files: readonly string[]): Promise<End> => {
    Object.assign(process.env, { MUTANT: String(id), MUTANT_PID: PID })
    const stopped = AbortSignal.timeout(LONGEST)
    stopped.onabort = () => process.kill(Number(readFileSync(PID, 'utf8')), 'SIGKILL')
    const { failure } = await runFiles(
      files.map((file) => vitest.getRootProject().createSpecification(join(process.cwd(), file))),
    )
    const end = stopped.aborted ? 'late' : failure === undefined ? 'passed' : 'failed'
    stopped.onabort = null
    return end
  }

  const close = async (): Promise<void> => {
    await vitest.close()
    rmSync(PID, { force: true })
  }

  return { reach, tryMutant, close }
}
