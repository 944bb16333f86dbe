import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, expect, test } from 'vitest'
import { type FreshFolder, installFresh } from './fresh-folder.ts'
import { settle, start, until } from './helpers.ts'
import { becauseOfNode, olderNode } from './older-node.ts'
import { replay, transcriptOf } from './transcripts.ts'

const page = (name: string): string => readFileSync(new URL(`../../docs/${name}`, import.meta.url), 'utf8')
const typescript = fileURLToPath(new URL('../../node_modules/typescript/bin/tsc', import.meta.url))

// the versions of the lock file, which npm ci has put into npm's cache
const { devDependencies } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'))
const MORE = ['hono', '@hono/node-server', '@types/node'].map((name) => `${name}@${devDependencies[name]}`)

const fresh = installFresh(MORE)
const folder = typeof fresh === 'string' ? ({ path: '' } as FreshFolder) : fresh
const installed = test.skipIf(typeof fresh === 'string')
const because = typeof fresh === 'string' ? `: skipped, ${fresh}` : ''
const program = join(folder.path, 'node_modules/meshstep/meshstep.mjs')

afterAll(() => folder.remove?.())

const freePort = async (): Promise<number> => {
  const server = createServer().listen(0)
  await until('a port is free', () => server.listening)
  const address = server.address()
  server.close()
  return typeof address === 'object' && address !== null ? address.port : 0
}

installed(`the command of the package says what it can do${because}`, () => {
  const { code, output } = folder.run('npx meshstep --help')
  expect([code, output]).toEqual([0, expect.stringMatching(/^Usage: meshstep .*relate.*explain/s)])
})

installed(`the command keeps what Node compiled of it, for its next start${because}`, () => {
  const { output } = folder.run('XDG_CACHE_HOME=cache npx meshstep --help >/dev/null && ls cache/meshstep')
  expect(output).toMatch(/^v\d+\./)
})

installed(`the package is what its page says, and no more${because}`, () => {
  const { output } = folder.run(
    `node --input-type=module -e "import * as all from 'meshstep'; console.log(Object.keys(all).join())"`,
  )
  expect(output).toBe('createApp,functions')
  expect(folder.run('ls node_modules/meshstep').output.split('\n')).toEqual(
    [
      'CHANGELOG.md',
      'LICENSE',
      'README.md',
      'SECURITY.md',
      'lib',
      'kubectl-complete.mjs',
      'meshstep.mjs',
      'node24.mjs',
      'package.json',
    ].toSorted(),
  )
})

installed(`what npm installs, an app's server and types with it, has less than 40 MB${because}`, () => {
  const files = readdirSync(join(folder.path, 'node_modules'), { recursive: true, withFileTypes: true })
  const sizes = files.filter((file) => file.isFile()).map((file) => statSync(join(file.parentPath, file.name)).size)
  expect(sizes.reduce((sum, size) => sum + size, 0)).toBeLessThan(40_000_000)
})

installed(`the package names what is inside it, with its licences and sources${because}`, () => {
  const read = (file: string): string => readFileSync(join(folder.path, 'node_modules/meshstep/lib', file), 'utf8')
  const { components } = JSON.parse(read('sbom.cdx.json')) as { components: { name: string; version: string }[] }
  for (const { name, version } of components)
    expect(read('NOTICES.txt')).toMatch(
      new RegExp(`^${name} ${version} \\(.*\\)\nSource: https://github\\.com/[\\w-]+/`, 'm'),
    )
  expect(read('NOTICES.txt')).toContain(
    '(EPL-2.0)\nSource: https://github.com/kieler/elkjs, https://github.com/eclipse-elk/elk\n',
  )
  expect(components.map(({ name }) => name)).toEqual(expect.arrayContaining(['@kubernetes/client-node', 'cytoscape']))
})

test.skipIf(typeof fresh === 'string' || !olderNode)(
  `an older node is told what the package needs${because || becauseOfNode}`,
  () => {
    expect(folder.run(`${olderNode} node_modules/meshstep/meshstep.mjs --help`)).toEqual({
      code: 1,
      output: expect.stringMatching(
        /^meshstep needs Node 22.18 or later, this is v[\d.]+: install it, or the package node-\S+@24 beside meshstep\.$/,
      ),
    })
    const { output } = folder.run(`${olderNode} --input-type=module -e "import 'meshstep'"`)
    expect(output).toMatch(/^Error: meshstep needs Node 22.18 or later, this is v\d+/m)
  },
)

const OWN_APP = 'how-to/your-own-app.md'

const blocksOf = (language: string): string[] =>
  [...page(OWN_APP).matchAll(new RegExp(`^\`\`\`${language}\\n(.*?)^\`\`\``, 'gms'))].map(([, block = '']) => block)

