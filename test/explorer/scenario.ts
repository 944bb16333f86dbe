import { isDeepStrictEqual } from 'node:util'
import { createHandler } from '../../src/core/events/handle.ts'
import { createQueue } from '../../src/core/events/queue.ts'
import { createStep } from '../../src/core/reconcile/step.ts'
import { createEmbeddedApi, type EmbeddedApi } from '../../src/embedded/api/api.ts'
import { features } from '../../src/features.ts'
import type { Event } from '../../src/platform/cloudevents/cloud-event.ts'
import { createKubernetes, type Transport, type TransportRequest } from '../../src/platform/kubernetes/client.ts'
import { type KubernetesObject, objectKey } from '../../src/platform/kubernetes/objects.ts'
import { fakeClock } from '../helpers/clock.ts'
import { functions } from '../helpers/functions.ts'
import { relationsById } from '../helpers/relations.ts'
import { APPLICATION, event, NAMESPACE, service, workload } from '../helpers/world.ts'
import { type Actor, type Bounds, explore, type Gate, type Run, runSchedule } from './scheduler.ts'

type Labels = Record<string, string>

/** The principals that each AuthorizationPolicy names, by its name. */
type Policies = Record<string, string[]>

/** Labels of one object that no schedule may change, not even for a moment. */
type Foreign = { template?: Labels; service?: Labels }

export type Scenario = {
  name: string
  objects?: readonly KubernetesObject[]
  /** Events taken, and writes made by others, before the race. */
  before?: readonly (Event | TransportRequest)[]
  /** What races: each event is delivered to a process of its own, each request is made by somebody else. */
  race: readonly (Event | TransportRequest)[]
  /** Events, and writes by others, that come when all is over. */
  after?: readonly (Event | TransportRequest)[]
  /** What must be true at the end, beside the properties that always hold; `mesh` is the labels that are ours. */
  ends: {
    template: Labels
    service: Labels
    memory: Labels | undefined
    pods?: Labels
    policies?: Policies
    /** The applications that the beacon is told of, as sources of policies. */
    told?: string[]
  }
  /** What is wrong with the objects as they are, at any moment. */
  never?: (objects: readonly KubernetesObject[]) => string | undefined
  foreign?: Foreign
  /** Whether the calls that remember what was sent take part in the race. */
  isPublishing?: true
  /** Whether a process takes itself what it sends. */
  isOwnSink?: true
  bounds: Bounds
}

const isEvent = (one: Event | TransportRequest): one is Event => 'type' in one

/** `notes` carries the calls that remember what was sent to an application without a memory. */
const process = (
  transport: Transport,
  { notes = transport, sink = [], isOwnSink }: { notes?: Transport; sink?: Event[]; isOwnSink?: true | undefined } = {},
) => {
  const clock = fakeClock()
  const connect = (deadline: number) => createKubernetes({ transport, clock, deadline })
  const stepOver = (over: Transport) =>
    createStep({
      features,
      connect: (deadline) => createKubernetes({ transport: over, clock, deadline }),
      clock,
      environment: { resolver: '10.96.0.10' },
    })
  const step = stepOver(transport)
  const [enqueue, note] = [createQueue(step), createQueue(stepOver(notes))]
  return createHandler({
    features,
    functions,
    step,
    enqueue: (subject, change, deadline) => (change.note ? note : enqueue)(subject, change, deadline),
    connect,
    publish: isOwnSink ? undefined : async (event) => void sink.push(event),
    clock,
    timeoutMilliseconds: 60_000,
  })
}

/** Remembering what was sent is a step of its own, at once unless the scenario is about that: it would double each schedule. */
const actorFor = (
  api: EmbeddedApi,
  { isPublishing, isOwnSink }: Scenario,
  sink: Event[],
  one: Event | TransportRequest,
  index: number,
): Actor => ({
  name: isEvent(one) ? `${one.type.split('.')[2]}#${index}` : `somebody#${index}`,
  run: async (gate: Gate) => {
    const transport: Transport = (request) => gate(() => api.handle(request), request)
    const direct: Transport = async (request) => api.handle(request)
    if (isEvent(one)) await process(transport, { notes: isPublishing ? transport : direct, sink, isOwnSink })(one, {})
    else await transport(one)
  },
})

