import { startupSnapshot } from 'node:v8'
import { ConfigurationError } from './platform/base/errors.ts'
import { createLog } from './platform/base/log.ts'
import { findEndpoint } from './platform/kubernetes/endpoint.ts'
import { notAPod } from './platform/kubernetes/in-cluster.ts'
import { createTransport } from './platform/kubernetes/transport.ts'
import { runUntilSignal } from './serve/http/process-lifecycle.ts'
import { startDeadLetterServer, startServer } from './serve/http/server.ts'
import { readSettings } from './serve/http/settings.ts'
import { warmUp } from './serve/http/warm-up.ts'
import { loadTelemetry } from './serve/telemetry/telemetry.ts'

const serve = async (names: readonly string[]) => {
  const settings = readSettings(process.env)
  const log = createLog(settings.LOG_LEVEL)
  const endpoint = await findEndpoint(settings.KUBECONFIG)
  const transport = endpoint && createTransport(endpoint)
  if (names[0] === 'dead-letter') return await startDeadLetterServer({ settings, transport, log })
  if (!transport)
    throw new ConfigurationError(`No Kubernetes API: ${notAPod(process.env)}, and KUBECONFIG is not set either`)
  const telemetry = await loadTelemetry(process.env, log)
  return await startServer({ settings, names, transport, log, telemetry })
}

/**
 * Starts the program. `server.cjs [function …]` serves the named functions, or all. `server.cjs dead-letter` serves the dead-letter sink. `server.cjs
 * warm-up` takes some steps without a cluster and ends, so that Node keeps the compiled code.
 */
const main = (): void => {
  const names = process.argv.slice(2)
  void (names[0] === 'warm-up' ? warmUp() : runUntilSignal(() => serve(names)))
}

if (startupSnapshot.isBuildingSnapshot()) {
  startupSnapshot.setDeserializeMainFunction(main)
  void warmUp()
} else main()
