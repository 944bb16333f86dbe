import { createLog, type Log } from '../base/log.ts'
import { createEmbeddedApi } from '../embedded/api.ts'
import { example } from '../embedded/demo/example.ts'
import { startIstio } from '../embedded/demo/istio.ts'
import { startSource } from '../embedded/demo/source.ts'
import { startEmbeddedApi } from '../embedded/server.ts'
import { portProblem, runUntilSignal } from '../http/process.ts'
import { type Mount, type RunningServer, startServer } from '../http/server.ts'
import { readSettings, type Settings } from '../http/settings.ts'
import { createTransport } from '../kubernetes/transport.ts'
import { assetsOfSources } from '../page/assets.ts'
import { mountPage } from '../page/page.ts'
import { type Story, story } from '../page/story.ts'
import { loadTelemetry } from '../telemetry/telemetry.ts'

/**
 * Serves the named functions, or all, until a signal: on the cluster that KUBECONFIG names when it is set, and else on an embedded
 * Kubernetes API with an example.
 */
export const runLocal = (names: readonly string[]): Promise<void> =>
  runUntilSignal(async () => {
    const settings = readSettings(process.env)
    const log = createLog(settings.LOG_LEVEL)
    if (settings.KUBECONFIG === undefined) return await startEmbedded({ settings, names, log })
    const { kubeconfigEndpoint } = await import('../kubernetes/kubeconfig.ts')
    const transport = createTransport(kubeconfigEndpoint(settings.KUBECONFIG))
    const telemetry = await loadTelemetry(process.env, log)
    return await startServer({ settings, names, transport, log, telemetry, mount: pageWith([]) })
  })

const pageWith =
  (told: readonly Story[]): Mount =>
  (app, questions) =>
    mountPage(app, questions, { assets: assetsOfSources(), story: told })

type Local = { settings: Settings; names: readonly string[]; log: Log }

const startEmbedded = async ({ settings, names, log }: Local): Promise<RunningServer> => {
  const api = createEmbeddedApi()
  const istio = startIstio({ api })
  api.seed(example, { manager: 'juju' })
  const embedded = await startEmbeddedApi({ api, port: settings.EMBEDDED_PORT }).catch((error: Error) => {
    throw portProblem(error, 'EMBEDDED_PORT', settings.EMBEDDED_PORT)
  })
  const credentials = async () => ({})
  const transport = createTransport({ server: embedded.url, credentials })
  const telemetry = await loadTelemetry(process.env, log)
  const server = await startServer({ settings, names, transport, log, telemetry, mount: pageWith(story) })
  const source = startSource({ api, sink: settings.K_SINK ?? server.url, log })
  log.info(
    { url: embedded.url, try: `kubectl --server ${embedded.url} get statefulsets,deployments,services,pods -A` },
    'embedded Kubernetes API',
  )
  return {
    url: server.url,
    stop: async () => {
      await source.stop()
      istio.stop()
      await server.stop()
      await embedded.close()
    },
  }
}
