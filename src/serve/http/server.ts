import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import type { Server, ServerResponse } from 'node:http'
import { type AddressInfo, isIPv6 } from 'node:net'
import { promisify } from 'node:util'
import type { Hono } from 'hono'
import { createFunctions } from '../../../functions/index.ts'
import { createLint } from '../../ask/lint/lint.ts'
import { createPreview, type Preview } from '../../ask/preview/preview.ts'
import { createAccessReviews } from '../../core/access/access-reviews.ts'
import { createAdmissionPolicyCheck } from '../../core/access/admission-policy.ts'
import { type Authenticate, createAuthenticate } from '../../core/access/authenticate.ts'
import { type AuthorizeAuthor, createAuthorizeAuthor } from '../../core/access/document-authors.ts'
import type { EventFunction } from '../../core/events/event-function.ts'
import { createFeedback } from '../../core/events/feedback.ts'
import { createHandler } from '../../core/events/handle.ts'
import { createQueue } from '../../core/events/queue.ts'
import { createSink } from '../../core/events/sink.ts'
import type { Features } from '../../core/feature/combine.ts'
import type { Environment } from '../../core/feature/feature.ts'
import { createStep } from '../../core/reconcile/step.ts'
import { features } from '../../features.ts'
import { type Clock, systemClock as clock } from '../../platform/base/clock.ts'
import { ConfigurationError } from '../../platform/base/errors.ts'
import type { Log } from '../../platform/base/log.ts'
import { createMemo } from '../../platform/base/memo.ts'
import type { Trace } from '../../platform/base/trace.ts'
import type { Event } from '../../platform/cloudevents/cloud-event.ts'
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
import { portProblem } from './process-lifecycle.ts'
import { createNameSender, type NameSender } from './sender-name.ts'
import type { Settings } from './settings.ts'
import { logStep } from './step-log.ts'
import { createStepStream, type StepStream } from './step-stream.ts'

export type RunningServer = {
  readonly url: string
  /** Takes no more events, and resolves when those in flight are answered. */
  stop(): Promise<void>
}

type Options = {
  settings: Settings
  /** The functions to serve, all when empty. */
  names: readonly string[]
  transport: Transport
  log: Log
  telemetry?: Telemetry | undefined
  /** Adds routes of its own, for which there are answers. */
  mount?: Mount | undefined
  /** Answers questions alone, and takes no event. */
  isReading?: boolean
  /** That of the pod, where none is given. */
  environment?: Environment | undefined
  newId?: (() => string) | undefined
}

/** An app that answers what the functions answer, wherever it is mounted. */
export type Service = {
  readonly app: Hono
  /** Those whose events are taken. */
  readonly functions: readonly EventFunction[]
  /** Ends the streams of steps. */
  endStreams(): void
  /** Takes no more events, and ends the streams of steps. */
  stop(): void
  /** Resolves when all is done that no answer waited for. */
  finish(): Promise<void>
}

/** Adds routes to an app before it is served. */
export type Mount = (app: Hono, questions: Questions) => void

/** The questions that a server answers, and what it takes to answer more. */
export type Questions = {
  readonly explain: Explain
  readonly applications: Applications
  readonly preview: Preview
  readonly nameSender: NameSender
  /** Absent where no steps are taken. */
  readonly steps?: StepStream | undefined
  readonly reading: {
    readonly features: Features
    connect(deadline: number): Kubernetes
    readonly authenticate?: Authenticate | undefined
    readonly authorizeAuthor?: AuthorizeAuthor | undefined
    readonly clock: Clock
    readonly environment: Environment
    readonly timeoutMilliseconds: number
  }
}

/** The time limit of an event: less than the request timeout of any Knative hop. */
const TIMEOUT_MILLISECONDS = 20_000

/** Time that a connection has, in milliseconds. */
export type Timeouts = {
  /** Between requests. Knative's queue-proxy reuses an idle connection for 90 s: one that is closed before makes it answer 502. */
  readonly idle: number
  /** For the headers of a request, and for all of it: who sends more slowly is answered 408 and cut off. */
  readonly headers: number
  readonly request: number
  /** Between two looks at them. */
  readonly interval: number
  /** From the signal to stop until idle connections are closed: what was sent on them by then is answered. */
  readonly linger: number
}

const TIMEOUTS: Timeouts = { idle: 100_000, headers: 10_000, request: 20_000, interval: 5_000, linger: 200 }

/** Puts together what serves the functions. Throws ConfigurationError for a function that there is not. */
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
  const preview = createPreview({ ...reading, functions: all, transport })
  const nameSender = createNameSender(reading)
  const taking = isReading ? {} : { handle: telemetry?.handle(handle) ?? handle, steps }
  const app = createApp({
    ...taking,
    explain,
    applications,
    lint,
    preview,
    nameSender,
    // no page of somebody else has a token
    hosts: authenticate ? undefined : hostsIn(settings, environment),
    clock,
    log,
    isStopping: () => isStopping,
    newId,
  })
  mount?.(app, { explain, applications, preview, nameSender, reading, ...(isReading ? {} : { steps }) })
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

type Access = {
  readonly authenticate?: Authenticate
  readonly authorizeAuthor?: AuthorizeAuthor
  readonly checkAdmissionPolicy?: ReturnType<typeof createAdmissionPolicyCheck>
}

/** Asks who sends events and writes documents, where an audience is set. Who only reads has no right to look at admission policies. */
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
  'documents are taken whoever wrote them, with all rights of this process: EVENT_AUDIENCE is not set, so nobody is authenticated'

/** Serves functions at `settings.PORT`, or at a free port when that is 0, of the host's addresses, or of all. */
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

/** Reads the cluster's DNS, which this process asks itself, and its domain; outside a pod there is none to read. */
const readEnvironment = (): Environment => {
  const text = readIfThere('/etc/resolv.conf')
  return { resolver: parseResolver(text) ?? '127.0.0.1', clusterDomain: parseClusterDomain(text) }
}

const EVERYWHERE = ['0.0.0.0', '::']

/** Names of Services of the cluster lead to it alone. */
const hostsIn = ({ ALLOWED_HOSTS }: Settings, { clusterDomain = 'cluster.local' }: Environment): readonly string[] =>
  ALLOWED_HOSTS ?? ['*.svc', `*.svc.${clusterDomain}`]

/** Made of many schemas, once for the process. */
const all = createFunctions(features)

const functionsNamed = (names: readonly string[]) => {
  const known = all.map(({ name }) => name)
  const unknown = names.filter((name) => !known.includes(name))
  if (unknown.length > 0)
    throw new ConfigurationError(`${unknown.join(', ')}: no such function. There are ${known.join(', ')}`)
  return all.filter(({ name }) => names.length === 0 || names.includes(name))
}

/**
 * Serves an app at the port, or at a free one when that is 0, of a host's address, or of all. Rejects with ConfigurationError when that cannot be
 * opened. `close` answers what was asked by then, and closes each connection with its answer, or when nothing was asked on it for a while.
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

/** Looks, in milliseconds, for connections that can be closed. */
const SWEEP = 20

/**
 * A connection that is kept alive becomes idle when its answer is sent, some time after the server stopped listening; one on which
 * nothing was asked yet never counts as idle. Who uses one may have sent a request already: Node closes idle ones at once, so they linger first.
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
