import { afterEach, expect, test } from 'vitest'
import { type EmbeddedServer, startEmbeddedApi } from '../../../src/embedded/api/server.ts'
import { type Client, CONFIG_MAPS, configMap, createClient } from '../client.ts'

const watched = (client: Client, path: string): { heard: string[]; close(): void } => {
  const heard: string[] = []
  const close = client.api.watch({ method: 'GET', path, headers: {} }, ({ type, object }) => {
    const metadata = object.metadata as { name?: string } | undefined
    heard.push([type, metadata?.name ?? object.code].join(' ').trim())
  })
  if (typeof close !== 'function') throw new Error(close.body)
  return { heard, close }
}

test('a watch without a version starts with what there is', () => {
  const client = createClient()
  client.post(CONFIG_MAPS, configMap('a'))
  const { heard, close } = watched(client, `${CONFIG_MAPS}?watch=true`)
  client.post(CONFIG_MAPS, configMap('b'))
  client.patch(`${CONFIG_MAPS}/a`, 'merge', { data: { k: 'v' } })
  client.delete(`${CONFIG_MAPS}/b`)
  close()
  client.delete(`${CONFIG_MAPS}/a`)
  expect(heard).toEqual(['ADDED a', 'ADDED b', 'MODIFIED a', 'DELETED b'])
})

test('a watch from a version misses nothing since', () => {
  const client = createClient()
  const { object } = client.post(CONFIG_MAPS, configMap('a'))
  client.post(CONFIG_MAPS, configMap('b'))
  const { heard } = watched(client, `${CONFIG_MAPS}?watch=true&resourceVersion=${object.metadata.resourceVersion}`)
  client.delete(`${CONFIG_MAPS}/a`)
  expect(heard).toEqual(['ADDED b', 'DELETED a'])
})

test('an object that leaves the selection is deleted, one that joins it is added', () => {
  const client = createClient()
  client.post(CONFIG_MAPS, configMap('a', {}, { labels: { on: '1' } }))
  client.post(CONFIG_MAPS, configMap('b'))
  const { heard } = watched(client, `${CONFIG_MAPS}?watch=true&labelSelector=on%3D1`)
  client.patch(`${CONFIG_MAPS}/b`, 'merge', { metadata: { labels: { on: '1' } } })
  client.patch(`${CONFIG_MAPS}/a`, 'merge', { metadata: { labels: { on: '2' } } })
  client.patch(`${CONFIG_MAPS}/a`, 'merge', { metadata: { labels: { on: '3' } } })
  expect(heard).toEqual(['ADDED a', 'ADDED b', 'DELETED a'])
})

test('other names, namespaces and kinds are not heard', () => {
  const client = createClient()
  const { heard } = watched(client, `${CONFIG_MAPS}?watch=true&fieldSelector=metadata.name%3Da`)
  client.post('/api/v1/namespaces', { metadata: { name: 'other' } })
  client.post('/api/v1/namespaces/other/configmaps', configMap('a'))
  client.post('/api/v1/namespaces/default/secrets', { metadata: { name: 'a' } })
  client.post(CONFIG_MAPS, configMap('b'))
  client.post(CONFIG_MAPS, configMap('a'))
  expect(heard).toEqual(['ADDED a'])
})

test('a version too old to remember is an error event', () => {
  const client = createClient()
  const { object } = client.post(CONFIG_MAPS, configMap('a'))
  for (let turn = 0; turn < 11_000; turn += 1)
    client.patch(`${CONFIG_MAPS}/a`, 'merge', { data: { turn: String(turn) } })
  const { heard } = watched(client, `${CONFIG_MAPS}?watch=true&resourceVersion=${object.metadata.resourceVersion}`)
  expect(heard).toEqual(['ERROR 410'])
})

test('initial events end with a bookmark when asked for', () => {
  const client = createClient()
  client.post(CONFIG_MAPS, configMap('a'))
  const { heard } = watched(
    client,
    `${CONFIG_MAPS}?watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan`,
  )
  expect(heard).toEqual(['ADDED a', 'BOOKMARK'])
})

const servers: EmbeddedServer[] = []
afterEach(async () => {
  for (const server of servers.splice(0)) await server.close()
})

const serve = async (options: Partial<Parameters<typeof startEmbeddedApi>[0]> = {}) => {
  const client = createClient()
  const server = await startEmbeddedApi({ api: client.api, port: 0, ...options })
  servers.push(server)
  return { client, server }
}

test('a watch over HTTP streams a line for each event, until it is over', async () => {
  const { client, server } = await serve()
  const response = await fetch(`${server.url}${CONFIG_MAPS}?watch=1&timeoutSeconds=1`)
  client.post(CONFIG_MAPS, configMap('a'))
  client.delete(`${CONFIG_MAPS}/a`)
  const events = (await response.text())
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line))
  expect(events.map(({ type, object }) => `${type} ${object.kind} ${object.metadata.name}`)).toEqual([
    'ADDED ConfigMap a',
    'DELETED ConfigMap a',
  ])
})

test('a watch that is refused is answered at once', async () => {
  const { server } = await serve()
  expect((await fetch(`${server.url}/apis/example.com/v1/things?watch=true`)).status).toBe(404)
  expect((await fetch(`${server.url}${CONFIG_MAPS}?watch=true&labelSelector=%3D`)).status).toBe(400)
})

test('an intercepted request is answered without the API', async () => {
  const { client, server } = await serve({
    intercept: ({ method }) =>
      method === 'POST' ? { status: 429, headers: { 'retry-after': '1' }, body: '' } : undefined,
  })
  const refused = await fetch(`${server.url}${CONFIG_MAPS}`, { method: 'POST', body: JSON.stringify(configMap('a')) })
  expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '1'])
  expect((await fetch(`${server.url}${CONFIG_MAPS}`)).status).toBe(200)
  expect(client.get(`${CONFIG_MAPS}/a`).status).toBe(404)
})

test('a defect in an interceptor is a 500', async () => {
  const { server } = await serve({
    intercept: () => {
      throw new Error('broken')
    },
  })
  const response = await fetch(server.url)
  expect([response.status, ((await response.json()) as { message: string }).message]).toEqual([500, 'Error: broken'])
})
