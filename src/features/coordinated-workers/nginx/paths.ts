/** The kinds of traces. Charms and workloads send them to different backends. */
export type TracingKind = 'charm' | 'workload'

/** Replaces the slash in a unit's name. The name ends in a slash and digits, so the result is unique. */
export const hyphenated = (unit: string): string => unit.replace('/', '-')

/** The path at which the coordinator serves a worker's metrics. */
export const workerMetricsPath = (unit: string): string => `/proxy/worker/${hyphenated(unit)}/metrics`

/** The path at which the coordinator takes logs for a unit of Loki. */
export const lokiPath = (unit: string): string => `/proxy/loki/${hyphenated(unit)}/push`

/** The path at which the coordinator takes metrics for a backend with this name. */
export const remoteWritePath = (name: string): string => `/proxy/remote-write/${name}/write`

/** The path at which the coordinator takes traces. Paths below it map to those below the backend's URL. */
export const tracingPath = (kind: TracingKind, protocol: string): string => `/proxy/${kind}-tracing/${protocol}/`
