import { ConfigurationError } from '../../platform/base/errors.ts'
import type { Environment } from './telemetry.ts'

/**
 * Standard settings that the SDK does not read itself: https://opentelemetry.io/docs/specs/otel/configuration/sdk-environment-variables/ The exporters
 * read all other OTLP settings.
 */
export type TelemetrySettings = {
  readonly isTraced: boolean
  readonly isMeasured: boolean
  readonly sampler: SamplerName
  /** The share of traces that a ratio-based sampler keeps. */
  readonly ratio: number
  readonly scheduleDelayMilliseconds: number
  readonly exportIntervalMilliseconds: number
}

const SAMPLERS = [
  'always_on',
  'always_off',
  'traceidratio',
  'parentbased_always_on',
  'parentbased_always_off',
  'parentbased_traceidratio',
] as const

export type SamplerName = (typeof SAMPLERS)[number]

/** Reads the settings from environment variables. Throws ConfigurationError for the first wrong one. */
export const readTelemetrySettings = (environment: Environment): TelemetrySettings => ({
  isTraced: isSent(environment, 'TRACES'),
  isMeasured: isSent(environment, 'METRICS'),
  sampler: oneOf(environment, 'OTEL_TRACES_SAMPLER', SAMPLERS, 'parentbased_always_on'),
  ratio: numberIn(environment, 'OTEL_TRACES_SAMPLER_ARG', { default: 1, least: 0, most: 1 }),
  scheduleDelayMilliseconds: numberIn(environment, 'OTEL_BSP_SCHEDULE_DELAY', { default: 5_000, ...A_DAY }),
  exportIntervalMilliseconds: numberIn(environment, 'OTEL_METRIC_EXPORT_INTERVAL', { default: 60_000, ...A_DAY }),
})

const A_DAY = { least: 1, most: 24 * 60 * 60 * 1_000 }

const isSent = (environment: Environment, signal: 'TRACES' | 'METRICS'): boolean => {
  const exporter = oneOf(environment, `OTEL_${signal}_EXPORTER`, ['otlp', 'none'], 'otlp')
  const own = `OTEL_EXPORTER_OTLP_${signal}_ENDPOINT`
  const name = environment[own] ? own : 'OTEL_EXPORTER_OTLP_ENDPOINT'
  const endpoint = environment[name]
  if (exporter === 'none' || !endpoint) return false
  if (!/^https?:/.test(endpoint) || !URL.canParse(endpoint))
    throw new ConfigurationError(`${name}: expected a URL that begins with http:// or https://`)
  for (const protocol of ['OTEL_EXPORTER_OTLP_PROTOCOL', `OTEL_EXPORTER_OTLP_${signal}_PROTOCOL`])
    oneOf(environment, protocol, ['http/protobuf'], 'http/protobuf')
  return true
}

const oneOf = <T extends string>(environment: Environment, name: string, values: readonly T[], other: T): T => {
  const given = environment[name]
  if (!given) return other
  const found = values.find((value) => value === given)
  if (found === undefined) throw new ConfigurationError(`${name}: expected ${values.join(' or ')}`)
  return found
}

const numberIn = (
  environment: Environment,
  name: string,
  { default: other, least, most }: { default: number; least: number; most: number },
): number => {
  const given = environment[name]
  if (!given) return other
  const value = Number(given)
  if (!(value >= least && value <= most))
    throw new ConfigurationError(`${name}: expected a number from ${least} to ${most}`)
  return value
}