/** Pods take time: most scenarios do not look at them. */
const scaled = (object: KubernetesObject, replicas: number): KubernetesObject =>
  object.spec?.template === undefined ? object : { ...object, spec: { ...object.spec, replicas } }

const fresh = async ({ objects = [workload(), service()], before = [], ends }: Scenario): Promise<EmbeddedApi> => {
  const api = createEmbeddedApi({ now: () => new Date(0) })
  const replicas = ends.pods === undefined ? 0 : 1
  api.seed(
    objects.map((object) => scaled(object, replicas)),
    { manager: 'juju' },
  )
  const direct: Transport = async (request) => api.handle(request)
  for (const one of before) await (isEvent(one) ? process(direct)(one, {}) : direct(one))
  return api
}

const labelsOn = ({ kind, metadata, spec }: KubernetesObject): Labels => {
  if (kind === 'Service') return metadata.labels ?? {}
  return (spec?.template as { metadata?: { labels?: Labels } } | undefined)?.metadata?.labels ?? {}
}

const foreignOn = (kind: string, { template = {}, service: onService = {} }: Foreign): Labels =>
  kind === 'StatefulSet' || kind === 'Deployment' ? template : kind === 'Service' ? onService : {}

const observed = (api: EmbeddedApi) => {
  const objects = api.objects()
  const find = (kind: string, name: string) => objects.find((one) => one.kind === kind && one.metadata.name === name)
  const labels = (object: KubernetesObject | undefined) => (object ? labelsOn(object) : {})
  const memory = find('ConfigMap', `juju-service-mesh-${APPLICATION}-labels`)?.data?.labels
  const policies = objects.filter(({ kind }) => kind === 'AuthorizationPolicy')
  return {
    policies: Object.fromEntries(policies.map((policy) => [policy.metadata.name, principalsIn(policy)])),
    template: labels(find('StatefulSet', APPLICATION) ?? find('Deployment', APPLICATION)),
    service: labels(find('Service', APPLICATION)),
    memory: memory === undefined ? undefined : (JSON.parse(memory) as Labels),
  }
}

const principalsIn = ({ spec }: KubernetesObject): string[] => JSON.stringify(spec).match(/(?<=\/sa\/)[a-z]+/g) ?? []

const subset = (labels: Labels, of: Labels) => Object.entries(of).every(([key, value]) => labels[key] === value)

/** Thrown with the schedule that breaks a property, so that it can be read and run again. */
export class Violation extends Error {
  constructor(scenario: string, property: string, trace: readonly string[], details: readonly unknown[]) {
    super(`${scenario}: ${property}\n${trace.join('\n')}\n${JSON.stringify(details, null, 1)}`)
  }
}

/** Runs every schedule of a scenario within its bounds, checks the properties after each, and answers with how many there were. */
export const check = (scenario: Scenario): Promise<number> => explore((path) => checkSchedule(scenario, path))

const checkSchedule = async (scenario: Scenario, path: readonly number[]): Promise<Run> => {
  const { name, race, after = [], bounds, ends } = scenario
  const { told } = ends
  const api = await fresh(scenario)
  const direct: Transport = async (request) => api.handle(request)
  const touched = watchForeign(api, scenario.foreign ?? {})
  const wrong = watchMoments(api, scenario)
  const sink: Event[] = []
  const actors = race.map((one, index) => actorFor(api, scenario, sink, one, index))
  const run = await runSchedule(actors, path, bounds)
  for (const one of after) await (isEvent(one) ? process(direct)(one, {}) : direct(one))
  const expect = (property: string, violations: readonly unknown[]) => {
    if (violations.length > 0) throw new Violation(name, property, run.trace, violations)
  }
  expect('every event is taken', run.failures.map(String))
  expect('2: foreign state is untouched, at every moment', touched)
  expect('6: the order of effect is safe, at every moment', wrong)
  expect('1, 3, 7: the cluster is as the memory desires it', differencesAtTheEnd(api, scenario))
  if (told) {
    expect('the memory says what the beacon is to be told', differencesFrom(told, said(api)))
    // what came late to the sink is mended by the next step, whatever that is about
    await process(direct, { sink })(event('pod-restarted', { pod: { name: 'web-0', uid: 'z' } }), {})
    expect('the beacon was told that last', differencesFrom(told, lastTold(sink)))
  }
  expect('4: quiet when nothing differs', await writesOfAResync(api))
  return run
}

