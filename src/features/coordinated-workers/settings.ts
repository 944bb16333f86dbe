import { ownValue } from '../../platform/base/own-value.ts'
import type { CoordinatorConfig } from './config.ts'

/** The ports of a cluster. `proxy` is the port for the workers' telemetry, or undefined if that is not routed. */
export type ClusterPorts = {
  readonly workerMetrics: number
  readonly nginxExporter: number
  readonly proxy: number | undefined
  /** The ports for tracing over gRPC. */
  readonly grpc: readonly number[]
}

/** Returns the ports of a cluster, with their defaults. */
export const clusterPorts = (config: CoordinatorConfig): ClusterPorts => ({
  workerMetrics: config.workerMetricsPort ?? 8080,
  nginxExporter: config.nginxExporterPort ?? 9113,
  proxy: isTls(config) ? config.telemetryProxy?.httpsPort : config.telemetryProxy?.httpPort,
  grpc: grpcPorts(config),
})

const grpcPorts = ({ telemetryProxy }: CoordinatorConfig): number[] => {
  if (telemetryProxy === undefined) return []
  const first = firstGrpcPort(telemetryProxy)
  return [first, first + 1].filter((port) => port <= 65_535)
}

type ProxyPorts = {
  readonly httpPort: number
  readonly httpsPort: number
  readonly grpcPort?: number | undefined
}

/** Returns the port for the workloads' tracing over gRPC, with or without TLS. The next port is for charms. */
export const firstGrpcPort = ({ httpPort, httpsPort, grpcPort }: ProxyPorts): number => {
  const next = httpPort + 1
  return grpcPort ?? (httpsPort === next || httpsPort === next + 1 ? httpsPort + 1 : next)
}

export const isTls = ({ tls }: CoordinatorConfig): boolean => tls !== undefined && tls !== false

/** Returns the names of a coordinator's endpoints. `cluster` is undefined if the interface decides. */
export const endpointNames = ({ endpoints = {} }: CoordinatorConfig) => ({
  cluster: endpoints.cluster,
  metrics: endpoints.metrics ?? 'metrics-endpoint',
  logging: endpoints.logging ?? 'logging',
  remoteWrite: endpoints.remoteWrite ?? 'send-remote-write',
  charmTracing: endpoints.charmTracing ?? 'charm-tracing',
  workloadTracing: endpoints.workloadTracing ?? 'workload-tracing',
  certificates: endpoints.certificates ?? 'receive-ca-cert',
  serviceMesh: endpoints.serviceMesh ?? 'service-mesh',
  serviceMeshProvideCmrMesh: endpoints.serviceMeshProvideCmrMesh ?? 'provide-cmr-mesh',
  serviceMeshRequireCmrMesh: endpoints.serviceMeshRequireCmrMesh ?? 'require-cmr-mesh',
})

/** Returns the ports of workers with `roles`, including meta roles. Returns undefined if no ports are configured. */
export const selectWorkerPorts = (
  { workerPorts }: CoordinatorConfig,
  roles: readonly string[],
): number[] | undefined => {
  if (workerPorts === undefined) return undefined
  const ports = Array.isArray(workerPorts) ? workerPorts : roles.flatMap((role) => ownValue(workerPorts, role) ?? [])
  return sortedPorts(ports)
}

/** Sorts, and removes duplicates. */
export const sortedPorts = (ports: readonly number[]): number[] =>
  [...new Set(ports)].toSorted((one, other) => one - other)
