import { once } from 'node:events'
import { connect, type SecureVersion } from 'node:tls'
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { workerMetricsPath } from '../../../src/cluster/telemetry/paths.ts'
import { proxiedEndpoints } from '../../../src/cluster/telemetry/routing.ts'
import { hasOpenssl } from '../../process/https-server.ts'
import { startGrpcBackend, startHttpBackend } from './backends.ts'
import { type Certificate, makeCertificate } from './certificate.ts'
import { arrived, call } from './clients.ts'
import { startNginx } from './nginx.ts'
import { nginxProgram } from './nginx-program.ts'

const EXPORT = '/opentelemetry.proto.collector.trace.v1.TraceService/Export'
const canRun = nginxProgram !== undefined && hasOpenssl

describe.skipIf(!canRun)('TLS, with a real nginx (skipped without one or openssl)', () => {
  let certificate: Certificate
  beforeAll(async () => {
    certificate = await makeCertificate()
  })

  test.each([
    ['the coordinator and its workers', true],
    ['the backends', false],
  ])('of %s alone', async (_, isCoordinators) => {
    const [own, others] = isCoordinators ? [certificate, undefined] : [undefined, certificate]
    const worker = await startHttpBackend('worker', { certificate: own })
    const backend = await startHttpBackend('backend', { certificate: others })
    const traces = await startGrpcBackend('traces', { certificate: others })
    for (const { stop } of [worker, backend, traces]) onTestFinished(stop)
    const url = `${isCoordinators ? 'http' : 'https'}://127.0.0.1:${backend.port}`
    const telemetry = {
      workers: [{ unit: 'w/0', address: '127.0.0.1' }],
      workerMetricsPort: worker.port,
      remoteWrite: [{ url }],
      workloadTracing: { zipkin: url, otlp_grpc: `127.0.0.1:${traces.port}` },
    }
    const nginx = await startNginx(telemetry, own)
    onTestFinished(nginx.stop)

    const ca = own?.cert
    const { remote_write_endpoints, workload_tracing_receivers } = proxiedEndpoints(nginx.routing)
    const [write = ''] = remote_write_endpoints.map((endpoint) => endpoint.url)
    expect(await arrived(write, { ca })).toMatchObject({ at: 'backend' })
    expect(await arrived(`${workload_tracing_receivers.zipkin}`, { ca })).toMatchObject({ at: 'backend' })
    expect(await arrived(new URL(workerMetricsPath('w/0'), write).href, { ca })).toMatchObject({ at: 'worker' })
    const answer = await call(`${workload_tracing_receivers.otlp_grpc}`, EXPORT, { ca })
    expect(JSON.parse(answer.text)).toMatchObject({ at: 'traces' })
  })

  test.each<SecureVersion>(['TLSv1.2', 'TLSv1.3'])('%s is spoken with clients', async (version) => {
    const { stop, routing } = await startNginx({}, certificate)
    onTestFinished(stop)
    const socket = connect({
      host: '127.0.0.1',
      port: routing.ports.httpsPort,
      ca: certificate.cert,
      minVersion: version,
      maxVersion: version,
    })
    onTestFinished(() => void socket.destroy())
    await once(socket, 'secureConnect')
    expect(socket.getProtocol()).toBe(version)
  })
})
