import { createHandler } from '../../src/core/events/handle.ts'
import { createQueue } from '../../src/core/events/queue.ts'
import { createStep } from '../../src/core/reconcile/step.ts'
import { features } from '../../src/features.ts'
import type { Clock } from '../../src/platform/base/clock.ts'
import { createMemo } from '../../src/platform/base/memo.ts'
import { createRecalls } from '../../src/platform/base/recall.ts'
import { type Event, readEvent } from '../../src/platform/cloudevents/cloud-event.ts'
import { createSink, type SendEvent } from '../../src/platform/cloudevents/sink.ts'
import { createKubernetes, type Transport, type TransportRequest } from '../../src/platform/kubernetes/client.ts'
import { type Applications, createApplications } from '../../src/serve/http/applications.ts'
import { failureOf } from '../../src/serve/http/failure.ts'
import { functions } from '../helpers/functions.ts'

export type { Event } from '../../src/platform/cloudevents/cloud-event.ts'
export type { Transport, TransportAnswer, TransportRequest } from '../../src/platform/kubernetes/client.ts'
export type { KubernetesObject } from '../../src/platform/kubernetes/objects.ts'

/** Where a process sends its events: they are taken at once, or by calls that wait and may fail as any other, or it takes them itself. */
export type Sink = 'prompt' | 'called' | 'own'

export type ProcessOptions = {
  transport: Transport
  clock: Clock
  sink: Sink
  /** Takes an event that is sent to a prompt sink. */
  publish(event: Event): void
  /** Is told of each event that is taken, also of those that the process tells itself, and of its end. */
  watch(event: Event): () => void
  newId(): string
  /** Whether it answers without waiting for its notes. */
  isLasting: boolean
}

/** Takes an event, and answers as its HTTP server would. */
export type Process = (event: Event) => Promise<Answer>

/** The HTTP status of an event's answer, and a text for people. */
export type Answer = { status: number; text: string }

/** What follows from a text, and what a step makes of the same, is so in all processes. */
const memo = createMemo()
const recalls = createRecalls()

const ENVIRONMENT = { resolver: '10.96.0.10' }

const BROKER = 'http://broker/shop/default'

/** The path of the sink, as the schedule sees its calls. */
export const SINK = '/sink'

/** The event of a call to the sink. */
export const eventIn = ({ headers, body = '' }: TransportRequest): Event =>
  readEvent({ headers, body: Buffer.from(body) })

const publisherTo = (sink: Sink, { transport, clock, publish }: ProcessOptions): SendEvent | undefined => {
  if (sink === 'own') return undefined
  if (sink === 'prompt') return async (event) => publish(event)
  return createSink({
    ...{ sink: BROKER, clock, tokenFile: '' },
    send: async (_, { headers, body, timeoutMilliseconds }) => {
      const answer = await transport({ method: 'POST', path: SINK, headers, body, timeoutMilliseconds })
      return { ...answer, headers: {} }
    },
  })
}

/** Starts a process, for one event or for many. The only place that knows the parts of a process. */
export const startProcess = (options: ProcessOptions): Process => {
  const { transport, clock, sink, newId, isLasting } = options
  const connect = (deadline: number) => createKubernetes({ transport, clock, deadline, memo })
  const step = createStep({ features, connect, clock, environment: ENVIRONMENT, recalls })
  const handle = createHandler({
    features,
    functions,
    step,
    enqueue: createQueue(step, isLasting ? clock : undefined),
    connect,
    publish: publisherTo(sink, options),
    clock,
    timeoutMilliseconds: 60_000,
    newId,
    later: isLasting ? async (work) => void work.catch(() => undefined) : undefined,
    watch: async (event, take) => {
      const end = options.watch(event)
      return await take(event).finally(end)
    },
  })
  return async (event) => {
    try {
      const { status, messages } = await handle(event, {})
      return { status: 200, text: [status, ...messages].join('; ') }
    } catch (error) {
      const { status, body } = failureOf(error)
      return { status, text: body }
    }
  }
}

export type View = Awaited<ReturnType<Applications['all']>>[number]

/** The answer of `GET /applications/{namespace}`. */
export const askApplications = async (
  namespace: string,
  { transport, clock }: Pick<ProcessOptions, 'transport' | 'clock'>,
): Promise<View[]> => {
  const connect = (deadline: number) => createKubernetes({ transport, clock, deadline, memo })
  const asking = { features, connect, clock, environment: ENVIRONMENT, timeoutMilliseconds: 60_000 }
  return await createApplications(asking).all({ namespace })
}
