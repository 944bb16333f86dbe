import type { Hono } from 'hono'
import { createFunctions } from '../../functions/index.ts'
import { createAdmissionPolicyCheck } from '../../src/core/access/admission-policy.ts'
import { createAuthenticate } from '../../src/core/access/authenticate.ts'
import { createAuthorizeAuthor } from '../../src/core/access/document-authors.ts'
import type { Later } from '../../src/core/events/deliver.ts'
import { createHandler } from '../../src/core/events/handle.ts'
import { createQueue } from '../../src/core/events/queue.ts'
import type { Features } from '../../src/core/feature/combine.ts'
import type { Handled } from '../../src/core/reconcile/outcome.ts'
import { createStep } from '../../src/core/reconcile/step.ts'
import { createEmbeddedApi, type EmbeddedApi } from '../../src/embedded/api/api.ts'
import { features as everyFeature } from '../../src/features.ts'
import type { Budget } from '../../src/platform/base/budget.ts'
import type { Log } from '../../src/platform/base/log.ts'
import { createMemo } from '../../src/platform/base/memo.ts'
import type { YieldTurn } from '../../src/platform/base/yield-turn.ts'
import { type Event, readEvent, writeEvent } from '../../src/platform/cloudevents/cloud-event.ts'
import { createSink } from '../../src/platform/cloudevents/sink.ts'
import {
  createKubernetes,
  type Transport,
  type TransportAnswer,
  type TransportRequest,
} from '../../src/platform/kubernetes/client.ts'
import type { KubernetesObject } from '../../src/platform/kubernetes/objects.ts'
import type { ShareLists } from '../../src/platform/kubernetes/shared-lists.ts'
import { createApp } from '../../src/serve/http/app.ts'
import { createApplications } from '../../src/serve/http/applications.ts'
import { createExplain } from '../../src/serve/http/explain.ts'
import { createLint } from '../../src/serve/http/lint.ts'
import { createNameSender } from '../../src/serve/http/sender-name.ts'
import { logStep } from '../../src/serve/http/step-log.ts'
import { fakeClock } from './clock.ts'

export const NAMESPACE = 'shop'
export const APPLICATION = 'web'
export const SUBJECT = { namespace: NAMESPACE, application: APPLICATION }
const labelsOf = (name: string) => ({ 'app.kubernetes.io/name': name })

/** Its pods carry its own name, and run as a ServiceAccount of that name. */
export const workload = (kind: 'StatefulSet' | 'Deployment' = 'StatefulSet', name = APPLICATION): KubernetesObject => ({
  apiVersion: 'apps/v1',
  kind,
  metadata: { name, namespace: NAMESPACE, labels: labelsOf(name) },
  spec: {
    replicas: 2,
    ...(kind === 'StatefulSet' && { serviceName: name }),
    selector: { matchLabels: labelsOf(name) },
    template: {
      metadata: { labels: { ...labelsOf(name), team: 'blue' } },
      spec: { serviceAccountName: name, containers: [{ name: 'c', image: 'x:1' }] },
    },
  },
})

/** It selects the pods of the workload of its name. */
export const service = (name = APPLICATION): KubernetesObject => ({
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { name, namespace: NAMESPACE, labels: labelsOf(name) },
  spec: { selector: labelsOf(name), ports: [{ port: 80 }] },
})

/** Answers in place of the API server, or lets the call pass by answering undefined. */
export type Intercept = (
  request: TransportRequest,
) => TransportAnswer | Promise<TransportAnswer | undefined> | undefined

export type World = {
  api: EmbeddedApi
  app: Hono
  clock: ReturnType<typeof fakeClock>
  /** `PATCH /apis/…`, every call since the last `calls.length = 0`. */
  calls: string[]
  intercept: Intercept | undefined
  published: Event[]
  /** Why the sink accepts nothing, or nothing for one receiver. */
  refusePublishing: Error | { subject: string; error: Error } | undefined
  /** Takes an event in place of `published`, and answers with the HTTP status of the sink. */
  sink: ((event: Event) => Promise<number>) | undefined
  /** Sends an event and answers with the data of the reply; fails on any status but 200. */
  send(type: string, data: Record<string, unknown>, attributes?: Partial<Event>): Promise<Handled>
  /** Sends an event and answers with the response as it is. */
  post(event: Event, path?: string): Promise<Response>
  object(kind: string, name?: string): KubernetesObject | undefined
  /** The labels on the workload's template and on the Service. */
  labels(name?: string): { template: Record<string, string>; service: Record<string, string> }
  /** The parsed memory, undefined when there is none. */
  memory(application?: string): { labels: Record<string, string>; state: Record<string, unknown> } | undefined
}

