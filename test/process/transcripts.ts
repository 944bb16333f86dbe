import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))

export type Entry = { readonly command: string; readonly output: string }

const textOf = (page: string): string => readFileSync(`${ROOT}${page}`, 'utf8')

/** The commands of a page's consoles, in their order, and what stands below each. */
export const transcriptOf = (page: string): Entry[] =>
  [...textOf(page).matchAll(/^```console\n(.*?)^```/gms)].flatMap(([, text = '']) =>
    text
      .split(/^\$ /m)
      .slice(1)
      .map((entry) => {
        const [command = '', ...output] = entry.split('\n')
        return { command, output: output.join('\n').trimEnd() }
      }),
  )

/** Runs each command in a shell, in one folder and with what was exported, and answers with all that it printed. */
export const replay = (
  entries: readonly Entry[],
  folder: string,
  server: string,
  program = `${ROOT}meshstep.mjs`,
): Entry[] => {
  const environment: Record<string, string> = { PATH: process.env.PATH ?? '', MESHSTEP_SERVER: server }
  return entries.map(({ command }) => {
    const [, name, value] = /^export (\w+)=(.*)$/.exec(command) ?? []
    if (name !== undefined && value !== undefined) {
      environment[name] = value
      return { command, output: '' }
    }
    const runnable = command.replaceAll('npx meshstep', `'${process.execPath}' '${program}'`)
    const { stdout } = spawnSync('sh', ['-c', `exec 2>&1; ${runnable}`], {
      cwd: folder,
      env: environment,
      encoding: 'utf8',
    })
    return { command, output: stdout.trimEnd() }
  })
}
