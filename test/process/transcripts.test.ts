import { spawnSync } from 'node:child_process'
import { globSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { COMMAND, serveExample, settle, temporaryDirectory } from './helpers.ts'
import { hasPython, PYTHON } from './juju.ts'
import { startOf } from './pages.ts'
import { replay, transcriptOf } from './transcripts.ts'

/** An app imports the package, so package.test.ts follows this page where that is installed. */
const OWN_APP = 'docs/how-to/your-own-app.md'

const PAGES = ['README.md', ...globSync('docs/**/*.md')].filter(
  (page) => page !== OWN_APP && transcriptOf(page).length > 0,
)

const STAND_INS = fileURLToPath(new URL('stand-ins', import.meta.url))

const hasKubectl = spawnSync('kubectl', ['version', '--client']).status === 0

const isRunnable = (page: string): boolean => hasKubectl || !readFileSync(page, 'utf8').includes('$ kubectl ')

test('the pages of commands are found', () => {
  expect(PAGES).toEqual(expect.arrayContaining(['README.md', 'docs/commands.md', 'docs/juju.md']))
  expect(PAGES.filter((page) => page.startsWith('docs/how-to/')).length).toBeGreaterThanOrEqual(5)
})

/** All but what needs a cluster. */
const FOLLOWED = [...globSync('docs/how-to/*.md'), 'docs/traffic.md', 'docs/juju.md', 'docs/policies.md'].filter(
  (page) => !['docs/how-to/install.md', 'docs/how-to/kind.md', 'docs/how-to/pipelines.md'].includes(page),
)

test.each(FOLLOWED)('%s begins with the one command that starts what it needs', (page) => {
  expect(startOf(readFileSync(page, 'utf8'))).toBeDefined()
})

test.each(PAGES.filter(isRunnable))('the commands of %s print what stands below them', async (page) => {
  const names = startOf(readFileSync(page, 'utf8')) ?? []
  const server = await serveExample({ names })
  const { url } = await server.logged('embedded Kubernetes API')
  const transcript = transcriptOf(page)
  const ground = {
    ...{ folder: await temporaryDirectory(), server: server.url, kubernetes: String(url) },
    path: STAND_INS,
    program: COMMAND,
    settle: () => settle(server),
  }
  expect(await replay(transcript, ground)).toEqual(transcript)
  await server.end('SIGTERM')
})

test.skipIf(!hasPython)('the Python of docs/juju-charm.md is the example, for 3.8 (skipped without python3)', () => {
  const blocks = [...readFileSync('docs/juju-charm.md', 'utf8').matchAll(/^```python\n(.*?)^```/gms)]
  expect(blocks).toHaveLength(1)
  expect(readFileSync('examples/juju/ops_charm.py', 'utf8')).toContain(blocks[0]?.[1])
  for (const [, code] of blocks) {
    const program = 'import ast, sys; ast.parse(sys.stdin.read(), feature_version=(3, 8))'
    expect(spawnSync(PYTHON, ['-c', program], { input: code, encoding: 'utf8' })).toMatchObject({ status: 0 })
  }
})
