import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import type { Server, ServerResponse } from 'node:http'
import { type AddressInfo, isIPv6 } from 'node:net'
import { promisify } from 'node:util'
import type { Hono } from 'hono'
import { createFunctions } from '../../../functions/index.ts'
import { createPreview, type Preview } from '../../ask/preview/preview.ts'
import { createAccessReviews } from '../../core/access/access-reviews.ts'
import { createAdmissionPolicyCheck } from '../../core/access/admission-policy.ts'
import { createAuthenticate } from '../../core/access/authenticate.ts'
import { createAuthorizeAuthor } from '../../core/access/document-authors.ts'
import type { EventFunction } from '../../core/events/event-function.ts'
import { createHandler } from '../../core/events/handle.ts'
import { createQueue } from '../../core/events/queue.ts'
import type { Environment } from '../../core/feature/feature.ts'
import { createStep } from '../../core/reconcile/step.ts'
import { features } from '../../features.ts'
import { systemClock as clock } from '../../platform/base/clock.ts'
import { ConfigurationError } from '../../platform/base/errors.ts'
import type { Log } from '../../platform/base/log.ts'
import { createMemo } from '../../platform/base/memo.ts'
import type { Trace } from '../../platform/base/trace.ts'
import type { Event } from '../../platform/cloudevents/cloud-event.ts'
import { createSink } from '../../platform/cloudevents/sink.ts'
import { createKubernetes, type Kubernetes, type Transport } from '../../platform/kubernetes/client.ts'
import { parseClusterDomain, parseResolver } from '../../platform/kubernetes/cluster-domain.ts'
import { recordEvent } from '../../platform/kubernetes/event-series.ts'
import { createSharedLists } from '../../platform/kubernetes/shared-lists.ts'
import type { Telemetry } from '../telemetry/telemetry.ts'
import { createServer } from './adaptor.ts'
import { createApp } from './app.ts'
import { type Applications, createApplications } from './applications.ts'
import { deadLetterKubernetesEvent, MANAGER } from './dead-letter-kubernetes-event.ts'
import { createDeadLetterSink } from './dead-letter-sink.ts'
import { createExplain, type Explain } from './explain.ts'
import { createFeedback } from './kubernetes-events.ts'
import { createLint } from './lint.ts'
import { portProblem } from './process-lifecycle.ts'
import { createPropose } from './propose.ts'
import { createNameSender, type NameSender } from './sender-name.ts'
import type { Settings } from './settings.ts'
import { logStep } from './step-log.ts'
import { createStepStream, type StepStream } from './step-stream.ts'
import { createTraffic } from './traffic.ts'

export type RunningServer = {
  readonly url: string
  /** Takes no more events. Resolves when those in progress are answered. */
  stop(): Promise<void>
}

type Options = {
  settings: Settings
  /** The functions to serve. An empty list means all. */
  names: readonly string[]
  transport: Transport
  log: Log
  telemetry?: Telemetry | undefined
  /** Adds routes that need the server's answers. */
  mount?: Mount | undefined
  /** Answers questions only, and takes no events. */
  isReading?: boolean
  /** The DNS settings. @default those of the pod */
  environment?: Environment | undefined
  newId?: (() => string) | undefined
}

/** An app with the functions, which can be mounted anywhere. */
export type Service = {
  readonly app: Hono
  /** The functions whose events are taken. */
  readonly functions: readonly EventFunction[]
  /** Ends the streams of steps. */
  endStreams(): void
  /** Takes no more events, and ends the streams of steps. */
  stop(): void
  /** Resolves when all background work is done. */
  finish(): Promise<void>
}

/** Adds routes to an app before it is served. */
export type Mount = (app: Hono, questions: Questions) => void

/** The questions that a server answers, and the means to answer others. */
export type Questions = {
  readonly explain: Explain
  readonly applications: Applications
  readonly preview: Preview
  readonly nameSender: NameSender
  /** The process knows a Prometheus. */
  readonly hasTraffic: boolean
  /** Absent if no steps are taken. */
  readonly steps?: StepStream | undefined
  readonly reading: Parameters<typeof createApplications>[0]
}

/** The time limit of an event. It is shorter than the request timeout of any Knative hop. */
const TIMEOUT_MILLISECONDS = 20_000

/** Time limits of a connection, in milliseconds. */
export type Timeouts = {
  /** The limit for an idle connection. Knative's queue-proxy reuses one for 90 s, and answers 502 if it was closed earlier. */
  readonly idle: number
  /** The limits for the headers of a request, and for the whole request. A slower sender gets 408 and is cut off. */
  readonly headers: number
  readonly request: number
  /** The time between two checks of these limits. */
  readonly interval: number
  /** The time from the stop signal until idle connections are closed. Requests that were sent before are answered. */
  readonly linger: number
}

