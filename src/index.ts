import { createFunctions } from '../functions/index.ts'
import { features } from './features.ts'
import { ConfigurationError } from './platform/base/errors.ts'
import { inClusterEndpoint, notAPod } from './platform/kubernetes/in-cluster.ts'
import { createTransport } from './platform/kubernetes/transport.ts'
import { createService } from './serve/http/server.ts'
import { readSettings } from './serve/http/settings.ts'
import { schemas } from './serve/schemas/schemas.ts'

/** A function: it takes the CloudEvents of one type. */
export type EventFunction = {
  /** The last segment of the path that takes its events, as in `POST /relation-changed`. */
  readonly name: string
  /** The type of its events, as in `dev.meshstep.relation-changed.v1`. */
  readonly type: string
  /** The JSON Schema of the data of its events. */
  readonly schema: Readonly<Record<string, unknown>>
}

/** All functions, in the order of the documentation. */
export const functions: readonly EventFunction[] = createFunctions(features).map(({ name, type }) => ({
  name,
  type,
  schema: schemas[name]?.() ?? {},
}))

/** A log such as the console or pino, with the fields first. */
export type Log = {
  info(fields: Record<string, unknown>, message: string): void
  warn(fields: Record<string, unknown>, message: string): void
  error(fields: Record<string, unknown>, message: string): void
}

export type AppOptions = {
  /** The path of a kubeconfig. Its current context is used. @default the cluster of this pod */
  readonly kubeconfig?: string
  /** The functions to serve. @default all */
  readonly functions?: readonly Pick<EventFunction, 'name'>[]
  /** The URL for events to other applications, as Knative's K_SINK. @default the app itself */
  readonly sink?: string
  /** The audience of bearer tokens. If set, every event and question must carry a token for it. */
  readonly audience?: string
  /**
   * Allowed values of the Host header without an audience, besides localhost and IP addresses. `*.` before a name allows all names below it. @default
   * names of Services of the cluster
   */
  readonly hosts?: readonly string[]
  /** Logs each step, and each event that is not taken. @default nowhere */
  readonly log?: Log
}

/** An app for any server that speaks `fetch`. */
export type App = {
  /** Answers a request. The path at which the app is mounted is left out of the request's path, as with Hono's `mount`. */
  fetch(request: Request): Promise<Response>
  /** Takes no more events: they are answered with 503. Ends the streams and idle connections. */
  close(): void
}

/**
 * Creates an app with the functions, as `POST /` and `POST /{function}`, and the questions. Rejects if no cluster is found, or an option is wrong. The
 * error names the cause.
 */
export const createApp = async ({
  kubeconfig,
  functions: served,
  sink,
  audience,
  hosts,
  log,
}: AppOptions = {}): Promise<App> => {
  if (sink !== undefined && !URL.canParse(sink)) throw new ConfigurationError(`sink: expected a URL, got ${sink}`)
  // an empty setting would count as none, and so let in everybody by mistake
  if (audience === '') throw new ConfigurationError('audience: expected a name, got an empty one')
  const settings = readSettings({ K_SINK: sink, EVENT_AUDIENCE: audience, ALLOWED_HOSTS: hosts?.join(',') })
  const transport = createTransport(await findEndpoint(kubeconfig))
  const names = served?.map(({ name }) => name) ?? []
  const { app, stop, finish } = createService({ settings, names, transport, log: log ?? SILENT })
  return {
    fetch: async (request) => await app.fetch(request),
    close: () => {
      stop()
      void finish().then(() => transport.close())
    },
  }
}

const SILENT: Log = { info: () => undefined, warn: () => undefined, error: () => undefined }

const findEndpoint = async (kubeconfig: string | undefined) => {
  if (kubeconfig !== undefined)
    return (await import('./platform/kubernetes/kubeconfig.ts')).kubeconfigEndpoint(kubeconfig)
  const endpoint = inClusterEndpoint(process.env)
  if (endpoint === undefined)
    throw new ConfigurationError(`No Kubernetes API: ${notAPod(process.env)}: name a kubeconfig`)
  return endpoint
}
