import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { parse } from 'yaml'
import { createExecutable, PLATFORMS } from '../../tools/release/executable.ts'
import { krewManifest } from '../../tools/release/krew.ts'
import { objection } from './fresh-folder.ts'
import { serveExample } from './helpers.ts'

const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'))
const folder = mkdtempSync(join(tmpdir(), 'meshstep-alone-'))
afterAll(() => rmSync(folder, { recursive: true }))

const here = PLATFORMS.find(({ platform }) => platform === `${process.platform}-${process.arch}`)
/** The executable, or a text that says why there is none here. */
const made = here
  ? await createExecutable(here.platform).catch((error: unknown) => {
      const found = objection(error)
      if (found === undefined) throw error
      return `npm brings no packages here: ${found}`
    })
  : 'it is made for Linux on x64 and arm64'
const because = typeof made === 'string' ? `: skipped, ${made}` : ''
if (typeof made !== 'string') writeFileSync(join(folder, 'meshstep'), made.meshstep ?? '', { mode: 0o755 })

const run = (program: string, ...words: string[]) => {
  const { status, stdout, stderr } = spawnSync(join(folder, program), words, {
    ...{ cwd: folder, env: { PATH: '' }, encoding: 'utf8' },
  })
  return { status, stdout, stderr }
}

test.skipIf(because !== '')(`the executable runs where nothing else is${because}`, async () => {
  expect(run('meshstep', '--help')).toMatchObject({ status: 0, stdout: expect.stringMatching(/^Usage: meshstep /) })
  expect(run('meshstep', 'version', '--client')).toEqual({ status: 0, stdout: `client ${version}\n`, stderr: '' })
  expect(run('meshstep', 'nonsense')).toMatchObject({ status: 1, stdout: '' })
  const { url } = await serveExample()
  const ask = (...words: string[]) => run('meshstep', '--server', url, '-n', 'bookinfo', ...words)
  expect(ask('relate', 'details:details', 'productpage')).toMatchObject({ status: 0 })
  // the layout is made by a library that is inside
  expect(ask('map', '-o', 'svg').stdout).toMatch(/^<svg .*>productpage</s)
})

test.skipIf(because !== '')(`the executable is kubectl's plugin, and completes it, by its name${because}`, () => {
  for (const name of ['kubectl-meshstep', 'kubectl_complete-meshstep']) symlinkSync('meshstep', join(folder, name))
  expect(run('kubectl-meshstep', 'get', 'apps').stderr).toMatch(/kube/i)
  expect(run('kubectl_complete-meshstep', 'li').stdout).toBe('lint\n:4\n')
})

test('krew takes the executable on Linux, and the npm package on macOS', () => {
  const bytes = new Uint8Array()
  const executables = PLATFORMS.map(({ arch, platform }) => ({ arch, file: `${platform}.tgz`, bytes }))
  const about = { version, description: '', downloads: 'https://files.test', file: 'npm.tgz', bytes }
  const { spec } = parse(krewManifest({ ...about, executables }))
  expect(spec.caveats).toMatch(/^On macOS it needs Node/)
  expect(spec.platforms).toMatchObject([
    {
      selector: { matchLabels: { os: 'linux', arch: 'amd64' } },
      uri: 'https://files.test/linux-x64.tgz',
      bin: 'meshstep',
    },
    {
      selector: { matchLabels: { os: 'linux', arch: 'arm64' } },
      uri: 'https://files.test/linux-arm64.tgz',
      bin: 'meshstep',
    },
    {
      selector: { matchExpressions: [{ key: 'os', values: ['darwin'] }] },
      uri: 'https://files.test/npm.tgz',
      bin: 'meshstep.mjs',
    },
  ])
})
