import { stat } from 'node:fs/promises'
import { beforeAll, expect, test } from 'vitest'
import { event, meshRelation } from '../helpers/world.ts'
import { ensureBundle, post, serve, startCluster } from './helpers.ts'

beforeAll(ensureBundle)

/** What a cold start reads and compiles: a library more is seen here first. */
const MOST_BYTES = 831_000

test('the bundle stays small', async () => {
  expect((await stat('dist/server.mjs')).size).toBeLessThan(MOST_BYTES)
})

/** Modules of Node that cost a cold start something, and that no step needs. */
const NEEDLESS = ['inspector', 'repl', 'sqlite', 'test', 'test/reporters', 'wasi']

test('a process that answered an event has loaded no module of Node that it does not need', async () => {
  const { environment } = await startCluster()
  const telling = `data:text/javascript,process.on('exit',()=>process.stderr.write(process.moduleLoadList.join('\\n')))`
  const server = await serve({ environment: { ...environment, NODE_OPTIONS: `--import ${JSON.stringify(telling)}` } })
  expect((await post(server.url, event('relation-changed', meshRelation()))).status).toBe(200)
  expect(await server.end('SIGTERM')).toEqual({ code: 0, signal: null })
  const loaded = server.errors().split('\n')
  expect(loaded).toContain('NativeModule http')
  expect(NEEDLESS.filter((name) => loaded.includes(`NativeModule ${name}`))).toEqual([])
})
