import { readFile, stat } from 'node:fs/promises'
import { beforeAll, expect, test } from 'vitest'
import { meanings } from '../../src/serve/schemas/meanings.ts'
import { event, meshRelation } from '../helpers/world.ts'
import { BUNDLE, ensureBundle, post, run, SNAPSHOT, serve, startCluster } from './helpers.ts'

beforeAll(ensureBundle)

/** What a cold start reads and compiles: a library more is seen here first. */
const MOST_BYTES = 1_200_000

test('the bundle stays small', async () => {
  expect((await stat('dist/server.cjs')).size).toBeLessThan(MOST_BYTES)
})

test('UUIDs are Node’s: no package for them is in it', async () => {
  expect(await readFile('dist/sbom.cdx.json', 'utf8')).not.toContain('pkg:npm/uuid@')
})

test('functions of the bundle have the names that the sources give them, for traces of the stack', async () => {
  expect(await readFile(BUNDLE, 'utf8')).toMatch(/\bcreateStep=/)
})

/** Each start reads and unpacks all of it: 6.4 MB are Node's own. */
const MOST_SNAPSHOT_BYTES = 11_500_000

test('the snapshot stays small', async () => {
  expect((await stat(SNAPSHOT)).size).toBeLessThan(MOST_SNAPSHOT_BYTES)
})

test('the bundle serves the schemas with a sentence for each key, and has none of these in it', async () => {
  const { environment } = await startCluster()
  const server = await serve({ environment })
  const served = await fetch(`${server.url}/schemas/config.json`)
  expect(await served.json()).toEqual(JSON.parse(await readFile('docs/reference/config.schema.json', 'utf8')))
  await server.end('SIGTERM')
  expect(await readFile(BUNDLE, 'utf8')).not.toContain(meanings.config?.mesh)
})

/** Modules of Node that cost a cold start something, and that no step needs. */
const NEEDLESS = ['inspector', 'repl', 'sqlite', 'test', 'test/reporters', 'wasi']

/** Modules that the client of kubeconfig files may load, and a pod never does. */
const COSTLY = [
  ...NEEDLESS,
  'dns',
  'http2',
  'internal/crypto/webcrypto',
  'internal/deps/undici/undici',
  'internal/webstreams/readablestream',
  'worker_threads',
]

/** Has a process write what it has loaded to stderr when it ends. Nothing is imported before a snapshot, which loads what the bundle does. */
const telling = {
  NODE_OPTIONS: `--import ${JSON.stringify(`data:text/javascript,process.on('exit',()=>process.stderr.write(process.moduleLoadList.join('\\n')))`)}`,
}

const among = (names: readonly string[], loaded: string) =>
  names.filter((name) => loaded.split('\n').includes(`NativeModule ${name}`))

test('a process that answered an event has loaded no module of Node that it does not need', async () => {
  const { environment } = await startCluster()
  const server = await serve({ environment: { ...environment, ...telling }, isFromSnapshot: false })
  expect((await post(server.url, event('relation-changed', meshRelation()))).status).toBe(200)
  expect(await server.end('SIGTERM')).toEqual({ code: 0, signal: null })
  expect(among(['http', ...NEEDLESS], server.errors())).toEqual(['http'])
})

test('steps load none of the costly modules of Node', async () => {
  const { stderr } = await run(process.execPath, [BUNDLE, 'warm-up'], { env: telling })
  expect(among(['crypto', ...COSTLY], stderr)).toEqual(['crypto'])
})

test('the server loads none of the costly modules of Node', async () => {
  const server = await serve({ names: ['dead-letter'], environment: telling, isFromSnapshot: false })
  expect((await post(server.url, event('relation-changed', meshRelation()))).status).toBe(204)
  await server.end('SIGTERM')
  expect(among(['http', ...COSTLY], server.errors())).toEqual(['http'])
})
