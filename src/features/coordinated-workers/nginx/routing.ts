import { configuration } from './configuration.ts'
import { render } from './directives.ts'
import type { GatewayInput } from './gateway.ts'
import type { CertificateFiles } from './http.ts'
import { parseResolver } from './resolver.ts'
import { buildRoutes } from './routes.ts'

export { directEndpoints, type Endpoints, proxiedEndpoints } from './endpoints.ts'

/** The input of nginx.conf: a cluster whose telemetry passes the coordinator, and the backends of the telemetry. */
export type Routing = {
  readonly namespace: string
  /** The coordinator's application. */
  readonly application: string
  /** The host name of the coordinator's Service, not of a pod. */
  readonly hostname: string
  readonly ports: {
    readonly httpPort: number
    readonly httpsPort: number
    /** The port of gRPC tracing for workloads. The next one is for charms. @default the one after httpPort */
    readonly grpcPort?: number | undefined
  }
  /** The coordinator has a certificate and a key in /etc/nginx/certs, and its workers have certificates too. */
  readonly tls: boolean
  /** @default server.cert and server.key */
  readonly certificate?: CertificateFiles | undefined
  /** TLS backends are verified with the authorities in `ca.crt` beside nginx.conf. @default false */
  readonly verified?: boolean | undefined
  /** Telemetry passes the coordinator. @default true */
  readonly isProxied?: boolean | undefined
  /** The API of the cluster. */
  readonly gateway?: GatewayInput | undefined
  /** The IP address of the cluster's DNS server. */
  readonly resolver: string
  /** The coordinator's pods have IPv6. @default true if the resolver has an IPv6 address */
  readonly ipv6?: boolean | undefined
  /** The units of workers. `address` is a DNS name or an IP address. */
  readonly workers: readonly { readonly unit: string; readonly address: string }[]
  readonly workerMetricsPort: number
  /** The log endpoints of Loki's units. */
  readonly logging: readonly { readonly unit: string; readonly url: string }[]
  readonly remoteWrite: readonly { readonly url: string }[]
  /** The URLs by protocol. Those of gRPC protocols may lack a scheme. */
  readonly charmTracing: Readonly<Record<string, string>>
  readonly workloadTracing: Readonly<Record<string, string>>
}

/**
 * Renders nginx.conf, which routes the URLs of `proxiedEndpoints` to their backends. `problems` names each element that cannot be routed. Neither depends
 * on the order of elements.
 */
export const nginxConfiguration = (routing: Routing): { text: string; problems: readonly string[] } => {
  const routes = buildRoutes(routing)
  const { directives, problems } = parseResolver(routing)
  return { text: render(configuration(routing, routes, directives)), problems: [...problems, ...routes.problems] }
}
