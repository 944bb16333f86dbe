import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { createNoopMeter, type Meter, type Tracer, trace } from '@opentelemetry/api'
import { setGlobalErrorHandler } from '@opentelemetry/core'
import { OTLPMetricExporter } from '@opentelemetry/exporter-metrics-otlp-proto'
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto'
import {
  defaultResource,
  detectResources,
  envDetector,
  type Resource,
  resourceFromAttributes,
} from '@opentelemetry/resources'
import { MeterProvider, PeriodicExportingMetricReader } from '@opentelemetry/sdk-metrics'
import {
  AlwaysOffSampler,
  AlwaysOnSampler,
  BatchSpanProcessor,
  ParentBasedSampler,
  type Sampler,
  TraceIdRatioBasedSampler,
  TracerProvider,
} from '@opentelemetry/sdk-trace'
import type { Log } from '../../platform/base/log.ts'
import { readTelemetrySettings, type SamplerName, type TelemetrySettings } from './settings.ts'
import type { Environment, Telemetry } from './telemetry.ts'
import { createWatching } from './watch.ts'

/** The time for a stopping process to send its remaining data. An unreachable receiver must not hold it longer. */
const STOP_MILLISECONDS = 3_000

/** The time between two log lines about an unreachable receiver. */
const QUIET_MILLISECONDS = 60_000

const LONGEST_ATTRIBUTE = 256

const NAME = 'meshstep'

/**
 * Pushes traces and metrics by OTLP over HTTP. At most 2,048 spans wait in a queue, and further ones are dropped, so that no event waits for a receiver.
 * Throws ConfigurationError.
 */
export const startTelemetry = (environment: Environment, log: Log): Telemetry => {
  const settings = readTelemetrySettings(environment)
  setGlobalErrorHandler(tellSometimes(log))
  const own = { 'service.name': NAME, 'service.instance.id': randomUUID() }
  const resource = defaultResource()
    .merge(resourceFromAttributes(own))
    .merge(detectResources({ detectors: [envDetector] }))
  const tracers = settings.isTraced ? startTraces(settings, resource) : undefined
  const meters = settings.isMeasured ? startMetrics(settings, resource) : undefined
  const tracer: Tracer = tracers?.getTracer(NAME) ?? trace.getTracer(NAME)
  const meter: Meter = meters?.getMeter(NAME) ?? createNoopMeter()
  return {
    ...createWatching(tracer, meter),
    stop: async () => {
      const sent = Promise.allSettled([tracers?.shutdown(), meters?.shutdown()])
      await Promise.race([sent, sleep(STOP_MILLISECONDS, undefined, { ref: false })])
    },
  }
}

const startTraces = (settings: TelemetrySettings, resource: Resource): TracerProvider => {
  const { scheduleDelayMilliseconds: scheduledDelayMillis } = settings
  const processor = new BatchSpanProcessor({ exporter: new OTLPTraceExporter(), scheduledDelayMillis })
  return new TracerProvider({
    resource,
    sampler: samplerFor(settings),
    spanLimits: { attributeValueLengthLimit: LONGEST_ATTRIBUTE },
    spanProcessors: [processor],
  })
}

const startMetrics = ({ exportIntervalMilliseconds }: TelemetrySettings, resource: Resource): MeterProvider => {
  const reader = new PeriodicExportingMetricReader({
    exporter: new OTLPMetricExporter(),
    exportIntervalMillis: exportIntervalMilliseconds,
  })
  return new MeterProvider({ resource, readers: [reader] })
}

const samplerFor = ({ sampler, ratio }: TelemetrySettings): Sampler => {
  const samplers: Record<SamplerName, () => Sampler> = {
    always_on: () => new AlwaysOnSampler(),
    always_off: () => new AlwaysOffSampler(),
    traceidratio: () => new TraceIdRatioBasedSampler(ratio),
    parentbased_always_on: () => new ParentBasedSampler({ root: new AlwaysOnSampler() }),
    parentbased_always_off: () => new ParentBasedSampler({ root: new AlwaysOffSampler() }),
    parentbased_traceidratio: () => new ParentBasedSampler({ root: new TraceIdRatioBasedSampler(ratio) }),
  }
  return samplers[sampler]()
}

/** Logs export errors at intervals. The SDK's own log stays off, because it quotes headers, which may have a token. */
const tellSometimes = (log: Log) => {
  let quietUntil = 0
  return (error: unknown): void => {
    if (Date.now() < quietUntil) return
    quietUntil = Date.now() + QUIET_MILLISECONDS
    const problem = error instanceof Error ? error.message : String(error)
    log.warn({ problem: problem.slice(0, 200) }, 'telemetry not delivered')
  }
}
