import { once } from 'node:events'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { createPrometheus } from '../../../src/ask/traffic/prometheus.ts'
import { vectorOf } from '../../helpers/fake-prometheus.ts'
import { hasOpenssl, makeCertificate } from '../../process/https-server.ts'

test.skipIf(!hasOpenssl)(
  'a Prometheus over TLS is trusted by its authority alone (skipped without openssl)',
  async () => {
    const { cert, key, certFile } = await makeCertificate('prometheus')
    const server = createServer({ cert, key }, (_, response) => response.end(vectorOf([[{}, 1]]))).listen(
      0,
      '127.0.0.1',
    )
    onTestFinished(() => {
      server.close()
      server.closeAllConnections()
    })
    await once(server, 'listening')
    const url = `https://127.0.0.1:${(server.address() as AddressInfo).port}`
    expect(await createPrometheus({ url, caFile: certFile })('up')).toHaveLength(1)
    await expect(createPrometheus({ url })('up')).rejects.toMatchObject({
      name: 'ConfigurationError',
      message: expect.stringContaining('PROMETHEUS_CA_FILE'),
    })
  },
)
