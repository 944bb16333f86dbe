import { sortedGroups } from '../../../platform/base/sorted-groups.ts'
import type { ClusterGateway, Location, Server } from '../gateway-config.ts'
import { type Directive, literal } from './directives.ts'
import { hostPort, isName, urlHost } from './hostname.ts'
import { setTenant } from './http.ts'

/** A unit of a worker, with its roles. */
export type GatewayUnit = {
  readonly application: string
  readonly unit: string
  readonly address: string
  readonly roles: readonly string[]
}

/** The API of a cluster, with its upstreams resolved to the workers of their roles. */
export type GatewayInput = {
  readonly gateway: ClusterGateway
  readonly units: readonly GatewayUnit[]
  /** Roles that stand for several other roles. */
  readonly metaRoles: Readonly<Record<string, readonly string[]>>
  /** The cluster uses TLS. With `verified`, the certificates of backends are verified. */
  readonly tls: boolean
  readonly verified: boolean
}

/** The hosts of an upstream, each with its number of units. */
type Upstream = { readonly name: string; readonly scheme: 's' | ''; readonly hosts: readonly Host[] }
type Host = { readonly target: string; readonly units: number }

/**
 * Resolves upstreams, sorted by name. The pods of an application share the name of their headless Service. nginx alternates between its addresses, and
 * tries the next one if a pod does not answer. So the file does not depend on the number of pods. Certificates name single pods, so verified TLS uses the
 * names of pods.
 */
const resolveUpstreams = ({ gateway, units, metaRoles, tls, verified }: GatewayInput): Map<string, Upstream> => {
  const reachable = units.filter(({ address }) => urlHost(address) !== undefined)
  return new Map(
    sortedGroups(Object.entries(gateway.upstreams), ([name]) => name).flatMap(([, same]) =>
      same.map(([name, { role = name, port, tls: isTls = tls }]): [string, Upstream] => {
        const wanted = Object.hasOwn(metaRoles, role) ? (metaRoles[role] ?? []) : [role]
        const having = reachable.filter((unit) => role === '*' || wanted.some((one) => unit.roles.includes(one)))
        const byHost = sortedGroups(having, (unit) => (isTls && verified ? unit.address : sharedName(unit)))
        return [
          name,
          {
            name,
            scheme: isTls ? 's' : '',
            hosts: byHost.map(([host, same]) => ({ target: hostPort(host, port), units: same.length })),
          },
        ]
      }),
    ),
  )
}

/** Turns `web-0.web-endpoints.shop.svc` into `web-endpoints.shop.svc`. */
const sharedName = ({ application, address }: GatewayUnit): string => {
  const [pod = '', ...rest] = address.split('.')
  return isName(address) && rest.length > 1 && pod.startsWith(`${application}-`) ? rest.join('.') : address
}

/** Distributes requests over the applications of a role, in proportion to their units. */
const splits = (upstreams: ReadonlyMap<string, Upstream>): Directive[] =>
  [...upstreams.values()]
    .filter(({ hosts }) => hosts.length > 1)
    .map(({ name, hosts }) => {
      const all = hosts.reduce((sum, { units }) => sum + units, 0)
      const parts = hosts.map(
        ({ target, units }, index): Directive => [
          index === hosts.length - 1 ? '*' : `${Math.floor((10_000 * units) / all) / 100}%`,
          target,
        ],
      )
      return ['split_clients', '$request_id', variableOf(name), parts]
    })

const variableOf = (name: string): string => `$to_${name.replaceAll('-', '_')}`

/** Builds the directives of a cluster's API for `http`, and the locations of each server. */
export const gatewayServers = (
  input: GatewayInput,
): { http: Directive[]; servers: { server: Server; locations: Directive[] }[] } => {
  const upstreams = resolveUpstreams(input)
  return {
    http: splits(upstreams),
    servers: input.gateway.servers.map((server) => ({
      server,
      locations: server.locations.map((location) => locationOf(location, server, upstreams.get(location.upstream))),
    })),
  }
}

const MODIFIERS = { prefix: [], exact: ['='], regex: ['~'] } as const

const locationOf = (location: Location, { grpc }: Server, upstream: Upstream | undefined): Directive => [
  'location',
  ...MODIFIERS[location.match ?? 'prefix'],
  location.path,
  upstream === undefined || upstream.hosts.length === 0
    ? [['return', '503']]
    : passing(location, grpc ? 'grpc' : 'proxy', upstream),
]

/** Passes requests to an upstream. With a variable in the address, nginx resolves the name for each request, and keeps the path. */
const passing = (
  { websocket, headers = {} }: Location,
  module: 'proxy' | 'grpc',
  { name, scheme, hosts: [first, ...others] }: Upstream,
): Directive[] => {
  const own = Object.entries(headers).map(([header, value]) => [header, literal(value)] as const)
  const all = [...(websocket ? WEBSOCKET : []), ...own]
  const isTenant = own.some(([header]) => header.toLowerCase() === 'x-scope-orgid')
  const variable = others.length > 0 ? variableOf(name) : '$backend'
  return [
    ...(others.length > 0 ? [] : [['set', '$backend', first?.target ?? ''] as const]),
    // a header in a location removes those of all enclosing blocks
    ...(all.length > 0 && !isTenant ? [setTenant(module)] : []),
    ...all.map(([header, value]): Directive => [`${module}_set_header`, header, value]),
    [`${module}_pass`, `${module === 'grpc' ? 'grpc' : 'http'}${scheme}://${variable}`],
  ]
}

const WEBSOCKET = [
  ['Upgrade', '$http_upgrade'],
  ['Connection', '$connection_upgrade'],
] as const

/** Declares the variable for WebSockets in `http`. */
export const CONNECTION: Directive = [
  'map',
  '$http_upgrade',
  '$connection_upgrade',
  [
    ['', 'close'],
    ['default', 'upgrade'],
  ],
]