const TIMEOUTS: Timeouts = { idle: 100_000, headers: 10_000, request: 20_000, interval: 5_000, linger: 200 }

/** Assembles the service. Throws ConfigurationError for an unknown function. */
export const createService = ({
  settings,
  names,
  log,
  telemetry,
  mount,
  isReading = false,
  environment = readEnvironment(),
  newId,
  ...options
}: Options): Service => {
  const functions = functionsNamed(names)
  const transport = telemetry?.transport(options.transport) ?? options.transport
  const memo = createMemo()
  const share = createSharedLists()
  const connect = (deadline: number, trace?: Trace) =>
    createKubernetes({ transport, clock, deadline, memo, share, trace })
  const { authenticate, authorizeAuthor, checkAdmissionPolicy } = accessOf(settings.EVENT_AUDIENCE, connect, isReading)
  let isStopping = false
  const steps = createStepStream({ connect, authenticate, clock, timeoutMilliseconds: TIMEOUT_MILLISECONDS })
  const publish = settings.K_SINK === undefined ? undefined : createSink({ sink: settings.K_SINK, clock })
  const step = createStep({ features, connect, clock, environment, checkAdmissionPolicy, authorizeAuthor })
  const left = new Set<Promise<unknown>>()
  const handle = createHandler({
    features,
    functions,
    step,
    enqueue: createQueue(step, clock),
    connect,
    publish: publish && (telemetry?.publish(publish) ?? publish),
    authenticate,
    clock,
    timeoutMilliseconds: TIMEOUT_MILLISECONDS,
    feedback: createFeedback({ connect, clock, log }),
    watch: telemetry?.watch,
    newId,
    later: async (work) => {
      const ended = work.catch(() => undefined).finally(() => left.delete(ended))
      left.add(ended)
    },
    onStep: (step) => {
      logStep(log, step)
      steps.publish(step)
    },
  })
  const reading = {
    ...{ features, connect, authenticate, authorizeAuthor, clock, environment },
    timeoutMilliseconds: TIMEOUT_MILLISECONDS,
  }
  const explain = createExplain(reading)
  const applications = createApplications({ ...reading, checkAdmissionPolicy })
  const lint = createLint(reading)
  const traffic = createTraffic({ ...reading, settings })
  const propose = createPropose({ ...reading, traffic })
  const preview = createPreview({ ...reading, functions: all, transport })
  const nameSender = createNameSender(reading)
  const taking = isReading ? {} : { handle: telemetry?.handle(handle) ?? handle, steps }
  const app = createApp({
    ...taking,
    explain,
    applications,
    lint,
    traffic,
    propose,
    preview,
    nameSender,
    // a page of another host has no token, so a token makes the check of hosts unnecessary
    hosts: authenticate ? undefined : hostsIn(settings, environment),
    clock,
    log,
    isStopping: () => isStopping,
    newId,
  })
  const hasTraffic = settings.PROMETHEUS_URL !== undefined
  mount?.(app, { explain, applications, preview, nameSender, reading, hasTraffic, ...(isReading ? {} : { steps }) })
  return {
    app,
    functions: isReading ? [] : functions,
    endStreams: steps.close,
    stop: () => {
      isStopping = true
      steps.close()
    },
    finish: async () => void (await Promise.all(left)),
  }
}

type Access = Pick<Questions['reading'], 'authenticate' | 'authorizeAuthor' | 'checkAdmissionPolicy'>

/** Builds the checks of senders and authors, if an audience is set. A process that only reads has no right to read admission policies. */
const accessOf = (
  audience: string | undefined,
  connect: (deadline: number) => Kubernetes,
  isReading: boolean,
): Access => {
  if (audience === undefined) return {}
  const reviews = createAccessReviews(clock)
  return {
    authenticate: createAuthenticate({ audience, clock, reviews }),
    authorizeAuthor: createAuthorizeAuthor({ connect, clock, reviews }),
    ...(!isReading && { checkAdmissionPolicy: createAdmissionPolicyCheck({ connect, clock }) }),
  }
}

const UNASKED =
  'EVENT_AUDIENCE is not set, so senders and authors are not authenticated: events and documents of anybody act with all rights of this process'

/** Serves functions at `settings.PORT`, or a free port if it is 0. It listens on the host's addresses, or on all without a host. */
export const startServer = async (
  options: Options & { readonly host?: string | undefined },
): Promise<RunningServer> => {
  const { settings, log, telemetry, host } = options
  const { app, functions, endStreams, stop, finish } = createService(options)
  const server = await listen(app, settings.PORT, TIMEOUTS, host)
  const { port } = server
  log.info({ ...(host !== undefined && { host }), port, functions: functions.map(({ name }) => name) }, 'listening')
  if (settings.EVENT_AUDIENCE === undefined && options.isReading !== true) log.info({}, UNASKED)
  return {
    url: `http://${host === undefined || EVERYWHERE.includes(host) ? '127.0.0.1' : isIPv6(host) ? `[${host}]` : host}:${port}`,
    stop: async () => {
      endStreams()
      await server.close()
      stop()
      await finish()
      await telemetry?.stop()
    },
  }
}

