import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { createEmbeddedApi } from '../../../src/embedded/api/api.ts'
import { startSource } from '../../../src/embedded/demo/source.ts'
import type { Log } from '../../../src/platform/base/log.ts'
import { workload } from '../../helpers/world.ts'

const { spec, ...rest } = workload()
const SINGLE = { ...rest, spec: { ...spec, replicas: 1 } }

/** A source that sends to a real server, and what the two have heard. */
const createSource = async (statusOf: (type: string) => number) => {
  const heard: string[] = []
  const errors: string[] = []
  const ignore = () => undefined
  const log: Log = { info: ignore, warn: ignore, error: (_, message) => errors.push(message) }
  const server = createServer((request, response) => {
    const type = String(request.headers['ce-type'])
    heard.push(type.split('.').at(-1) ?? '')
    response.writeHead(statusOf(type)).end()
    server.emit('heard')
  }).listen(0)
  onTestFinished(() => void server.close())
  await once(server, 'listening')
  const api = createEmbeddedApi()
  const source = startSource({ api, sink: `http://localhost:${(server.address() as AddressInfo).port}`, log })
  return { api, source, heard, errors, next: () => once(server, 'heard') }
}

test('what is lost is logged, and the next event is sent', async () => {
  let isRefusing = true
  const { api, source, heard, errors, next } = await createSource(() => (isRefusing ? 503 : 200))
  api.seed([SINGLE])
  for (let attempt = 0; attempt < 5; attempt += 1) await next()
  isRefusing = false
  api.handle({ method: 'DELETE', path: '/api/v1/namespaces/shop/pods/web-0', headers: {} })
  await next()
  await source.stop()
  expect(errors).toEqual(['failed to send cloudevent'])
  expect(heard.slice(0, 5)).toEqual(['add', 'add', 'add', 'add', 'add'])
})

test('the end of a pod is sent, as well as the pod in its place', async () => {
  const { api, source, heard, next } = await createSource(() => 200)
  api.seed([SINGLE])
  await next()
  api.handle({ method: 'DELETE', path: '/api/v1/namespaces/shop/pods/web-0', headers: {} })
  await next()
  await next()
  await source.stop()
  expect(heard).toEqual(['add', 'delete', 'add'])
})

test('what is on its way when it stops is not called lost', async () => {
  const { api, source, heard, errors, next } = await createSource(() => 503)
  api.seed([SINGLE])
  await next()
  await source.stop()
  expect([heard, errors]).toEqual([['add'], []])
})
