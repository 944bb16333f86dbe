import { copyFile, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { beforeAll, expect, test } from 'vitest'
import { event, meshRelation } from '../helpers/world.ts'
import { ensureBundle, post, serve, startCluster, temporaryDirectory } from './helpers.ts'

beforeAll(ensureBundle)

/** The bundle and what is beside it, where nothing else is: no package can be loaded there. */
const placeBundle = async (): Promise<string> => {
  const folder = await temporaryDirectory()
  const files = (await readdir('dist')).filter((file) => /\.[cm]js$/.test(file))
  for (const file of files) await copyFile(join('dist', file), join(folder, file))
  return join(folder, 'server.cjs')
}

test.each([[true], [false]])('a bundle alone makes plans (from a snapshot: %s)', async (isFromSnapshot) => {
  const cluster = await startCluster()
  const server = await serve({ entry: await placeBundle(), environment: cluster.environment, isFromSnapshot })
  const joining = event('relation-changed', meshRelation())

  const rehearsed = await post(server.url, { ...joining, extensions: { dryrun: 'true' } })
  const asked = await post(`${server.url}/plan`, joining)
  for (const response of [rehearsed, asked]) {
    const plan = (await response.json()) as { objects: { object: string }[] }
    expect([response.status, plan.objects?.map(({ object }) => object)], JSON.stringify(plan)).toEqual([
      200,
      ['Service shop/web', 'StatefulSet shop/web'],
    ])
  }
  expect(cluster.calls.filter((call) => !call.startsWith('GET'))).toEqual([])
  expect(await server.end('SIGTERM')).toEqual({ code: 0, signal: null })
  expect(server.errors()).toBe('')
})
