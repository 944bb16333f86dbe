import { firstGrpcPort } from '../settings.ts'
import type { TracingKind } from './paths.ts'
import type { Routing } from './routing.ts'

type Listening = Pick<Routing, 'ports' | 'tls'>

/** Returns the port at which the coordinator's nginx takes HTTP. */
export const mainPort = ({ ports, tls }: Listening): number => (tls ? ports.httpsPort : ports.httpPort)

/**
 * Returns the port for gRPC. Workloads and charms use the same paths, so each has its own port. Neither is the HTTP port, because nginx before 1.25.1 does
 * not take HTTP/1.1 and HTTP/2 on one port without TLS.
 */
export const grpcPort = ({ ports }: Pick<Routing, 'ports'>, kind: TracingKind): number => {
  const first = firstGrpcPort(ports)
  return kind === 'workload' ? first : first + 1
}

/** Tells if a server for gRPC is possible. */
export const hasGrpcPort = (listening: Listening, kind: TracingKind): boolean => {
  const port = grpcPort(listening, kind)
  return port !== mainPort(listening) && port <= 65535
}