/** The bearer of the token `good`. */
const SENDER = 'somebody'

/** Accounts have no rights but those of `senders`. */
const ACCOUNT = 'system:serviceaccount:'

const silent = () => undefined
const SILENT: Log = { info: silent, warn: silent, error: silent }

/** The functions on an embedded API that holds `objects`, written by a manager `juju`, without HTTP in between. */
export const createWorld = (
  objects: readonly KubernetesObject[] = [workload(), service()],
  {
    isOwnSink = false,
    allows,
    senders = [],
    tokens = {},
    log = SILENT,
    features = everyFeature,
    yieldTurn,
    later,
    share,
    budget,
    base,
  }: {
    /** A cluster of which the world has a copy. @default an empty one */
    base?: EmbeddedApi
    /** @default each client reads its lists alone */
    share?: ShareLists
    budget?: Budget
    isOwnSink?: boolean
    /** @default an answer waits until it is noted what was sent */
    later?: Later
    /** @default nobody else has a turn */
    yieldTurn?: YieldTurn
    log?: Log
    /** Switches authentication on: `{subresource} {name}` that a user may update, or `{verb} {resource} {name}`; `somebody` has the token `good`. */
    allows?: (about: string, username: string) => boolean
    /** Other users who may update applications. */
    senders?: readonly string[]
    /** The users of more tokens. */
    tokens?: Readonly<Record<string, string>>
    /** @default every feature there is */
    features?: Features
  } = {},
): World => {
  const clock = { ...fakeClock(), ...(yieldTurn && { yieldTurn }) }
  const api = (base?.copy ?? createEmbeddedApi)({
    now: () => new Date(clock.now()),
    tokens: { good: SENDER, ...tokens },
    audiences: ['meshstep'],
    allows: (username, { group, subresource = '', name = '*', verb, resource }) =>
      username.startsWith(ACCOUNT)
        ? senders.includes(username)
        : allows?.(
            group === 'meshstep.dev' ? `${subresource} ${name}`.trim() : `${verb} ${resource} ${name}`,
            username,
          ) === true,
  })
  api.seed(objects, { manager: 'juju' })
  const calls: string[] = []
  const published: Event[] = []
  const publish = (sent: Event): void => {
    const refused = world.refusePublishing
    if (refused instanceof Error) throw refused
    if (refused && refused.subject === sent.subject) throw refused.error
    published.push(sent)
  }
  const send = createSink({
    sink: 'http://sink',
    clock,
    send: async (_, { headers, body }) => {
      const event = readEvent({ headers, body: Buffer.from(String(body)) })
      return { status: (await world.sink?.(event)) ?? 202, headers: {}, body: '' }
    },
  })
  const transport: Transport = async (request) => {
    calls.push(`${request.method} ${request.path}`)
    return (await world.intercept?.(request)) ?? api.handle(request)
  }
  const memo = createMemo()
  const connect = (deadline: number) => createKubernetes({ transport, clock, deadline, memo, ...(share && { share }) })
  const environment = { resolver: '10.96.0.10' }
  const checkAdmissionPolicy = allows && createAdmissionPolicyCheck({ connect, clock })
  const authenticate = allows && createAuthenticate({ audience: 'meshstep', clock })
  const authorizeAuthor = allows && createAuthorizeAuthor({ connect, clock })
  const step = createStep({
    features,
    connect,
    clock,
    environment,
    checkAdmissionPolicy,
    authorizeAuthor,
    ...(budget && { budget }),
  })
  const handle = createHandler({
    features,
    functions: createFunctions(features),
    step,
    enqueue: createQueue(step),
    connect,
    publish: isOwnSink
      ? undefined
      : async (event, deadline) => (world.sink ? await send(event, deadline) : publish(event)),
    authenticate,
    clock,
    timeoutMilliseconds: 10_000,
    newId: () => 'id',
    later,
    onStep: (step) => logStep(log, step),
  })
  const explain = createExplain({ features, connect, clock, timeoutMilliseconds: 10_000 })
  const applications = createApplications({
    features,
    connect,
    authenticate,
    authorizeAuthor,
    checkAdmissionPolicy,
    clock,
    environment,
    timeoutMilliseconds: 10_000,
  })
  const reading = { features, connect, authenticate, clock, environment, timeoutMilliseconds: 10_000 }
  const lint = createLint({ ...reading, authorizeAuthor })
  const app = createApp({
    handle,
    explain,
    applications,
    lint,
    nameSender: createNameSender({ authenticate, connect, clock, timeoutMilliseconds: 10_000 }),
    clock,
    log,
    newId: () => 'id',
  })

  const post: World['post'] = async (event, path = '/') => {
    const { headers, body } = writeEvent(event)
    return await app.request(path, { method: 'POST', headers: { ...headers, authorization: 'Bearer good' }, body })
  }
  const object: World['object'] = (kind, name = APPLICATION) =>
    api.objects().find((one) => one.kind === kind && one.metadata.name === name && one.metadata.namespace === NAMESPACE)

  const world: World = {
    api,
    app,
    clock,
    calls,
    intercept: undefined,
    published,
    refusePublishing: undefined,
    sink: undefined,
    post,
    object,
    send: async (type, data, attributes = {}) => {
      const response = await post(event(type, data, attributes))
      const body = new Uint8Array(await response.arrayBuffer())
      if (response.status !== 200) throw new Error(`${response.status} ${Buffer.from(body).toString()}`)
      return readEvent({ headers: Object.fromEntries(response.headers), body }).data as Handled
    },
    labels: (name = APPLICATION) => {
      const found = object('StatefulSet', name) ?? object('Deployment', name)
      const template = found?.spec?.template as { metadata: { labels?: Record<string, string> } } | undefined
      return { template: template?.metadata.labels ?? {}, service: object('Service', name)?.metadata.labels ?? {} }
    },
    memory: (application = APPLICATION) => {
      const data = object('ConfigMap', `juju-service-mesh-${application}-labels`)?.data
      return data && { labels: JSON.parse(data.labels ?? '{}'), state: JSON.parse(data.state ?? '{}') }
    },
  }
  return world
}