/** The time limit for recording a dead letter as a Kubernetes Event. */
const RECORD_MILLISECONDS = 5_000

/** Serves the dead-letter sink. Without an API server it only logs. */
export const startDeadLetterServer = async ({
  settings,
  transport,
  log,
}: Pick<Options, 'settings' | 'log'> & { transport?: Transport | undefined }): Promise<RunningServer> => {
  const record = async (event: Event, reason: string | undefined): Promise<void> => {
    const now = new Date(clock.now())
    const told = deadLetterKubernetesEvent(event, reason, now)
    if (!transport || !told) return
    const kubernetes = createKubernetes({ transport, clock, deadline: clock.now() + RECORD_MILLISECONDS })
    await recordEvent(kubernetes, told, { manager: MANAGER, now })
  }
  const hosts = hostsIn(settings, readEnvironment())
  const { port, close } = await listen(createDeadLetterSink({ log, hosts, record }), settings.PORT)
  log.info({ port }, 'listening for dead letters')
  return { url: `http://127.0.0.1:${port}`, stop: close }
}

const readIfThere = (path: string): string => {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return ''
  }
}

/** Reads the DNS server and the domain of the cluster from resolv.conf, as this process uses them. Without the file, the server is 127.0.0.1. */
const readEnvironment = (): Environment => {
  const text = readIfThere('/etc/resolv.conf')
  return { resolver: parseResolver(text) ?? '127.0.0.1', clusterDomain: parseClusterDomain(text) }
}

const EVERYWHERE = ['0.0.0.0', '::']

/** Lists the allowed hosts. By default these are names of Services, because they lead nowhere but to the cluster. */
const hostsIn = ({ ALLOWED_HOSTS }: Settings, { clusterDomain = 'cluster.local' }: Environment): readonly string[] =>
  ALLOWED_HOSTS ?? ['*.svc', `*.svc.${clusterDomain}`]

/** Many schemas, so they are made once. */
const all = createFunctions(features)

const functionsNamed = (names: readonly string[]) => {
  const known = all.map(({ name }) => name)
  const unknown = names.filter((name) => !known.includes(name))
  if (unknown.length > 0)
    throw new ConfigurationError(`${unknown.join(', ')}: no such function. There are ${known.join(', ')}`)
  return all.filter(({ name }) => names.length === 0 || names.includes(name))
}

/**
 * Serves an app at the port, or a free one if it is 0, on a host's address, or on all. Rejects with ConfigurationError if the port cannot be opened.
 * `close` answers requests that have arrived. It closes each connection after its answer, or when it has been idle for a while.
 */
export const listen = async (
  app: Hono,
  wanted: number,
  { idle, headers, request, interval, linger }: Timeouts = TIMEOUTS,
  host?: string,
): Promise<{ port: number; close(): Promise<void> }> => {
  const serverOptions = {
    keepAliveTimeout: idle,
    headersTimeout: headers,
    requestTimeout: request,
    connectionsCheckingInterval: interval,
  }
  const server = createServer(app, clock, serverOptions)
  const open = new Set<ServerResponse>()
  let isClosing = false
  server.prependListener('request', (_, response) => {
    if (isClosing) response.setHeader('connection', 'close')
    open.add(response)
    response.once('close', () => open.delete(response))
  })
  server.listen(wanted, host)
  await once(server, 'listening').catch((error: Error) => {
    throw portProblem(error, 'PORT', wanted)
  })
  return {
    port: (server.address() as AddressInfo).port,
    close: async () => {
      isClosing = true
      for (const response of open) if (!response.headersSent) response.setHeader('connection', 'close')
      await close(server, linger, () => open.size === 0)
    },
  }
}

/** The time between two checks for connections that can be closed, in milliseconds. */
const SWEEP = 20

/**
 * Closes a server. A kept-alive connection becomes idle only after its answer, which may be after the server stops listening, and an unused one never
 * counts as idle. So connections are checked again and again. A client may have sent a request on an idle connection already, so connections linger first:
 * Node would close them at once.
 */
const close = async (server: Server, linger: number, isDone: () => boolean): Promise<void> => {
  const connections = promisify(server.getConnections.bind(server))
  for (const end = clock.now() + linger; clock.now() < end && (await connections()) > 0; ) await clock.sleep(SWEEP)
  const closed = once(server, 'close')
  server.close()
  const sweeping = setInterval(() => (isDone() ? server.closeAllConnections() : server.closeIdleConnections()), SWEEP)
  await closed
  clearInterval(sweeping)
}
