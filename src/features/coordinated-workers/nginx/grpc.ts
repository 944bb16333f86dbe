import { parseBackend, type TelemetryBackend } from './backend.ts'

/** The gRPC methods of each protocol, from its definition. A method's path has no prefix. */
export const GRPC_METHODS: Readonly<Record<string, readonly string[]>> = {
  otlp_grpc: [
    '/opentelemetry.proto.collector.logs.v1.LogsService/Export',
    '/opentelemetry.proto.collector.metrics.v1.MetricsService/Export',
    '/opentelemetry.proto.collector.trace.v1.TraceService/Export',
  ],
  jaeger_grpc: ['/jaeger.api_v2.CollectorService/PostSpans'],
}

const SCHEME = /^(http|grpc)(s?):\/\//i

/**
 * Parses `host:port` with or without a scheme, or returns the expected form. The interface `tracing` gives no scheme. TLS is assumed if a receiver in
 * `others` uses it on the same host.
 */
export const grpcBackend = (url: string, others: readonly string[]): TelemetryBackend | string => {
  const [scheme, , secure] = SCHEME.exec(url) ?? []
  const rest = url.slice(scheme?.length ?? 0)
  const plain = parseBackend(`http://${rest}`)
  if (typeof plain === 'string' || plain.path !== '/' || plain.query !== '')
    return 'expected host:port, or a URL of gRPC without user, path and query'
  const isTls = scheme === undefined ? hasTls(plain.host, others) : secure !== ''
  return isTls ? parseBackend(`https://${rest}`) : plain
}

/** Tells if a host uses TLS. A server has a certificate for all of its ports, or for none. */
const hasTls = (host: string, urls: readonly string[]): boolean =>
  urls.map(parseBackend).some((backend) => typeof backend !== 'string' && backend.isTls && backend.host === host)