let sent = 0

/** An event of ours about the application `shop/web`, from a source of its own, with an id that no other has. */
export const event = (name: string, data: Record<string, unknown>, attributes: Partial<Event> = {}): Event => ({
  id: `event-${++sent}`,
  source: '/test',
  type: `dev.meshstep.${name}.v1`,
  datacontenttype: 'application/json',
  extensions: {},
  data: { ...SUBJECT, ...data },
  ...attributes,
})

/** What a beacon says to an application that joins. */
export const MESH_LABELS = { 'istio.io/dataplane-mode': 'ambient', 'istio.io/use-waypoint': 'shop-beacon-waypoint' }

export const meshRelation = (labels: unknown = MESH_LABELS, id = 7) => ({
  relation: { id, endpoint: 'service-mesh', interface: 'service_mesh', role: 'requires' },
  remote: { application: 'beacon', data: { labels, mesh_type: 'istio' } },
})

/** Labels as another field manager would set them. */
export const setLabels = (
  world: World,
  manager: string,
  labels: Record<string, string | null>,
  kind: 'statefulsets' | 'services' = 'statefulsets',
) => {
  const metadata = { metadata: { labels } }
  const group = kind === 'services' ? '/api/v1' : '/apis/apps/v1'
  return world.api.handle({
    method: 'PATCH',
    path: `${group}/namespaces/${NAMESPACE}/${kind}/${APPLICATION}?fieldManager=${manager}`,
    headers: { 'content-type': 'application/merge-patch+json' },
    body: JSON.stringify(kind === 'services' ? metadata : { spec: { template: metadata } }),
  })
}

export const isWrite = (call: string): boolean => !call.startsWith('GET')

/** The answer of an API server to a call for which there is no permission. */
export const FORBIDDEN: TransportAnswer = {
  status: 403,
  headers: {},
  body: JSON.stringify({ kind: 'Status', status: 'Failure', reason: 'Forbidden', message: 'no', code: 403 }),
}
