import { nginxConfiguration, type Routing } from '../../../../src/features/coordinated-workers/nginx/routing.ts'
import { linesOf } from './nginx-file.ts'

/** A coordinator without workers and backends, on this machine; `overrides` is what a test is about. */
export const routingOf = (overrides: Partial<Routing> = {}): Routing => ({
  namespace: 'cos',
  application: 'tempo',
  hostname: '127.0.0.1',
  ports: { httpPort: 3300, httpsPort: 3443 },
  tls: false,
  resolver: '127.0.0.1',
  workers: [],
  workerMetricsPort: 8080,
  logging: [],
  remoteWrite: [],
  charmTracing: {},
  workloadTracing: {},
  ...overrides,
})

/** What is wrong with it. */
export const problemsOf = (overrides: Partial<Routing>) => nginxConfiguration(routingOf(overrides)).problems

/** The directives of that name in its file, `listen 80` for one. */
export const found = (name: string, overrides: Partial<Routing>): string[] =>
  linesOf(nginxConfiguration(routingOf(overrides)).text).filter((line) => line.split(' ')[0] === name)
