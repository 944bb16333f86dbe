import { copyFile, readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { beforeAll, expect, test } from 'vitest'
import { BEACON, provides, wire } from '../helpers/beacon-world.ts'
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

test('a bundle alone plans what goes', async () => {
  const cluster = await startCluster()
  const server = await serve({ entry: await placeBundle(), environment: cluster.environment, isFromSnapshot: false })
  const asked = JSON.stringify([wire({ source_app_name: 'db', target_app_name: 'web' })])
  for (const [type, data] of [
    ['config-changed', { ...BEACON, config: { mesh: { waypoint: false } } }],
    ['relation-changed', provides(7, { application: 'web' }, asked)],
  ] as const)
    expect((await post(server.url, event(type, data))).status).toBe(200)
  const response = await post(`${server.url}/plan`, event('relation-broken', { ...BEACON, relation: { id: 7 } }))
  const plan = (await response.json()) as { objects: { object: string; change: string }[] }
  const removed = plan.objects?.flatMap(({ object, change }) => (change === 'removed' ? [object.split(' ')[0]] : []))
  expect([response.status, removed], JSON.stringify(plan)).toEqual([
    200,
    ['AuthorizationPolicy', 'AuthorizationPolicy'],
  ])
  await server.end('SIGTERM')
})

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

test('the image has nothing of the embedded API', async () => {
  const bundles = (await readdir('dist')).filter((file) => /^(server|comparison|page|shared-).*js$/.test(file))
  const texts = await Promise.all(bundles.map((file) => readFile(join('dist', file), 'utf8')))
  expect(texts.filter((text) => /createEmbeddedApi/.test(text))).toEqual([])
})
