import { hostPort } from './hostname.ts'
import type { TracingKind } from './paths.ts'
import { grpcPort, mainPort } from './ports.ts'
import type { Route } from './route.ts'
import { routesOf } from './routes.ts'
import type { Routing } from './routing.ts'
import { unique } from './unique.ts'

/** Where workers send their telemetry: keys of the databag that a coordinator shows its workers. */
export type Endpoints = {
  /** By unit of Loki. */
  loki_endpoints: Record<string, string>
  remote_write_endpoints: { url: string }[]
  /** By protocol. */
  charm_tracing_receivers: Record<string, string>
  workload_tracing_receivers: Record<string, string>
}

/**
 * Everything that is routed, by its URL at the coordinator. A receiver of gRPC is `host:port`, as the interface `tracing` has it.
 */
export const proxiedEndpoints = (routing: Routing): Endpoints => {
  const { logging, remoteWrite, tracing } = routesOf(routing)
  const origin = originOf(routing)
  const named = ({ name, path }: Route): Entry => [name, `${origin}${path}`]
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

/** Everything by the URL of its backend, as it came. */
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

/** By key; of several with one key, the first in order. */
const inOrder = (entries: readonly Entry[]): Record<string, string> =>
  Object.fromEntries(
    unique(
      entries.toSorted(([, one], [, other]) => (one < other ? -1 : 1)),
      ([key]) => key,
    ),
  )
