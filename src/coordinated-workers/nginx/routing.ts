import { configuration } from './configuration.ts'
import { render } from './directives.ts'
import type { GatewayInput } from './gateway.ts'
import type { CertificateFiles } from './http.ts'
import { resolverOf } from './resolver.ts'
import { routesOf } from './routes.ts'

export { directEndpoints, type Endpoints, proxiedEndpoints } from './endpoints.ts'

/** A cluster whose workers send their telemetry through the coordinator, and where it goes from there. */
export type Routing = {
  readonly namespace: string
  /** The coordinator. */
  readonly application: string
  /** Where the coordinator is reached in the cluster: that of the application, not of a pod. */
  readonly hostname: string
  readonly ports: {
    readonly httpPort: number
    readonly httpsPort: number
    /** For gRPC tracing of workloads, with TLS and without; that of charms has the port after it. @default the one after httpPort */
    readonly grpcPort?: number | undefined
  }
  /** The coordinator has a certificate and its key, in /etc/nginx/certs. Its workers have one, too. */
  readonly tls: boolean
  /** @default server.cert and server.key */
  readonly certificate?: CertificateFiles | undefined
  /** Backends with TLS are verified, with the authorities in `ca.crt` beside the file of nginx. @default false */
  readonly verified?: boolean | undefined
  /** Telemetry passes the coordinator. @default true */
  readonly isProxied?: boolean | undefined
  /** The API of the cluster. */
  readonly gateway?: GatewayInput | undefined
  /** The IP address of the cluster's DNS. */
  readonly resolver: string
  /** Whether the coordinator's pods have IPv6. @default whether the resolver has an address of IPv6 */
  readonly ipv6?: boolean | undefined
  /** The address is a DNS name or an IP address. */
  readonly workers: readonly { readonly unit: string; readonly address: string }[]
  readonly workerMetricsPort: number
  /** Where the units of Loki take logs. */
  readonly logging: readonly { readonly unit: string; readonly url: string }[]
  readonly remoteWrite: readonly { readonly url: string }[]
  /** By protocol. URLs of gRPC protocols may be without a scheme. */
  readonly charmTracing: Readonly<Record<string, string>>
  readonly workloadTracing: Readonly<Record<string, string>>
}

/**
 * The file of the coordinator's nginx, which sends what arrives at the URLs of `proxiedEndpoints` on to its backend. `problems` names each
 * element that cannot be routed. Both are the same in whatever order the elements come.
 */
export const nginxConfiguration = (routing: Routing): { text: string; problems: readonly string[] } => {
  const routes = routesOf(routing)
  const { directives, problems } = resolverOf(routing)
  return { text: render(configuration(routing, routes, directives)), problems: [...problems, ...routes.problems] }
}
