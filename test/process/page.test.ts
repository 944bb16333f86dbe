import { readFile } from 'node:fs/promises'
import { beforeAll, expect, test } from 'vitest'
import { LIBRARIES, OWN_FILES } from '../../src/serve/page/assets.ts'
import { event, meshRelation } from '../helpers/world.ts'
import { ensureBundle, post, serve, startCluster } from './helpers.ts'

beforeAll(ensureBundle)

test('the bundle of the page serves it with all its files, and the map, and takes no event', async () => {
  const { environment } = await startCluster()
  const functions = await serve({ environment })
  expect((await post(functions.url, event('relation-changed', meshRelation()))).status).toBe(200)
  expect(await functions.end('SIGTERM')).toEqual({ code: 0, signal: null })

  const server = await serve({ entry: 'dist/page.mjs', environment })
  const page = await fetch(server.url, { headers: { accept: 'text/html' } })
  expect(await page.text()).toMatch(/^<!doctype html>/)
  for (const file of [...OWN_FILES, ...Object.keys(LIBRARIES)])
    expect([file, (await fetch(`${server.url}/page/${file}`)).status]).toEqual([file, 200])
  const map = (await (await fetch(`${server.url}/map`)).json()) as { nodes: { id: string }[] }
  expect(map.nodes.map(({ id }) => id)).toEqual(['shop/web'])
  // these are loaded from files beside it
  for (const path of ['lint?namespace=shop', 'schemas/config.json'])
    expect([path, (await fetch(`${server.url}/${path}`)).status]).toEqual([path, 200])
  expect((await post(`${server.url}/plan`, event('relation-changed', meshRelation()))).status).toBe(200)
  expect((await post(server.url, event('relation-changed', meshRelation()))).status).toBe(400)
  expect(await server.end('SIGTERM')).toEqual({ code: 0, signal: null })
  expect(server.errors()).toBe('')
})

test('nothing of the page is in the bundle of the functions', async () => {
  const [functions, page] = await Promise.all(
    ['server.cjs', 'page.mjs'].map((name) => readFile(`dist/${name}`, 'utf8')),
  )
  for (const word of ['elk-worker', 'cytoscape', '<!doctype html>']) {
    expect([word, functions?.includes(word)]).toEqual([word, false])
    expect([word, page?.includes(word)]).toEqual([word, true])
  }
})
