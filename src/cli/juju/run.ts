import { execFile } from 'node:child_process'
import { Failure } from '../failure.ts'

/** Runs `juju` with these arguments, and resolves with what it prints. Rejects with Failure if it prints an error, or does not end in time. */
export type RunJuju = (args: readonly string[]) => Promise<string>

/** The limit of an output. A model with thousands of units prints less. */
const MOST_BYTES = 256 * 1024 * 1024

/** Creates a runner of the program, without a shell and without a terminal: nobody is asked for a password, and no browser opens. */
export const createRun =
  ({ program, timeoutMilliseconds }: { program: string; timeoutMilliseconds: number }): RunJuju =>
  (args) =>
    new Promise((resolve, reject) => {
      const [command = '', ...others] = args
      const options = { timeout: timeoutMilliseconds, killSignal: 'SIGKILL', maxBuffer: MOST_BYTES } as const
      const child = execFile(
        program,
        [command, '--no-browser-login', ...others],
        { ...options, encoding: 'utf8' },
        (error, stdout, stderr) => {
          const problem = error ? reasonOf(error, stderr, timeoutMilliseconds) : errorIn(stderr)
          if (problem === undefined) resolve(stdout)
          else reject(new Failure(`${program} ${args.join(' ')}: ${problem}`))
        },
      )
      child.stdin?.end()
    })

type ExecError = Error & { code?: string | number | null; killed?: boolean }

const reasonOf = ({ code, killed, message }: ExecError, stderr: string, timeoutMilliseconds: number): string => {
  if (code === 'ENOENT')
    return 'there is no such program: install it (snap install juju), or name it with --juju, by its path'
  if (code === 'ERR_CHILD_PROCESS_STDIO_MAXBUFFER') return 'it prints more than can be read'
  if (killed)
    return `no answer in ${timeoutMilliseconds / 1_000} s: is the controller up? juju show-controller says so; --timeout waits longer`
  return withRemedy(stderr.trim() === '' ? message : stderr)
}

/** Remedies of errors, by Juju's words. */
const REMEDIES: readonly (readonly [RegExp, string])[] = [
  [/no controllers registered|no selected controller/i, 'log in with juju login, or name its data with JUJU_DATA'],
  [/model .*not found|no selected model|no model/i, 'juju models lists the models; name one with --model'],
  [/password|unauthorized|permission denied|not logged in|discharge/i, 'log in again with juju login'],
  [/connect|dial tcp|timed? ?out|no route/i, 'is the controller up? juju show-controller says so'],
]

const withRemedy = (said: string): string => {
  const text = said
    .trim()
    .replace(/^ERROR /, '')
    .replaceAll(/\s+/g, ' ')
  const remedy = REMEDIES.find(([pattern]) => pattern.test(text))?.[1]
  return remedy === undefined ? text : `${text} (${remedy})`
}

/** Finds an error on stderr. Juju may print a part of a status with an error, and end as if it were whole. */
const errorIn = (stderr: string): string | undefined => {
  const line = stderr.split('\n').find((one) => /^error\b|\b(cannot|could not|failed|timed out)\b/i.test(one))
  return line === undefined ? undefined : withRemedy(line)
}
