import type { TracingKind } from './paths.ts'
import { remoteWriteRoutes } from './remote-write-routes.ts'
import type { Route } from './route.ts'
import type { Routing } from './routing.ts'
import { type TracingRoutes, tracingRoutes } from './tracing-routes.ts'
import { loggingRoutes, metricsRoutes } from './unit-routes.ts'

/** What goes where through the coordinator, each list in the order of its paths. */
export type Routes = {
  readonly metrics: readonly Route[]
  readonly logging: readonly Route[]
  readonly remoteWrite: readonly Route[]
  readonly tracing: Readonly<Record<TracingKind, TracingRoutes>>
  /** One for each element that is not routed, in order. */
  readonly problems: readonly string[]
}

/** Everything that can be routed. Names and URLs come from other applications: one that is not good stops no other. */
export const routesOf = (routing: Routing): Routes => {
  const metrics = metricsRoutes(routing.workers, routing)
  const logging = loggingRoutes(routing.logging)
  const remoteWrite = remoteWriteRoutes(routing.remoteWrite)
  const tracing = { charm: tracingRoutes('charm', routing), workload: tracingRoutes('workload', routing) }
  const parts = [metrics, logging, remoteWrite, tracing.charm, tracing.workload]
  return {
    metrics: metrics.routes,
    logging: logging.routes,
    remoteWrite: remoteWrite.routes,
    tracing,
    problems: parts.flatMap(({ problems }) => problems).toSorted(),
  }
}
