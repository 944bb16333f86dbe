import { readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { beforeAll, expect, test } from 'vitest'
import { event, meshRelation } from '../helpers/world.ts'
import { BUNDLE, ensureBundle, post, run, SNAPSHOT, serve, startCluster, temporaryDirectory } from './helpers.ts'

beforeAll(ensureBundle)

test.each([
  ['the bundle', []],
  ['a snapshot of it', ['--snapshot-blob', SNAPSHOT]],
])('%s takes steps on no cluster when it is warmed up, says nothing, and ends', async (_, flags) => {
  const { stdout, stderr } = await run(process.execPath, [...flags, BUNDLE, 'warm-up'])
  expect({ stdout, stderr }).toEqual({ stdout: '', stderr: '' })
})

test('a bundle that is warmed up leaves what was compiled', async () => {
  const cache = await temporaryDirectory()
  await run(process.execPath, [BUNDLE, 'warm-up'], { env: { NODE_COMPILE_CACHE: cache } })
  const [folder = ''] = await readdir(cache)
  expect(await readdir(join(cache, folder))).not.toEqual([])
})

test('processes from one snapshot answer with ids of their own', async () => {
  const { environment } = await startCluster()
  const ids: (string | null)[] = []
  for (const _ of ['one', 'another']) {
    const { url } = await serve({ environment })
    ids.push((await post(url, event('relation-changed', meshRelation()))).headers.get('ce-id'))
  }
  expect(ids).toEqual([expect.stringMatching(/^[-0-9a-f]{36}$/), expect.stringMatching(/^[-0-9a-f]{36}$/)])
  expect(new Set(ids).size).toBe(2)
})

test('a snapshot has the environment and the time of the process, not of its build', async () => {
  const { environment } = await startCluster()
  const { lines, url } = await serve({ environment: { ...environment, EVENT_AUDIENCE: 'meshstep' } })
  expect(Math.abs(Date.now() - Number(lines[0]?.time))).toBeLessThan(60_000)
  expect((await post(url, event('relation-changed', meshRelation()))).status).toBe(401)
})

test.each([
  ['a CPU that can do less', ['--no-enable-avx', '--no-enable-avx2', '--no-enable-sse4-2', '--no-enable-bmi2']],
  ['a heap of another size', ['--max-old-space-size=200']],
])('a snapshot starts on %s than it was made on', async (_, flags) => {
  const { stderr } = await run(process.execPath, [...flags, '--snapshot-blob', SNAPSHOT, BUNDLE, 'warm-up'])
  expect(stderr).toBe('')
})

test('a snapshot of another Node is refused, and the process says which', async () => {
  const own = process.versions.node
  const other = `${own.slice(0, -1)}${(Number(own.at(-1)) + 1) % 10}`
  const blob = await readFile(SNAPSHOT)
  blob.write(other, blob.indexOf(own), 'latin1')
  const path = join(await temporaryDirectory(), 'other.blob')
  await writeFile(path, blob)
  await expect(run(process.execPath, ['--snapshot-blob', path, BUNDLE, 'warm-up'])).rejects.toMatchObject({
    code: 14,
    stderr: expect.stringContaining(`Node.js version ${other} and the current Node.js version is v${own}`),
  })
})
