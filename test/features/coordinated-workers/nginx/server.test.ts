import { once } from 'node:events'
import { createServer, request as httpRequest, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { networkInterfaces } from 'node:os'
import { buffer } from 'node:stream/consumers'
import { describe, expect, onTestFinished, test } from 'vitest'
import { proxiedEndpoints } from '../../../../src/features/coordinated-workers/nginx/routing.ts'
import { send } from './clients.ts'
import { startNginx } from './nginx.ts'
import { nginxProgram } from './nginx-program.ts'

/** This machine as others see it. */
const address = Object.values(networkInterfaces())
  .flatMap((addresses) => addresses ?? [])
  .find(({ family, internal }) => family === 'IPv4' && !internal)?.address

describe.skipIf(nginxProgram === undefined)('a coordinator of its own (skipped without nginx)', () => {
  test.skipIf(address === undefined)(
    'a coordinator of its own shows its status to this machine alone (skipped without a network)',
    async () => {
      const nginx = await startNginx({})
      onTestFinished(nginx.stop)
      const origin = `http://${address}:${nginx.routing.ports.httpPort}`
      expect((await send(`${origin}/status`)).status).toBe(403)
      expect(await send(`${origin}/`)).toEqual({ status: 200, text: 'OK' })
    },
  )

  test('a body goes to its backend as it comes', async () => {
    const backend = createServer((request, response) => request.once('data', (data) => response.end(`so far: ${data}`)))
    backend.listen(0, '127.0.0.1')
    await once(backend, 'listening')
    onTestFinished(() => backend.closeAllConnections())
    onTestFinished(() => void backend.close())
    const { port } = backend.address() as AddressInfo
    const nginx = await startNginx({ logging: [{ unit: 'loki/0', url: `http://127.0.0.1:${port}/push` }] })
    onTestFinished(nginx.stop)
    const request = httpRequest(`${proxiedEndpoints(nginx.routing).loki_endpoints['loki/0']}`, { method: 'POST' })
    onTestFinished(() => void request.destroy())
    request.on('error', () => undefined)
    request.write('a part')
    const [response] = (await once(request, 'response')) as [IncomingMessage]
    expect((await buffer(response)).toString()).toBe('so far: a part')
  })
})