installed(
  `the page of an app of your own can be followed to its end: strict types, an event into the example, and the end${because}`,
  { timeout: 120_000 },
  async () => {
    const [code = '', typed = ''] = blocksOf('ts')
    const [begin, prepare = '', run = ''] = blocksOf('sh')
    expect(begin).toBe('npx meshstep start\n')
    const packages = [...prepare.matchAll(/^npm install (?:--save-dev )?(.*)$/gm)].flatMap(([, names = '']) =>
      names.split(' '),
    )
    expect(packages.toSorted()).toEqual(MORE.map((name) => name.replace(/@[^@]*$/, '')).toSorted())
    for (const [command] of prepare.matchAll(/^npm pkg .*$/gm)) expect(folder.run(command).code).toBe(0)
    expect(run).toBe('KUBECONFIG=example.kubeconfig PORT=8090 node app.ts\n')

    writeFileSync(join(folder.path, 'app.ts'), code)
    const compilerOptions = {
      strict: true,
      exactOptionalPropertyTypes: true,
      skipLibCheck: false,
      noEmit: true,
      module: 'nodenext',
      target: 'es2024',
      types: ['node'],
    }
    writeFileSync(join(folder.path, 'tsconfig.json'), JSON.stringify({ compilerOptions, files: ['app.ts'] }))
    expect(folder.run(`node '${typescript}' -p .`)).toEqual({ code: 0, output: '' })
    writeFileSync(join(folder.path, 'types.ts'), typed)
    writeFileSync(join(folder.path, 'tsconfig.json'), JSON.stringify({ compilerOptions, files: ['types.ts'] }))
    expect(folder.run(`node '${typescript}' -p .`)).toEqual({ code: 0, output: '' })
    writeFileSync(join(folder.path, 'types.ts'), typed.replace("'requires'", "'client'"))
    expect(folder.run(`node '${typescript}' -p .`).output).toContain(`Type '"client"' is not assignable to type`)

    const server = start({ entry: program, names: ['start'], environment: { EMBEDDED_PORT: '0' } })
    const { url } = await server.logged('embedded Kubernetes API')
    const ground = {
      ...{ folder: folder.path, server: '', kubernetes: String(url), program },
      settle: () => settle(server),
    }
    const port = await freePort()
    const transcript = transcriptOf(`docs/${OWN_APP}`).map(({ command, output }) => ({
      command: command.replace('http://127.0.0.1:8090', `http://127.0.0.1:${port}`),
      output,
    }))
    const [kubeconfig, ...rest] = transcript
    expect(rest.length).toBeGreaterThanOrEqual(3)
    expect(await replay(kubeconfig ? [kubeconfig] : [], ground)).toEqual([kubeconfig])
    const app = start({
      entry: join(folder.path, 'app.ts'),
      environment: { KUBECONFIG: join(folder.path, 'example.kubeconfig'), PORT: String(port) },
      isText: true,
    })
    const own = `http://127.0.0.1:${port}`
    await until('the app answers', () => fetch(`${own}/types`).catch(() => undefined), 60_000)
    expect(await (await fetch(`${own}/types`)).json()).toContain('dev.meshstep.config-changed.v1')
    expect(await replay(rest, ground)).toEqual(rest)
    const resync = { id: '2', source: '/me', type: 'dev.meshstep.resync.v1', subject: 'bookinfo/details' }
    const headers = { 'content-type': 'application/cloudevents+json' }
    const body = JSON.stringify({ specversion: '1.0', ...resync })
    expect((await fetch(`${own}/meshstep`, { method: 'POST', headers, body })).status).toBe(400)
    expect((await app.end('SIGTERM')).code).toBe(0)
    expect((await server.end('SIGTERM')).code).toBe(0)
  },
)

installed(`the tutorial prints what stands there${because}`, { timeout: 120_000 }, async () => {
  expect(page('tutorial.md')).toContain('```sh\nnpm install ../meshstep/meshstep-0.1.0.tgz\nnpx meshstep start\n```')
  const server = start({ entry: program, names: ['start'], environment: { EMBEDDED_PORT: '0' } })
  const { url } = await server.logged('embedded Kubernetes API')
  const { port } = await server.logged('listening')
  const transcript = transcriptOf('docs/tutorial.md')
  expect(transcript.length).toBeGreaterThan(20)
  for (const file of ['page.js', 'cytoscape.min.js'])
    expect((await fetch(`http://127.0.0.1:${port}/page/${file}`)).status, file).toBe(200)
  const ground = {
    ...{ folder: folder.path, server: `http://127.0.0.1:${port}`, kubernetes: String(url), program },
    settle: () => settle(server),
  }
  expect(await replay(transcript, ground)).toEqual(transcript)
  expect((await server.end('SIGTERM')).code).toBe(0)
})
