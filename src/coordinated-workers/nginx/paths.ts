/** Charms and workloads send traces to different backends. */
export type TracingKind = 'charm' | 'workload'

/** A unit's name without its slash: it ends in a slash and digits, so that no two are the same. */
export const hyphenated = (unit: string): string => unit.replace('/', '-')

/** Where the metrics of a worker are read through the coordinator. */
export const workerMetricsPath = (unit: string): string => `/proxy/worker/${hyphenated(unit)}/metrics`

/** Where logs are pushed through the coordinator to a unit of Loki. */
export const lokiPath = (unit: string): string => `/proxy/loki/${hyphenated(unit)}/push`

/** Where metrics are written through the coordinator to a backend of that name. */
export const remoteWritePath = (name: string): string => `/proxy/remote-write/${name}/write`

/** Below it is what is below the URL of the backend. */
export const tracingPath = (kind: TracingKind, protocol: string): string => `/proxy/${kind}-tracing/${protocol}/`
