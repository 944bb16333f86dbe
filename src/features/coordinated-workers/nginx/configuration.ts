import type { Directive } from './directives.ts'
import { CONNECTION, gatewayServers } from './gateway.ts'
import { GRPC_METHODS } from './grpc.ts'
import { type CertificateFiles, COMMON, certificateDirectives, VERIFIED } from './http.ts'
import { exactLocation, methodLocation, prefixLocation } from './locations.ts'
import { grpcPort, mainPort } from './ports.ts'
import { hasIpv6 } from './resolver.ts'
import type { Routes } from './routes.ts'
import type { Routing } from './routing.ts'

type Listening = Pick<
  Routing,
  'ports' | 'tls' | 'certificate' | 'verified' | 'resolver' | 'ipv6' | 'gateway' | 'isProxied'
>

/** The coordinator's nginx.conf. nginx needs no root and no names resolved at start, and runs from version 1.22 on. */
export const configuration = (
  listening: Listening,
  routes: Routes,
  resolver: readonly Directive[],
): readonly Directive[] => {
  const gateway = listening.gateway && gatewayServers(listening.gateway)
  const servers = gateway?.servers ?? []
  const shared = servers.find(({ server }) => listening.isProxied !== false && server.port === mainPort(listening))
  return [
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
        ...(listening.tls ? certificateDirectives(listening.certificate ?? CERTIFICATE) : []),
        ...(listening.verified ? VERIFIED : []),
        ...(gateway ? [CONNECTION, ...gateway.http] : []),
        ...(listening.isProxied === false ? [] : [mainServer(listening, routes, shared?.locations ?? [])]),
        ...(['workload', 'charm'] as const)
          .filter((kind) => listening.isProxied !== false && routes.tracing[kind].grpc.length > 0)
          .map((kind) =>
            grpcServer(listening, grpcPort(listening, kind), routes.tracing[kind].grpc.map(methodLocation)),
          ),
        ...servers.filter((one) => one !== shared).map((one) => ownServer(listening, one)),
      ],
    ],
  ]
}

const CERTIFICATE: CertificateFiles = { certificate: 'server.cert', key: 'server.key' }

const HEALTH: Directive = ['location', '=', '/', [['return', '200', 'OK']]]

/** Has clients of an absent path retry: they drop data on 404, and retry on 503. For errors, `add_header` needs `always`. */
const NOT_MOUNTED: Directive = [
  'location',
  '^~',
  '/proxy/',
  [
    ['add_header', 'Retry-After', '5', 'always'],
    ['return', '503'],
  ],
]

/** nginx would look for a file otherwise, and Debian ships some. */
const NOTHING_ELSE: Directive = ['location', '/', [['return', '404']]]

/** For the exporter, which runs beside nginx. */
const STATUS: Directive = [
  'location',
  '=',
  '/status',
  [['stub_status'], ['allow', '127.0.0.1'], ['allow', '::1'], ['deny', 'all']],
]

const mainServer = (
  listening: Listening,
  { metrics, logging, remoteWrite, formerRemoteWrite, tracing }: Routes,
  own: readonly Directive[],
): Directive => [
  'server',
  [
    ...listen(listening, mainPort(listening)),
    HEALTH,
    STATUS,
    ...[...metrics, ...logging, ...remoteWrite, ...formerRemoteWrite].map(exactLocation),
    ...[...tracing.charm.http, ...tracing.workload.http].map(prefixLocation),
    NOT_MOUNTED,
    ...own,
    ...nothingElse(own),
  ],
]

/** A server of the cluster's API alone. */
const ownServer = (listening: Listening, { server, locations }: OwnServer): Directive => [
  'server',
  [
    ...listen({ ...listening, tls: server.tls ?? listening.tls }, server.port, ...(server.grpc ? ['http2'] : [])),
    ...(server.grpc ? [] : [STATUS]),
    ...locations,
    ...nothingElse(locations),
  ],
]

type OwnServer = ReturnType<typeof gatewayServers>['servers'][number]

const nothingElse = (locations: readonly Directive[]): Directive[] =>
  locations.some((location) => location[1] === '/') ? [] : [NOTHING_ELSE]

/** Enables HTTP/2 by a parameter of `listen`: the directive `http2` exists since 1.25.1, and newer versions take both. */
const grpcServer = (listening: Listening, port: number, methods: readonly Directive[]): Directive => [
  'server',
  [...listen(listening, port, 'http2'), ...methods, ...notYet(methods), NOTHING_ELSE],
]

/** gRPC reads 503 as UNAVAILABLE, which clients retry, and 404 as UNIMPLEMENTED, which they do not. */
const notYet = (methods: readonly Directive[]): Directive[] =>
  Object.values(GRPC_METHODS)
    .flat()
    .filter((path) => !methods.some((location) => location.includes(path)))
    .map((path) => ['location', '=', path, [['return', '503']]])

const listen = (listening: Listening, port: number, ...parameters: string[]): Directive[] => {
  const addresses = hasIpv6(listening) ? [`${port}`, `[::]:${port}`] : [`${port}`]
  return addresses.map((address) => ['listen', address, ...(listening.tls ? ['ssl'] : []), ...parameters])
}
