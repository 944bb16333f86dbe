import { hostPort } from './hostname.ts'
import type { TracingKind } from './paths.ts'
import { grpcPort, mainPort } from './ports.ts'
import { type NginxRoute, uniqueBy } from './route.ts'
import { buildRoutes } from './routes.ts'
import type { Routing } from './routing.ts'

/** The URLs to which workers send telemetry, as keys of the databag that a coordinator publishes to its workers. */
export type Endpoints = {
  /** By unit of Loki. */
  loki_endpoints: Record<string, string>
  remote_write_endpoints: { url: string }[]
  /** By protocol. */
  charm_tracing_receivers: Record<string, string>
  workload_tracing_receivers: Record<string, string>
}

/** Builds the URLs of all routes at the coordinator. A gRPC receiver is `host:port`, as in the interface `tracing`. */
export const proxiedEndpoints = (routing: Routing): Endpoints => {
  const { logging, remoteWrite, tracing } = buildRoutes(routing)
  const origin = originOf(routing)
  const named = ({ name, path }: NginxRoute): Entry => [name, `${origin}${path}`]
  const receivers = (kind: TracingKind) =>
    inOrder([
      ...tracing[kind].http.map(named),
      ...tracing[kind].grpc.map(({ name }): Entry => [name, hostPort(routing.hostname, grpcPort(routing, kind))]),
    ])
  return {
    loki_endpoints: inOrder(logging.map(named)),
    remote_write_endpoints: remoteWrite.map(({ path }) => ({ url: `${origin}${path}` })),
    charm_tracing_receivers: receivers('charm'),
    workload_tracing_receivers: receivers('workload'),
  }
}

/** Builds the URLs of the backends themselves. */
export const directEndpoints = (
  routing: Pick<Routing, 'logging' | 'remoteWrite' | 'charmTracing' | 'workloadTracing'>,
): Endpoints => ({
  loki_endpoints: inOrder(routing.logging.map(({ unit, url }) => [unit, url])),
  remote_write_endpoints: [...new Set(routing.remoteWrite.map(({ url }) => url))].toSorted().map((url) => ({ url })),
  charm_tracing_receivers: inOrder(Object.entries(routing.charmTracing)),
  workload_tracing_receivers: inOrder(Object.entries(routing.workloadTracing)),
})

const originOf = (routing: Routing): string =>
  `${routing.tls ? 'https' : 'http'}://${hostPort(routing.hostname, mainPort(routing))}`

type Entry = readonly [key: string, value: string]

/** Sorts by key. For each key, the first value stays. */
const inOrder = (entries: readonly Entry[]): Record<string, string> =>
  Object.fromEntries(
    uniqueBy(
      entries.toSorted(([, one], [, other]) => (one < other ? -1 : 1)),
      ([key]) => key,
    ),
  )
