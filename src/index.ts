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

/** All functions, in the order in which the documentation has them. */
export const functions: readonly EventFunction[] = createFunctions(features).map(({ name, type }) => ({
  name,
  type,
  schema: schemas[name]?.() ?? {},
}))

/** A log, like the console or pino: the fields come first. */
export type Log = {
  info(fields: Record<string, unknown>, message: string): void
  warn(fields: Record<string, unknown>, message: string): void
  error(fields: Record<string, unknown>, message: string): void
}

export type AppOptions = {
  /** The path of a kubeconfig, whose current context is acted on. @default the cluster of the pod that this is */
  readonly kubeconfig?: string
  /** The functions to serve. @default all */
  readonly functions?: readonly Pick<EventFunction, 'name'>[]
  /** The URL that events for other applications go to, as Knative's K_SINK. @default the app itself */
  readonly sink?: string
  /** The audience of bearer tokens. If set, every event and question must carry a token for it. */
  readonly audience?: string
  /** Names that requests may have as Host without an audience, `*.` before one for all below it, beside localhost and IP addresses. @default Services of the cluster */
  readonly hosts?: readonly string[]
  /** Each step, and each event that is not taken. @default nowhere */
  readonly log?: Log
}

/** An app for any server that speaks `fetch`. */
export type App = {
  /** Answers a request. A path that the app is mounted at is not part of the request's, as with Hono's `mount`. */
  fetch(request: Request): Promise<Response>
  /** Takes no more events, which are answered 503, and ends its streams and idle connections. */
  close(): void
}

/**
 * Creates an app that serves the functions, as `POST /` and `POST /{function}`, with the questions beside them. Rejects when there is no
 * cluster to act on, or an option is wrong, with an error that says which.
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
  // as a setting of the process an empty one counts as none, which here would let everybody in by mistake
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
