import type { Handle, Watch } from '../../core/events/handle.ts'
import type { SendEvent } from '../../core/events/sink.ts'
import type { Log } from '../../platform/base/log.ts'
import type { Transport } from '../../platform/kubernetes/client.ts'

/** Reports what passes: each method returns a function that does as the one it is given, also where nothing can be reported. */
export type Telemetry = {
  transport(transport: Transport): Transport
  publish(publish: SendEvent): SendEvent
  handle(handle: Handle): Handle
  readonly watch: Watch
  /** Sends what is left, within seconds, and never rejects. */
  stop(): Promise<void>
}

export type Environment = Readonly<Record<string, string | undefined>>

const ENDPOINTS = [
  'OTEL_EXPORTER_OTLP_ENDPOINT',
  'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT',
  'OTEL_EXPORTER_OTLP_METRICS_ENDPOINT',
]

/** Loads OpenTelemetry where the environment names a receiver; elsewhere it costs nothing. Rejects with ConfigurationError. */
export const loadTelemetry = async (environment: Environment, log: Log): Promise<Telemetry | undefined> => {
  const isWanted = environment.OTEL_SDK_DISABLED !== 'true' && ENDPOINTS.some((name) => environment[name])
  if (!isWanted) return undefined
  const { startTelemetry } = await import('./otlp.ts')
  return startTelemetry(environment, log)
}
