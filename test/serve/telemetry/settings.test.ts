import { describe, expect, test } from 'vitest'
import type { Log } from '../../../src/platform/base/log.ts'
import { readTelemetrySettings } from '../../../src/serve/telemetry/settings.ts'
import { loadTelemetry } from '../../../src/serve/telemetry/telemetry.ts'

const ENDPOINT = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://collector:4318' }

const silent = () => undefined
const log: Log = { info: silent, warn: silent, error: silent }

describe('settings of telemetry', () => {
  test.each<[Record<string, string>, RegExp]>([
    [{ OTEL_EXPORTER_OTLP_ENDPOINT: 'collector:4318' }, /^OTEL_EXPORTER_OTLP_ENDPOINT: expected a URL that begins/],
    [{ OTEL_EXPORTER_OTLP_METRICS_ENDPOINT: 'http://' }, /^OTEL_EXPORTER_OTLP_METRICS_ENDPOINT: expected a URL/],
    [{ OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc' }, /^OTEL_EXPORTER_OTLP_PROTOCOL: expected http\/protobuf$/],
    [{ OTEL_EXPORTER_OTLP_TRACES_PROTOCOL: 'http/json' }, /^OTEL_EXPORTER_OTLP_TRACES_PROTOCOL: expected http/],
    [{ OTEL_TRACES_EXPORTER: 'console' }, /^OTEL_TRACES_EXPORTER: expected otlp or none$/],
    [{ OTEL_TRACES_SAMPLER: 'often' }, /^OTEL_TRACES_SAMPLER: expected always_on or always_off or /],
    [{ OTEL_TRACES_SAMPLER_ARG: '2' }, /^OTEL_TRACES_SAMPLER_ARG: expected a number from 0 to 1$/],
    [{ OTEL_BSP_SCHEDULE_DELAY: 'soon' }, /^OTEL_BSP_SCHEDULE_DELAY: expected a number from 1 to /],
    [{ OTEL_METRIC_EXPORT_INTERVAL: '0' }, /^OTEL_METRIC_EXPORT_INTERVAL: expected a number from 1 to /],
  ])('settings of telemetry are refused for %j', (wrong, message) => {
    expect(() => readTelemetrySettings({ ...ENDPOINT, ...wrong })).toThrow(message)
  })

  test('settings of telemetry have the defaults of the standard', () => {
    expect(readTelemetrySettings({ ...ENDPOINT, OTEL_TRACES_SAMPLER: '' })).toEqual({
      ...{ isTraced: true, isMeasured: true, sampler: 'parentbased_always_on', ratio: 1 },
      ...{ scheduleDelayMilliseconds: 5_000, exportIntervalMilliseconds: 60_000 },
    })
  })

  test.each<[Record<string, string>, boolean, boolean]>([
    [{ OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'http://collector/v1/traces' }, true, false],
    [{ OTEL_EXPORTER_OTLP_METRICS_ENDPOINT: 'http://collector/v1/metrics' }, false, true],
    [{ ...ENDPOINT, OTEL_TRACES_EXPORTER: 'none' }, false, true],
    [{ ...ENDPOINT, OTEL_METRICS_EXPORTER: 'none' }, true, false],
  ])('settings of telemetry send what is asked for by %j', (environment, isTraced, isMeasured) => {
    expect(readTelemetrySettings(environment)).toMatchObject({ isTraced, isMeasured })
  })

  test.each([{}, { OTEL_EXPORTER_OTLP_ENDPOINT: '' }, { ...ENDPOINT, OTEL_SDK_DISABLED: 'true' }])(
    'settings of telemetry load nothing for %j',
    async (environment) => {
      expect(await loadTelemetry(environment, log)).toBeUndefined()
    },
  )
})