/** The names of the objects on which a foreign label is not as it was, growing as it happens. */
const watchForeign = (api: EmbeddedApi, foreign: Foreign): string[] => {
  const touched: string[] = []
  api.subscribe(({ object }) => {
    const isUntouched = subset(labelsOn(object), foreignOn(object.kind, foreign))
    if (!isUntouched) touched.push(objectKey(object))
  })
  return touched
}

/** What was wrong at which moment, growing as it happens. */
const watchMoments = (api: EmbeddedApi, { never }: Scenario): string[] => {
  const wrong: string[] = []
  api.subscribe(({ object }) => {
    const problem = never?.(api.objects())
    if (problem) wrong.push(`${problem}, after ${objectKey(object)}`)
  })
  return wrong
}

const differencesAtTheEnd = (
  api: EmbeddedApi,
  { ends: { pods = {}, policies = {}, told: _, ...others } }: Scenario,
): unknown[] => {
  const end = observed(api)
  const unlabelled = api
    .objects()
    .filter(({ kind, metadata }) => kind === 'Pod' && !subset(metadata.labels ?? {}, pods))
  return [...(isDeepStrictEqual(end, { policies, ...others }) ? [] : [end]), ...unlabelled]
}

const differencesFrom = (wanted: readonly string[], found: readonly string[] | undefined): unknown[] =>
  isDeepStrictEqual(found, wanted) ? [] : [{ wanted, found }]

/** The sources in the policies of a databag. */
const sourcesIn = (policies: string | undefined): string[] => policies?.match(/(?<="source_app_name": ")[a-z]+/g) ?? []

type Memory = { published?: Record<string, { data: { policies?: string } }> }

/** What the memory says to the beacon, which reads it there if it is one of ours. */
const said = (api: EmbeddedApi): string[] | undefined => {
  const name = `juju-service-mesh-${APPLICATION}-labels`
  const memory = api.objects().find(({ kind, metadata }) => kind === 'ConfigMap' && metadata.name === name)
  const state = JSON.parse(memory?.data?.state ?? '{}')
  const { published = {} } = state as Memory
  const key = relationsById(state)[7]?.published?.digest
  return key === undefined ? undefined : sourcesIn(published[key]?.data.policies)
}

/** What a beacon that has no memory goes by: the event that came last. */
const lastTold = (sink: readonly Event[]): string[] | undefined => {
  const last = sink.findLast(({ subject }) => subject === `${NAMESPACE}/beacon`)
  const remote = (last?.data as { remote: { data: { policies?: string } } } | undefined)?.remote
  return remote && sourcesIn(remote.data.policies)
}

const writesOfAResync = async (api: EmbeddedApi): Promise<string[]> => {
  const writes: string[] = []
  const counting: Transport = async (request) => {
    if (request.method !== 'GET') writes.push(`${request.method} ${request.path}`)
    return api.handle(request)
  }
  await process(counting)(event('resync', {}), {})
  return writes
}

/** A call by somebody else. */
export const call = (method: TransportRequest['method'], path: string, body?: unknown): TransportRequest => ({
  method,
  path: path.replace('{namespace}', NAMESPACE),
  headers: { 'content-type': method === 'PATCH' ? 'application/merge-patch+json' : 'application/json' },
  body: body === undefined ? undefined : JSON.stringify(body),
  timeoutMilliseconds: 1_000,
})
