import { execFile, spawnSync } from 'node:child_process'
import { promisify } from 'node:util'
import { beforeAll, expect, test } from 'vitest'
import { COMMAND, ensurePrograms, serveExample } from './helpers.ts'

beforeAll(ensurePrograms)

const run = promisify(execFile)
const FIRST = 'examples/kind/first.yaml'
const hasKubectl = spawnSync('kubectl', ['version', '--client']).status === 0
const hasShellcheck = spawnSync('shellcheck', ['--version']).status === 0

test.skipIf(!hasKubectl)(
  'the first documents have the effect that their page says (skipped without kubectl)',
  async () => {
    const server = await serveExample({})
    const { url } = await server.logged('embedded Kubernetes API')
    const kubectl = (...args: string[]) => run('kubectl', ['--server', String(url), ...args])
    await kubectl('create', 'namespace', 'meshstep')
    await kubectl('apply', '--filename', FIRST)
    const meshstep = (...args: string[]) =>
      run(process.execPath, [COMMAND, '--server', server.url, '-n', 'meshstep', ...args]).then(
        ({ stdout }) => ({ code: 0, stdout }),
        ({ code, stdout }: { code: number; stdout: string }) => ({ code, stdout }),
      )
    expect(await meshstep('wait', 'api', 'web', '--for', 'ready', '--timeout', '1m')).toMatchObject({ code: 0 })
    expect(await meshstep('explain', 'web', 'api', '--port', '80', '--method', 'GET')).toMatchObject({ code: 0 })
    expect(await meshstep('explain', 'web', 'api', '--port', '80', '--method', 'POST')).toMatchObject({ code: 2 })
  },
)

test.skipIf(!hasShellcheck)(
  'the script for kind has nothing that shellcheck names (skipped without shellcheck)',
  async () => {
    expect((await run('shellcheck', ['examples/kind/up.sh'])).stdout).toBe('')
  },
)
