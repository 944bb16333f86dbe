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

/** Builds the coordinator's nginx.conf. nginx needs no root, resolves no names at start, and may have any version from 1.22. */
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

/** Makes clients of a missing path retry. They drop data on 404, and retry on 503. `add_header` applies to errors only with `always`. */
const NOT_MOUNTED: Directive = [
  'location',
  '^~',
  '/proxy/',
  [
    ['add_header', 'Retry-After', '5', 'always'],
    ['return', '503'],
  ],
]

/** Answers other paths. nginx would look for a file otherwise, and Debian ships some. */
const NOTHING_ELSE: Directive = ['location', '/', [['return', '404']]]

/** Serves the exporter, which runs beside nginx. */
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

/** Builds a server for the cluster's API only. */
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

/**
 * Builds a server for gRPC. HTTP/2 is enabled by the parameter of `listen`, because the directive `http2` exists only since 1.25.1, and newer versions
 * accept both.
 */
const grpcServer = (listening: Listening, port: number, methods: readonly Directive[]): Directive => [
  'server',
  [...listen(listening, port, 'http2'), ...methods, ...notYet(methods), NOTHING_ELSE],
]

/** Answers methods without a backend with 503. gRPC clients read it as UNAVAILABLE and retry, but 404 as UNIMPLEMENTED and give up. */
const notYet = (methods: readonly Directive[]): Directive[] =>
  Object.values(GRPC_METHODS)
    .flat()
    .filter((path) => !methods.some((location) => location.includes(path)))
    .map((path) => ['location', '=', path, [['return', '503']]])

const listen = (listening: Listening, port: number, ...parameters: string[]): Directive[] => {
  const addresses = hasIpv6(listening) ? [`${port}`, `[::]:${port}`] : [`${port}`]
  return addresses.map((address) => ['listen', address, ...(listening.tls ? ['ssl'] : []), ...parameters])
}
