import * as z from 'zod'
import { Port } from '../../core/policies/endpoint.ts'
import { AN_EXPRESSION, expressionProblem, isReadAlike } from './path-expression.ts'
import { firstGrpcPort } from './settings.ts'

const A_NAME = 'expected a name: at most 63 lower-case letters, digits and hyphens, and a letter first'
const Name = z.string(A_NAME).regex(/^[a-z]([-a-z0-9]{0,61}[a-z0-9])?$/, A_NAME)

const A_HEADER = 'expected the name of a header: letters, digits and hyphens'
const A_VALUE = 'expected the value of a header: at most 1024 characters of ASCII, no control characters'

const Upstream = z.strictObject({
  role: z.string().min(1).max(63).optional(),
  port: Port,
  tls: z.boolean().optional(),
})

const Location = z.strictObject({
  path: z.string('expected a path').max(1024),
  match: z.enum(['prefix', 'exact', 'regex']).optional(),
  upstream: Name,
  websocket: z.boolean().optional(),
  headers: z
    .record(z.string().regex(/^[A-Za-z0-9-]{1,128}$/, A_HEADER), z.string(A_VALUE).regex(/^[ -~]{0,1024}$/, A_VALUE))
    .optional(),
})
export type Location = z.infer<typeof Location>

const Server = z.strictObject({
  port: Port,
  tls: z.boolean().optional(),
  grpc: z.boolean().optional(),
  locations: z.array(Location).min(1, 'expected a location at least'),
})
export type Server = z.infer<typeof Server>

/** The API of a cluster. Its servers have locations, which pass requests to upstreams. An upstream is the workers with a role. */
export const ClusterGateway = z.strictObject({
  upstreams: z.record(Name, Upstream),
  servers: z.array(Server),
})
export type ClusterGateway = z.infer<typeof ClusterGateway>

type Config = {
  readonly roles: readonly string[]
  readonly nginx?: ClusterGateway | undefined
  readonly tls?: unknown
  readonly nginxExporterPort?: number | undefined
  readonly telemetryProxy?: { httpPort: number; httpsPort: number; grpcPort?: number | undefined } | undefined
}

type Issue = { readonly path: (string | number)[]; readonly message: string }

/** Finds contradictions in a coordinator's config. */
export const gatewayIssues = ({ nginx, ...config }: Config): Issue[] =>
  nginx === undefined
    ? []
    : [
        ...upstreamIssues(nginx, config),
        ...nginx.servers.flatMap((_, index) => serverIssues(nginx, index, config)),
      ].map(({ path, message }) => ({ path: ['nginx', ...path], message }))

/** Finds expressions that PCRE does not compile, each with its path. Stored ones are not checked, so that old memories stay readable. */
export const expressionIssues = (nginx: ClusterGateway | undefined): Issue[] =>
  (nginx?.servers ?? []).flatMap(({ locations }, server) =>
    locations.flatMap(({ match, path }, place) => {
      const message = match === 'regex' ? expressionProblem(path) : undefined
      const at = ['coordinator', 'nginx', 'servers', server, 'locations', place, 'path']
      return message === undefined ? [] : [{ path: at, message }]
    }),
  )

const upstreamIssues = ({ upstreams }: ClusterGateway, { roles }: Config): Issue[] =>
  Object.entries(upstreams)
    .filter(([name, { role = name }]) => role !== '*' && !roles.includes(role))
    .map(([name]) => ({
      path: ['upstreams', name, 'role'],
      message: `expected one of the roles ${roles.join(', ')}, or *`,
    }))

const serverIssues = ({ upstreams, servers }: ClusterGateway, index: number, config: Config): Issue[] => {
  const { port, tls, grpc, locations } = servers[index] as Server
  const path = ['servers', index]
  const isShared = port === sharedPort(config)
  return [
    ...(servers.findIndex((server) => server.port === port) < index
      ? [{ path: [...path, 'port'], message: 'expected a port that no server before it has' }]
      : []),
    ...(takenPorts(config).includes(port)
      ? [{ path: [...path, 'port'], message: 'expected a port that neither gRPC tracing nor the exporter has' }]
      : []),
    ...(tls === true && !config.tls
      ? [{ path: [...path, 'tls'], message: 'expected tls of the coordinator, too' }]
      : []),
    ...(isShared && (grpc === true || (tls !== undefined && tls !== Boolean(config.tls)))
      ? [{ path, message: 'expected no gRPC, and TLS as the telemetry proxy has it, whose port it is' }]
      : []),
    ...locations.flatMap((location, place) =>
      locationIssues(location, locations.slice(0, place), isShared).map((message) => ({
        path: [...path, 'locations', place, 'path'],
        message,
      })),
    ),
    ...locations.flatMap(({ upstream }, place) =>
      Object.hasOwn(upstreams, upstream)
        ? []
        : [{ path: [...path, 'locations', place, 'upstream'], message: 'expected the name of an upstream' }],
    ),
  ]
}

/** Returns the port at which the telemetry proxy takes HTTP. */
const sharedPort = ({ telemetryProxy, tls }: Config): number | undefined =>
  tls ? telemetryProxy?.httpsPort : telemetryProxy?.httpPort

const takenPorts = ({ telemetryProxy, nginxExporterPort = 9113 }: Config): number[] => {
  const grpc = telemetryProxy && firstGrpcPort(telemetryProxy)
  return [nginxExporterPort, ...(grpc === undefined ? [] : [grpc, grpc + 1])]
}

const A_PATH = 'expected a path: a slash, then letters, digits and - . _ ~ @ : + = , /'

const locationIssues = (
  { path, match = 'prefix' }: Location,
  before: readonly Location[],
  isShared: boolean,
): string[] => {
  if (match === 'regex') return isReadAlike(path) ? twice(path, match, before) : [AN_EXPRESSION]
  if (!/^\/[-\w.~@:+=,/]*$/.test(path)) return [A_PATH]
  const isTaken =
    path === '/status' || (isShared && (`${path}/`.startsWith('/proxy/') || (path === '/' && match === 'exact')))
  return isTaken
    ? ['expected another path: the telemetry, the health or the status of nginx is there']
    : twice(path, match, before)
}

const twice = (path: string, match: string, before: readonly Location[]): string[] =>
  before.some((other) => other.path === path && (other.match ?? 'prefix') === match)
    ? ['expected a path that no location before it has']
    : []
