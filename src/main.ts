import { pino } from 'pino'
import { ConfigurationError } from './base/errors.ts'
import { runUntilSignal } from './http/process.ts'
import { startDeadLetterServer, startServer } from './http/server.ts'
import { readSettings } from './http/settings.ts'
import { findEndpoint } from './kubernetes/endpoint.ts'
import { notAPod } from './kubernetes/in-cluster.ts'
import { createTransport } from './kubernetes/transport.ts'
import { loadTelemetry } from './telemetry/telemetry.ts'

/** `node server.mjs [function …]` serves the named functions, or all; `node server.mjs dead-letter` serves the dead-letter sink. */
await runUntilSignal(async () => {
  const settings = readSettings(process.env)
  const log = pino({ level: settings.LOG_LEVEL, base: null })
  const names = process.argv.slice(2)
  const endpoint = await findEndpoint(settings.KUBECONFIG)
  const transport = endpoint && createTransport(endpoint)
  if (names[0] === 'dead-letter') return await startDeadLetterServer({ settings, transport, log })
  if (!transport)
    throw new ConfigurationError(`No Kubernetes API: ${notAPod(process.env)}, and KUBECONFIG is not set either`)
  const telemetry = await loadTelemetry(process.env, log)
  return await startServer({ settings, names, transport, log, telemetry })
})
