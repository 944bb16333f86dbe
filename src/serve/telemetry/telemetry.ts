import type { Handle, Watch } from '../../core/events/handle.ts'
import type { Log } from '../../platform/base/log.ts'
import type { SendEvent } from '../../platform/cloudevents/sink.ts'
import type { Transport } from '../../platform/kubernetes/client.ts'

/** Reports traces and metrics. Each method wraps a function without a change of its behaviour, even if nothing can be reported. */
export type Telemetry = {
  transport(transport: Transport): Transport
  publish(publish: SendEvent): SendEvent
  handle(handle: Handle): Handle
  readonly watch: Watch
  /** Sends the remaining data within seconds. Never rejects. */
  stop(): Promise<void>
}

export type Environment = Readonly<Record<string, string | undefined>>

const ENDPOINTS = [
  'OTEL_EXPORTER_OTLP_ENDPOINT',
  'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT',
  'OTEL_EXPORTER_OTLP_METRICS_ENDPOINT',
]

/** Loads OpenTelemetry if the environment names a receiver. Otherwise it costs nothing. Rejects with ConfigurationError. */
export const loadTelemetry = async (environment: Environment, log: Log): Promise<Telemetry | undefined> => {
  const isWanted = environment.OTEL_SDK_DISABLED !== 'true' && ENDPOINTS.some((name) => environment[name])
  if (!isWanted) return undefined
  const { startTelemetry } = await import('./otlp.ts')
  return startTelemetry(environment, log)
}
