import { setImmediate as nextTurn } from 'node:timers/promises'
import { createEmbeddedApi } from '../embedded/api/api.ts'
import { startEmbeddedApi } from '../embedded/api/server.ts'
import { type Example, type ExampleName, examples } from '../embedded/demo/examples.ts'
import { startIstio } from '../embedded/demo/istio.ts'
import { startSource } from '../embedded/demo/source.ts'
import { ConfigurationError } from '../platform/base/errors.ts'
import { isLoopback } from '../platform/base/hosts.ts'
import { createLog, type Log } from '../platform/base/log.ts'
import type { Transport } from '../platform/kubernetes/client.ts'
import { createTransport } from '../platform/kubernetes/transport.ts'
import { portProblem, runUntilSignal } from '../serve/http/process-lifecycle.ts'
import { type Mount, type RunningServer, startServer } from '../serve/http/server.ts'
import { readSettings, type Settings } from '../serve/http/settings.ts'
import { findAssets } from '../serve/page/assets.ts'
import { mountPage } from '../serve/page/page.ts'
import { type Story, story } from '../serve/page/story.ts'
import { loadTelemetry } from '../serve/telemetry/telemetry.ts'
import { agree, terminal } from './consent.ts'
import { greeting, readableLine, type Served } from './for-people.ts'

/** The options of the start, besides the settings. */
export type Said = {
  /** The address to listen on. @default the loopback interface */
  readonly host?: string | undefined
  /** Events may act on the cluster of KUBECONFIG without a question. */
  readonly yes?: boolean | undefined
  /** Other machines may send events without a token. */
  readonly withoutAuthentication?: boolean | undefined
  /** The URL of Prometheus. @default PROMETHEUS_URL */
  readonly prometheus?: string | undefined
  /** The beginning of the embedded Kubernetes API. @default bookinfo */
  readonly example?: ExampleName | undefined
}

/**
 * Serves the named functions, or all, until a signal. They act on the cluster of KUBECONFIG if it is set and a person agrees, else on an embedded
 * Kubernetes API with an example.
 */
export const runLocal = (names: readonly string[], said: Said): Promise<void> =>
  runUntilSignal(async () => {
    const { host = '127.0.0.1' } = said
    const given = readSettings({ ...process.env, ...(said.prometheus && { PROMETHEUS_URL: said.prometheus }) })
    const settings = { ...given, ALLOWED_HOSTS: [...(given.ALLOWED_HOSTS ?? []), host.toLowerCase()] }
    const log = createLog(settings.LOG_LEVEL, isTerminal ? writeReadable : undefined)
    if (!isLoopback(host) && settings.EVENT_AUDIENCE === undefined && !said.withoutAuthentication)
      throw new ConfigurationError(
        `--host ${host} takes events from other machines, of whoever reaches it: set EVENT_AUDIENCE, so that they need a token, or say --without-authentication`,
      )
    const { KUBECONFIG: kubeconfig } = settings
    const local = { settings, names, log, host }
    return await (kubeconfig === undefined ? startEmbedded(local, said) : startOnCluster(local, kubeconfig, said))
  })

const startOnCluster = async (
  { settings, names, log, host }: Local,
  kubeconfig: string,
  { yes, example }: Said,
): Promise<RunningServer> => {
  if (example !== undefined)
    throw new ConfigurationError(
      `--example ${example} is for the embedded Kubernetes API, and KUBECONFIG names a cluster: unset it, or leave out --example`,
    )
  const { kubeconfigEndpoint, describeCluster } = await import('../platform/kubernetes/kubeconfig.ts')
  const transport = createTransport(kubeconfigEndpoint(kubeconfig))
  const cluster = describeCluster(kubeconfig)
  if (!yes) await agree(cluster, terminal())
  log.info({ cluster }, 'acts on a cluster')
  const telemetry = await loadTelemetry(process.env, log)
  const server = await startServer({ settings, names, transport, log, telemetry, host, mount: pageWith([]) })
  greet({ functions: server.url })
  return server
}

/** JSON is for programs, and at a terminal a person reads. */
const isTerminal = process.stdout.isTTY === true

const writeReadable = (line: string): void => void process.stdout.write(readableLine(line))

const greet = (served: Served): void => {
  if (isTerminal) process.stdout.write(greeting(served))
}

const pageWith =
  (told: readonly Story[]): Mount =>
  (app, questions) =>
    mountPage(app, questions, { assets: findAssets(), story: told })

type Local = { settings: Settings; names: readonly string[]; log: Log; host: string }

const startEmbedded = async ({ settings: given, names, log, host }: Local, said: Said): Promise<RunningServer> => {
  const example: Example = examples[said.example ?? 'bookinfo']
  const api = createEmbeddedApi()
  const istio = startIstio({ api })
  api.seed(example.objects, { manager: 'juju' })
  const { EMBEDDED_PORT: port } = given
  const embedded = await startEmbeddedApi({ api, port, intercept: example.answer }).catch((error: Error) => {
    throw portProblem(error, 'EMBEDDED_PORT', port)
  })
  const prometheus = example.prometheus && `${embedded.url}${example.prometheus}`
  const settings = { ...given, PROMETHEUS_URL: given.PROMETHEUS_URL ?? prometheus }
  // over HTTP each call costs more than its answer; without a turn for each, a long question lets nobody else in
  const transport: Transport = async (request) => {
    await nextTurn()
    return api.handle(request)
  }
  const telemetry = await loadTelemetry(process.env, log)
  const server = await startServer({ settings, names, transport, log, telemetry, host, mount: pageWith(story) })
  const source = startSource({ api, sink: settings.K_SINK ?? server.url, log })
  greet({ functions: server.url, kubernetes: embedded.url })
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
