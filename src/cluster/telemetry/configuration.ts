import type { Directive } from './directives.ts'
import { CERTIFICATE, COMMON } from './http.ts'
import { exactLocation, methodLocation, prefixLocation } from './locations.ts'
import { grpcPort, mainPort } from './ports.ts'
import { hasIpv6 } from './resolver.ts'
import type { Routes } from './routes.ts'
import type { Routing } from './routing.ts'

type Listening = Pick<Routing, 'ports' | 'tls' | 'resolver' | 'ipv6'>

/** The file of the coordinator's nginx: it runs without root, without names that are known when it starts, and from 1.22 on. */
export const configuration = (
  listening: Listening,
  routes: Routes,
  resolver: readonly Directive[],
): readonly Directive[] => [
  ['worker_processes', '5'],
  ['worker_rlimit_nofile', '8192'],
  ['error_log', 'stderr', 'error'],
  ['pid', '/tmp/nginx.pid'],
  ['events', [['worker_connections', '4096']]],
  [
    'http',
    [
      ...COMMON,
      ...resolver,
      ...(listening.tls ? CERTIFICATE : []),
      mainServer(listening, routes),
      ...(['workload', 'charm'] as const)
        .filter((kind) => routes.tracing[kind].grpc.length > 0)
        .map((kind) => grpcServer(listening, grpcPort(listening, kind), routes.tracing[kind].grpc.map(methodLocation))),
    ],
  ],
]

const HEALTH: Directive = ['location', '=', '/', [['return', '200', 'OK']]]

/** nginx would look for a file otherwise, and Debian has some. */
const NOTHING_ELSE: Directive = ['location', '/', [['return', '404']]]

/** For the exporter, which runs beside nginx. */
const STATUS: Directive = [
  'location',
  '=',
  '/status',
  [['stub_status'], ['allow', '127.0.0.1'], ['allow', '::1'], ['deny', 'all']],
]

const mainServer = (listening: Listening, { metrics, logging, remoteWrite, tracing }: Routes): Directive => [
  'server',
  [
    ...listen(listening, mainPort(listening)),
    HEALTH,
    STATUS,
    ...[...metrics, ...logging, ...remoteWrite].map(exactLocation),
    ...[...tracing.charm.http, ...tracing.workload.http].map(prefixLocation),
    NOTHING_ELSE,
  ],
]

/** HTTP/2 by a parameter of `listen`: the directive `http2` is not known before 1.25.1, and newer ones take both. */
const grpcServer = (listening: Listening, port: number, methods: readonly Directive[]): Directive => [
  'server',
  [...listen(listening, port, 'http2'), ...methods, NOTHING_ELSE],
]

const listen = (listening: Listening, port: number, ...parameters: string[]): Directive[] => {
  const addresses = hasIpv6(listening) ? [`${port}`, `[::]:${port}`] : [`${port}`]
  return addresses.map((address) => ['listen', address, ...(listening.tls ? ['ssl'] : []), ...parameters])
}
