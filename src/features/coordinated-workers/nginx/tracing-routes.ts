import { ownValue } from '../../../platform/base/own-value.ts'
import { printValue } from '../../../platform/base/printed.ts'
import { parseBackend } from './backend.ts'
import { GRPC_METHODS, grpcBackend } from './grpc.ts'
import { type TracingKind, tracingPath } from './paths.ts'
import { grpcPort, hasGrpcPort } from './ports.ts'
import { type NginxRoute, problem, routed } from './route.ts'
import type { Routing } from './routing.ts'

/** The routes of traces. Those of gRPC have their own port. */
export type TracingRoutes = {
  readonly http: readonly NginxRoute[]
  readonly grpc: readonly NginxRoute[]
  readonly problems: readonly string[]
}

type Receiver = readonly [protocol: string, url: string]

export const tracingRoutes = (kind: TracingKind, routing: Routing): TracingRoutes => {
  const receivers = Object.entries(kind === 'charm' ? routing.charmTracing : routing.workloadTracing)
  const isGrpc = ([protocol]: Receiver) => ownValue(GRPC_METHODS, protocol) !== undefined
  const overHttp = receivers.filter((receiver) => !isGrpc(receiver))
  const urls = overHttp.map(([, url]) => url)
  const what = `${kind} tracing`
  const http = routed(
    what,
    overHttp.map((receiver) => httpRoute(kind, receiver)),
  )
  const grpc = routed(
    what,
    receivers.filter(isGrpc).flatMap((receiver) => grpcRoutes(kind, receiver, { routing, urls })),
  )
  return { http: http.routes, grpc: grpc.routes, problems: [...http.problems, ...grpc.problems] }
}

/** The form of a protocol. It is a path segment without encoded characters, and does not start with a dot. */
const PROTOCOL = /^[a-z0-9][-._a-z0-9]{0,62}$/

const httpRoute = (kind: TracingKind, [protocol, url]: Receiver): NginxRoute | string => {
  const what = `${kind} tracing ${printValue(protocol)}`
  if (!PROTOCOL.test(protocol))
    return `${what}: expected a protocol of at most 63 lower-case letters, digits, dots, hyphens and underscores`
  const backend = parseBackend(url)
  if (typeof backend === 'string') return problem(what, backend, url)
  if (backend.query !== '') return problem(what, 'expected a URL without a query', url)
  return { name: protocol, path: tracingPath(kind, protocol), backend }
}

type Beside = { readonly routing: Routing; readonly urls: readonly string[] }

const grpcRoutes = (
  kind: TracingKind,
  [protocol, url]: Receiver,
  { routing, urls }: Beside,
): (NginxRoute | string)[] => {
  const what = `${kind} tracing ${printValue(protocol)}`
  if (!hasGrpcPort(routing, kind))
    return [
      `${what}: expected a port for gRPC (ports.grpcPort) that is free and at most 65535, got ${grpcPort(routing, kind)}`,
    ]
  const backend = grpcBackend(url, urls)
  if (typeof backend === 'string') return [problem(what, backend, url)]
  return (ownValue(GRPC_METHODS, protocol) ?? []).map((path) => ({ name: protocol, path, backend }))
}
