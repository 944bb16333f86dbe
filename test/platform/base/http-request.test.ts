import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { sendHttpRequest } from '../../../src/platform/base/http-request.ts'

const serve = async (listener: RequestListener): Promise<string> => {
  const server = createServer(listener)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => {
    server.close()
    server.closeAllConnections()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
}

const post = (url: string, timeoutMilliseconds = 5_000) =>
  sendHttpRequest(url, { method: 'POST', headers: { a: 'b' }, body: 'ü', timeoutMilliseconds })

const timers = () => process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length

test('an answer comes whole, in pieces of characters as well', async () => {
  const text = 'ü'.repeat(100_000)
  const url = await serve(({ method, headers }, response) => {
    response.writeHead(201, { about: `${method} ${headers.a} ${headers['content-length']}` })
    const bytes = Buffer.from(text)
    response.write(bytes.subarray(0, 70_001))
    response.end(bytes.subarray(70_001))
  })
  expect(await post(url)).toMatchObject({ status: 201, headers: { about: 'POST b 2' }, body: text })
})

test('no timer outlives its request', async () => {
  const url = await serve((_, response) => response.end())
  const before = timers()
  // those of others may end meanwhile
  for (let sent = 0; sent < 10; sent += 1) await post(url)
  expect(timers()).toBeLessThanOrEqual(before)
})

test.each<[string, RequestListener]>([
  ['that does not come', () => undefined],
  ['that does not end', (_, response) => void response.writeHead(200).write('{')],
])('an answer %s is an error at the end of its time', async (_, listener) => {
  await expect(post(await serve(listener), 50)).rejects.toThrow(/abort/)
})

test('an answer that is cut off is an error', async () => {
  const url = await serve((_, response) => {
    response.writeHead(200, { 'content-length': '100' }).write('{', () => response.destroy())
  })
  await expect(post(url)).rejects.toThrow(/abort/)
})
