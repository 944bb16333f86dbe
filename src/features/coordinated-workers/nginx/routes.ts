import { isIP } from 'node:net'
import { printValue } from '../../../platform/base/printed.ts'
import { urlOf } from './backend.ts'
import type { TracingKind } from './paths.ts'
import { formerRemoteWriteRoutes, remoteWriteRoutes } from './remote-write-routes.ts'
import { type NginxRoute, type NginxRoutes, problem } from './route.ts'
import type { Routing } from './routing.ts'
import { type TracingRoutes, tracingRoutes } from './tracing-routes.ts'
import { loggingRoutes, metricsRoutes } from './unit-routes.ts'

/** All routes of the coordinator. Each list is sorted by path. */
export type Routes = {
  readonly metrics: readonly NginxRoute[]
  readonly logging: readonly NginxRoute[]
  readonly remoteWrite: readonly NginxRoute[]
  /** Older paths to the same backends. They are served, but not published. */
  readonly formerRemoteWrite: readonly NginxRoute[]
  readonly tracing: Readonly<Record<TracingKind, TracingRoutes>>
  /** A problem for each element that is not routed, in order. */
  readonly problems: readonly string[]
}

/** Builds all routes. Names and URLs come from other applications, so an invalid one does not affect the others. */
export const buildRoutes = (routing: Routing): Routes => {
  const metrics = verifiable(routing, metricsRoutes(routing.workers, routing))
  const logging = verifiable(routing, loggingRoutes(routing.logging))
  const remoteWrite = verifiable(routing, remoteWriteRoutes(routing.remoteWrite))
  const tracing = { charm: verifiableTracing('charm', routing), workload: verifiableTracing('workload', routing) }
  const parts = [metrics, logging, remoteWrite, tracing.charm, tracing.workload]
  return {
    metrics: metrics.routes,
    logging: logging.routes,
    remoteWrite: remoteWrite.routes,
    formerRemoteWrite: formerRemoteWriteRoutes(remoteWrite.routes),
    tracing,
    problems: parts.flatMap(({ problems }) => problems).toSorted(),
  }
}

const verifiableTracing = (kind: TracingKind, routing: Routing): TracingRoutes => {
  const { http, grpc, problems } = tracingRoutes(kind, routing)
  const overHttp = verifiable(routing, { routes: http, problems: [] })
  const overGrpc = verifiable(routing, { routes: grpc, problems: [] })
  return {
    http: overHttp.routes,
    grpc: overGrpc.routes,
    problems: [...new Set([...problems, ...overHttp.problems, ...overGrpc.problems])],
  }
}

/** Leaves out TLS backends at IP addresses if certificates are verified, because nginx verifies only names. */
const verifiable = ({ verified }: Routing, { routes, problems }: NginxRoutes): NginxRoutes => {
  const isUnverifiable = ({ backend }: NginxRoute) => verified === true && backend.isTls && isAddress(backend.host)
  return {
    routes: routes.filter((route) => !isUnverifiable(route)),
    problems: [
      ...problems,
      ...routes
        .filter(isUnverifiable)
        .map(({ name, backend }) =>
          problem(printValue(name), 'expected a DNS name, as certificates are verified', urlOf(backend)),
        ),
    ],
  }
}

const isAddress = (host: string): boolean => host.startsWith('[') || isIP(host) !== 0
