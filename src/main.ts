import { startupSnapshot } from 'node:v8'
import { ConfigurationError } from './base/errors.ts'
import { createLog } from './base/log.ts'
import { runUntilSignal } from './http/process-lifecycle.ts'
import { startDeadLetterServer, startServer } from './http/server.ts'
import { readSettings } from './http/settings.ts'
import { warmUp } from './http/warm-up.ts'
import { findEndpoint } from './kubernetes/endpoint.ts'
import { notAPod } from './kubernetes/in-cluster.ts'
import { createTransport } from './kubernetes/transport.ts'
import { loadTelemetry } from './telemetry/telemetry.ts'

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
 * `server.cjs [function …]` serves the named functions, or all; `server.cjs dead-letter` serves the dead-letter sink; `server.cjs warm-up`
 * takes some steps on no cluster, and ends: Node then keeps what it compiled.
 */
const main = (): void => {
  const names = process.argv.slice(2)
  void (names[0] === 'warm-up' ? warmUp() : runUntilSignal(() => serve(names)))
}

if (startupSnapshot.isBuildingSnapshot()) {
  startupSnapshot.setDeserializeMainFunction(main)
  void warmUp()
} else main()
