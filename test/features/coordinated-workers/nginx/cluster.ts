import type { Routing } from '../../../../src/features/coordinated-workers/nginx/routing.ts'
import { type Backend, startGrpcBackend, startHttpBackend } from './backends.ts'
import type { Certificate } from './certificate.ts'
import { startDns } from './dns.ts'
import { type Nginx, startNginx } from './nginx.ts'

const BACKENDS = {
  worker: startHttpBackend,
  loki: startHttpBackend,
  ingress: startHttpBackend,
  tempo: startHttpBackend,
  charms: startGrpcBackend,
  workloads: startGrpcBackend,
}

type Name = keyof typeof BACKENDS

export type Cluster = { readonly nginx: Nginx; readonly ports: Readonly<Record<Name, number>>; stop(): Promise<void> }

/** A coordinator and backends for all telemetry, all of it with TLS or none. Every name that ends in `.test` is this machine. */
export const startCluster = async (certificate: Certificate | undefined): Promise<Cluster> => {
  const dns = await startDns((name) => (name.endsWith('.test') ? '127.0.0.1' : undefined))
  const backends = await Promise.all(
    Object.entries(BACKENDS).map(
      async ([name, start]): Promise<[string, Backend]> => [name, await start(name, { certificate })],
    ),
  )
  const ports = Object.fromEntries(backends.map(([name, { port }]) => [name, port])) as Record<Name, number>
  const nginx = await startNginx(
    { resolver: dns.resolver, ...telemetry(ports, certificate === undefined ? '' : 's') },
    certificate,
  )
  const stop = async () => {
    await nginx.stop()
    await Promise.all([dns, ...backends.map(([, backend]) => backend)].map((started) => started.stop()))
  }
  return { nginx, ports, stop }
}

const telemetry = (port: Record<Name, number>, s: 's' | ''): Partial<Routing> => ({
  workers: [
    { unit: 'mimir-worker/0', address: 'worker-0.test' },
    { unit: 'mimir-worker/1', address: '127.0.0.1' },
  ],
  workerMetricsPort: port.worker,
  logging: [
    { unit: 'loki/0', url: `http${s}://loki.test:${port.loki}/loki/api/v1/push` },
    { unit: 'prometheus/0', url: `http${s}://127.0.0.1:${port.ingress}/cos-loki-1/loki/api/v1/push` },
  ],
  remoteWrite: [
    { url: `http${s}://prometheus-0.test:${port.ingress}/api/v1/write` },
    { url: `http${s}://ingress.test:${port.ingress}/cos-prometheus-0/api/v1/write` },
    { url: `http${s}://ingress.test:${port.ingress}/cos-prometheus-1/api/v1/write?kind=%7Bnew%7D` },
  ],
  charmTracing: {
    otlp_http: `http${s}://tempo.test:${port.tempo}`,
    otlp_grpc: `tempo.test:${port.charms}`,
  },
  workloadTracing: {
    otlp_http: `http${s}://ingress.test:${port.ingress}/cos-tempo/`,
    zipkin: `http${s}://tempo.test:${port.tempo}`,
    otlp_grpc: `grpc${s}://traces.test:${port.workloads}`,
    jaeger_grpc: `tempo.test:${port.charms}`,
  },
})
