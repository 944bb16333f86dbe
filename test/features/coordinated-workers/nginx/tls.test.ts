import { once } from 'node:events'
import { connect, type SecureVersion } from 'node:tls'
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { workerMetricsPath } from '../../../../src/features/coordinated-workers/nginx/paths.ts'
import { nginxConfiguration, proxiedEndpoints } from '../../../../src/features/coordinated-workers/nginx/routing.ts'
import { hasOpenssl } from '../../../process/https-server.ts'
import { startGrpcBackend, startHttpBackend } from './backends.ts'
import { type Certificate, makeCertificate } from './certificate.ts'
import { arrived, call, send } from './clients.ts'
import { startDns } from './dns.ts'
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

  describe('backends are verified', () => {
    const start = async (authority: 'its own' | 'another') => {
      const dns = await startDns((name) => (name.endsWith('.test') ? '127.0.0.1' : undefined))
      const theirs = await makeCertificate('there.test')
      const backend = await startHttpBackend('backend', { certificate: theirs })
      const traces = await startGrpcBackend('traces', { certificate: theirs })
      const trusted = authority === 'its own' ? theirs.cert : certificate.cert
      const nginx = await startNginx(
        {
          resolver: dns.resolver,
          verified: true,
          logging: ['there.test', 'here.test', '127.0.0.1'].map((host, number) => ({
            unit: `loki/${number}`,
            url: `https://${host}:${backend.port}/push`,
          })),
          workloadTracing: { otlp_grpc: `grpcs://there.test:${traces.port}` },
        },
        { ...certificate, authority: trusted },
      )
      for (const { stop } of [dns, backend, traces, nginx]) onTestFinished(stop)
      return { ...proxiedEndpoints(nginx.routing), problems: nginxConfiguration(nginx.routing).problems }
    }

    test('backends are verified by authority and name, and those at an address are named', async () => {
      const { loki_endpoints, workload_tracing_receivers, problems } = await start('its own')
      const ca = certificate.cert
      expect(await arrived(`${loki_endpoints['loki/0']}`, { ca })).toMatchObject({ at: 'backend' })
      expect((await send(`${loki_endpoints['loki/1']}`, { ca })).status).toBe(502)
      expect(loki_endpoints).not.toHaveProperty(['loki/2'])
      expect(problems).toEqual([expect.stringMatching(/^"loki\/2": expected a DNS name, as certificates are verified/)])
      const answer = await call(`${workload_tracing_receivers.otlp_grpc}`, EXPORT, { ca })
      expect(JSON.parse(answer.text)).toMatchObject({ at: 'traces' })
    })

    test('backends are verified, and one of another authority gets nothing', async () => {
      const { loki_endpoints, workload_tracing_receivers } = await start('another')
      const ca = certificate.cert
      expect((await send(`${loki_endpoints['loki/0']}`, { ca })).status).toBe(502)
      expect((await call(`${workload_tracing_receivers.otlp_grpc}`, EXPORT, { ca })).status).toBe(502)
    })
  })

  test('the certificate may be a Secret of Kubernetes, as it is mounted', async () => {
    const files = { certificate: 'tls.crt', key: 'tls.key' }
    const nginx = await startNginx({ certificate: files }, certificate)
    onTestFinished(nginx.stop)
    expect(await send(`https://127.0.0.1:${nginx.routing.ports.httpsPort}/`, { ca: certificate.cert })).toEqual({
      status: 200,
      text: 'OK',
    })
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
