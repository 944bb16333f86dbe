import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))

export type FreshFolder = {
  readonly path: string
  /** Runs a command there as a shell does, with this Node and what is installed there. */
  run(command: string, environment?: Record<string, string>): { code: number | null; output: string }
  remove(): void
}

const npm = (folder: string, ...words: string[]): string => {
  const { status, stdout, stderr } = spawnSync('npm', ['--silent', '--no-audit', '--no-fund', ...words], {
    cwd: folder,
    encoding: 'utf8',
    env: { ...process.env, npm_config_loglevel: 'error' },
  })
  if (status !== 0) throw new Error(`npm ${words.join(' ')}: ${stderr}`)
  return stdout.trim()
}

/** Why npm can bring no packages, and nothing is tested; undefined where it can. */
export const objection = (error: unknown): string | undefined =>
  /E(NOTCACHED|NOTFOUND|AI_AGAIN|CONNREFUSED|TIMEDOUT|CONNRESET|403|404|HOSTUNREACH)/.exec(String(error))?.[0]

/** Packs this package as for publishing, and answers with the path of the tarball. */
export const pack = (folder: string): string => join(folder, npm(ROOT, 'pack', '--pack-destination', folder))

/** A folder into which the package was installed from its tarball; a text, where npm has no registry and no cache, that says so. */
export const installFresh = (more: readonly string[] = []): FreshFolder | string => {
  const path = mkdtempSync(join(tmpdir(), 'meshstep-fresh-'))
  const remove = () => rmSync(path, { recursive: true, force: true })
  try {
    npm(path, 'install', '--prefer-offline', pack(path), ...more)
  } catch (error) {
    remove()
    const found = objection(error)
    if (found === undefined) throw error
    return `npm can install nothing here (${found}): the package was not tested from its tarball`
  }
  const bin = [join(path, 'node_modules/.bin'), dirname(process.execPath), process.env.PATH].join(':')
  return {
    path,
    run: (command, environment = {}) => {
      const { status, stdout } = spawnSync('sh', ['-c', `exec 2>&1; ${command}`], {
        cwd: path,
        encoding: 'utf8',
        env: { PATH: bin, HOME: path, npm_config_loglevel: 'error', ...environment },
      })
      return { code: status, output: stdout.trimEnd() }
    },
    remove,
  }
}
