import { spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { text } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { COMPILED } from './helpers.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))

export type Entry = { readonly command: string; readonly output: string }

const textOf = (page: string): string => readFileSync(`${ROOT}${page}`, 'utf8')

/** The commands of a page's consoles, in their order, and what stands below each. A command goes on in lines that begin with `> `. */
export const transcriptOf = (page: string): Entry[] =>
  [...textOf(page).matchAll(/^```console\n(.*?)^```/gms)].flatMap(([, text = '']) =>
    text
      .split(/^\$ /m)
      .slice(1)
      .map((entry) => {
        const lines = entry.split('\n')
        const end = lines.findIndex((line, index) => index > 0 && !line.startsWith('> '))
        const command = lines.slice(0, end).map((line, index) => (index === 0 ? line : line.slice(2)))
        return { command: command.join('\n'), output: lines.slice(end).join('\n').trimEnd() }
      }),
  )

export type Ground = {
  /** The folder that all commands run in. */
  readonly folder: string
  /** The functions, and the embedded Kubernetes API. */
  readonly server: string
  readonly kubernetes: string
  /** Waits until nothing happens there any more. */
  settle(): Promise<void>
  /** A folder of commands that go before others. */
  readonly path?: string
  /** The command. */
  readonly program: string
}

/** Commands that only look; what they look at may still be on its way. */
const LOOKS = /^(npx meshstep (explain|get|expect|lint) |kubectl get )/

const PATIENCE_MILLISECONDS = 10_000

/** Runs each command in a shell, with what was exported and named before, and answers with all that it printed. */
export const replay = async (
  entries: readonly Entry[],
  { folder, server, kubernetes, settle, path, program }: Ground,
): Promise<Entry[]> => {
  const environment: Record<string, string> = {
    ...COMPILED,
    PATH: [path, process.env.PATH].filter((one) => one !== undefined).join(':'),
    HOME: folder,
    MESHSTEP_SERVER: server,
  }
  const aliases: string[] = []
  // this process goes on meanwhile: it notices the connections that a server ends, and asks no more on them
  const run = async (command: string): Promise<string> => {
    const runnable = command
      .replaceAll('examples/juju/', `${ROOT}examples/juju/`)
      .replaceAll('npx meshstep', `'${process.execPath}' '${program}'`)
      .replaceAll('http://127.0.0.1:8001', kubernetes)
    const script = ['exec 2>&1', ...aliases, runnable].join('\n')
    const { stdout } = spawn('sh', ['-c', script], {
      cwd: folder,
      env: environment,
      stdio: ['ignore', 'pipe', 'ignore'],
    })
    return (await text(stdout)).trimEnd()
  }
  const printed: Entry[] = []
  for (const { command, output } of entries) {
    const [, name, value] = /^export (\w+)=(.*)$/.exec(command) ?? []
    if (name !== undefined && value !== undefined) environment[name] = value
    else if (command.startsWith('alias ')) aliases.push(command.replaceAll('http://127.0.0.1:8001', kubernetes))
    else {
      await settle()
      let last = await run(command)
      for (
        const end = Date.now() + PATIENCE_MILLISECONDS;
        last !== output && LOOKS.test(command) && Date.now() < end;
      ) {
        await sleep(100)
        last = await run(command)
      }
      printed.push({ command, output: last })
      continue
    }
    printed.push({ command, output: '' })
  }
  return printed
}
