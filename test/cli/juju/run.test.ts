import { existsSync } from 'node:fs'
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { Failure } from '../../../src/cli/failure.ts'
import { pauseAfter, repeat } from '../../../src/cli/juju/repeat.ts'
import { createRun } from '../../../src/cli/juju/run.ts'

/** A program that a test writes, in sh. */
const program = async (script: string): Promise<string> => {
  const folder = await mkdtemp(join(tmpdir(), 'meshstep-juju-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  const path = join(folder, 'juju')
  await writeFile(path, `#!/bin/sh\n${script}\n`)
  await chmod(path, 0o755)
  return path
}

const run = async (script: string, args: readonly string[] = ['status'], timeoutMilliseconds = 60_000) =>
  await createRun({ program: await program(script), timeoutMilliseconds })(args)

test.each([
  [
    'knows no controller',
    'echo "ERROR No controllers registered.\n\nPlease either create a new controller" >&2; exit 1',
    'No controllers registered. Please either create a new controller (log in with juju login, or name its data with JUJU_DATA)',
  ],
  [
    'knows no such model',
    'echo "ERROR model mk8s:admin/nope not found" >&2; exit 1',
    'model mk8s:admin/nope not found (juju models lists the models; name one with --model)',
  ],
  [
    'is not logged in',
    'echo "ERROR invalid entity name or password (unauthorized access)" >&2; exit 1',
    'invalid entity name or password (unauthorized access) (log in again with juju login)',
  ],
  [
    'reaches no controller',
    'echo "ERROR opening API connection: unable to connect to API: dial tcp 10.0.0.9:17070: no route" >&2; exit 1',
    'is the controller up? juju show-controller says so',
  ],
  ['fails without a word', 'exit 3', 'Command failed'],
  [
    'prints a part, and an error beside it',
    'echo "{}"; echo "ERROR cannot process storage instances: not found" >&2',
    'cannot process storage instances: not found',
  ],
])('a juju that %s fails, with what to do', async (_, script, message) => {
  await expect(run(script)).rejects.toThrow(message)
  await expect(run(script)).rejects.toBeInstanceOf(Failure)
})

test('a juju that does not answer is not waited for, nor is what it has started', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'meshstep-juju-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  const ended = join(folder, 'ended')
  await expect(run(`echo "{}"; (sleep 3; touch '${ended}') & wait`, ['status'], 200)).rejects.toThrow(
    'status: no answer in 0.2 s: is the controller up? juju show-controller says so; --timeout waits longer',
  )
  expect(existsSync(ended)).toBe(false)
})

test('a juju that is not there is named', async () => {
  const away = createRun({ program: '/nowhere/juju', timeoutMilliseconds: 60_000 })
  await expect(away(['status'])).rejects.toThrow(
    '/nowhere/juju status: there is no such program: install it (snap install juju), or name it with --juju, by its path',
  )
})

test('remarks of juju on stderr are no errors', async () => {
  const script = 'echo "provided relations option is always enabled in non tabular formats" >&2; echo fine'
  expect(await run(script)).toBe('fine\n')
})

test('juju gets its arguments as they are, no shell, no browser and nothing to read', async () => {
  const printed = await run('for one in "$@"; do echo "$one"; done; cat', ['status', '--model=$(reboot); `x`'])
  expect(printed).toBe('status\n--no-browser-login\n--model=$(reboot); `x`\n')
})

test.each([
  [0, 30_000, 30_000],
  [1, 30_000, 60_000],
  [3, 30_000, 240_000],
  [10, 30_000, 600_000],
  [10, 3_600_000, 3_600_000],
])('after %i failures in a row a pause of %i ms is %i ms', (failures, every, pause) => {
  expect(pauseAfter(failures, every)).toBe(pause)
})

test('a watch goes on after failures, and its pauses are short again once a round succeeds', async () => {
  const outcomes = ['done', 'fails', 'fails', 'done', 'done']
  const pauses: number[] = []
  const round = async () => {
    if (outcomes.shift() === 'fails') throw new Failure('away')
  }
  const sleep = async (milliseconds: number) => void pauses.push(milliseconds)
  const failed: string[] = []
  const onFailure = ({ message }: Failure) => void failed.push(message)
  await repeat(round, { every: 1_000, sleep, onFailure, isOver: () => outcomes.length === 0 })
  expect(failed).toEqual(['away', 'away'])
  expect(pauses).toEqual([1_000, 2_000, 4_000, 1_000])
})

test('a watch ends with an error that is none of Juju or of the cluster', async () => {
  const round = async () => {
    throw new TypeError('a mistake')
  }
  const nothing = async () => undefined
  const repeating = repeat(round, { every: 1, sleep: nothing, onFailure: nothing, isOver: () => false })
  await expect(repeating).rejects.toThrow('a mistake')
})
