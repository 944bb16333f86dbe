import { randomUUID } from 'node:crypto'
import type { Clock } from '../../platform/base/clock.ts'
import { Refused } from '../../platform/base/errors.ts'
import type { Trace } from '../../platform/base/trace.ts'
import type { Event } from '../../platform/cloudevents/cloud-event.ts'
import {
  fromKnative,
  goneIn,
  holderIn,
  isFromKnative,
  referenceIn,
  withObject,
} from '../../platform/cloudevents/knative/knative.ts'
import type { Ignored } from '../../platform/cloudevents/knative/translation.ts'
import type { SendEvent } from '../../platform/cloudevents/sink.ts'
import { traceOf } from '../../platform/cloudevents/trace.ts'
import type { Kubernetes } from '../../platform/kubernetes/client.ts'
import { type KubernetesObject, nameOf } from '../../platform/kubernetes/objects.ts'
import type { Authenticate, Sender } from '../access/authenticate.ts'
import { visibleTo } from '../access/visibility.ts'
import type { Features } from '../feature/combine.ts'
import { type Handled, UNCHANGED, withDelivered } from '../reconcile/outcome.ts'
import type { Step } from '../reconcile/step.ts'
import { createDelivery, type Followed, type Later, type Send } from './deliver.ts'
import type { EventFunction } from './event-function.ts'
import type { Enqueue } from './queue.ts'
import { createResync } from './resync.ts'

/** Reports outcomes that a person has to know as Kubernetes Events, on the document or the workload. Its promises never reject. */
export type Feedback = {
  /**
   * Reports a step that met a conflict, waits, or found its application blocked. The Event is on the document if the sender may send events
   * for its namespace, or else on the workload.
   */
  stepped(event: Event, handled: Handled, sender: Sender | undefined): Promise<void>
  /** Reports a refused event, if its sender may send events for its namespace. */
  refused(event: Event, error: unknown, sender: Sender | undefined): Promise<void>
}

export type HandlerDependencies = {
  features: Features
  /** The functions that this process serves. */
  functions: readonly EventFunction[]
  enqueue: Enqueue
  /** The steps in the queue. A resync rehearses them first: those without work need no turn. */
  step: Step
  /** Creates a client whose calls end at the deadline, in milliseconds since the epoch. */
  connect(deadline: number, trace?: Trace): Kubernetes
  /** Publishes events to the sink. Without it, the process is its own sink. */
  publish?: SendEvent | undefined
  /** Authenticates senders. Without it, everybody who can reach the process may send events. */
  authenticate?: Authenticate | undefined
  clock: Clock
  /** The time limit of an event. */
  timeoutMilliseconds: number
  newId?: (() => string) | undefined
  /** Without it, an answer waits until the deliveries are noted. */
  later?: Later | undefined
  /** Called with each completed step, whatever caused it. */
  onStep?: ((step: DoneStep) => void) | undefined
  /** Wraps each step. */
  watch?: Watch | undefined
  /** Reports problems to the people who look at the objects. */
  feedback?: Feedback | undefined
}

/** Wraps the handling of an event, for example in a trace. */
export type Watch = <T extends { readonly handled: Handled }>(
  event: Event,
  take: (event: Event) => Promise<T>,
) => Promise<T>

/** A step that was taken for an event. Its messages may still be on their way. */
export type DoneStep = Handled & {
  readonly event: Pick<Event, 'id' | 'source' | 'type'> & { readonly causationid?: string }
  readonly time: string
  readonly milliseconds: number
}

/** The delivery of an event, with its Authorization header. `only` limits it to one function. */
export type Delivery = { only?: string | undefined; authorization?: string | undefined }

export type Handle = (event: Event, delivery: Delivery) => Promise<Handled>

/** Creates the handler of CloudEvents. It gives each event to the function of its type, and answers when the step is done and its messages are published. */
export const createHandler = (dependencies: HandlerDependencies): Handle => {
  const { features, functions, enqueue, step, connect, publish, authenticate, clock, timeoutMilliseconds } =
    dependencies
  const { onStep = () => undefined, watch = (event, take) => take(event), feedback } = dependencies
  const { later = (work) => work, newId = randomUUID } = dependencies

  const take = async (
    sent: Event,
    deadline: number,
    { only, sender, run = enqueue }: { only?: string | undefined; sender?: Sender | undefined; run?: Enqueue },
  ): Promise<{ handled: Handled; followed?: Followed }> => {
    const trace = traceOf(sent)
    const event = isFromKnative(sent) ? await translated(connect(deadline, trace), sent, sender) : sent
    if ('ignored' in event) return { handled: { ...UNCHANGED, messages: [`ignored: ${event.ignored}`] } }
    const { name, receive } = functionFor(functions, event, only)
    const { namespace, application, change } = receive(event, new Date(clock.now()))
    await sender?.authorize({ namespace, application })
    if (application === undefined)
      return { handled: { function: name, namespace, ...(await resync(namespace, sent, deadline)) } }
    const subject = { namespace, application }
    const told = { ...change, permit: sender?.authorize, gone: goneIn(sent), trace }
    const { outcome, due } = await run(subject, told, deadline)
    const followed = { outcome, next: { subject, due, cause: sent } }
    return { handled: { function: name, ...subject, ...outcome }, followed }
  }

  const takeAndTell: typeof take = (received, deadline, how) =>
    watch(received, (event) => takeStep(event, deadline, how))

  const takeStep: typeof take = async (sent, deadline, how) => {
    const started = clock.now()
    const taken = await take(sent, deadline, how).catch(async (error: unknown) => {
      await feedback?.refused(sent, error, how.sender)
      throw error
    })
    const { id, source, type, extensions } = sent
    const { causationid } = extensions
    const event = { id, source, type, ...(causationid !== undefined && { causationid }) }
    const [time, milliseconds] = [new Date(started).toISOString(), clock.now() - started]
    onStep({ event, ...taken.handled, time, milliseconds })
    await feedback?.stepped(sent, taken.handled, how.sender)
    return taken
  }

  const send: Send = async (event, deadline) => {
    const isForFunctions = functions.some(({ type }) => type === event.type)
    // a process that is its own sink has no other listeners
    if (publish === undefined) return isForFunctions ? (await takeAndTell(event, deadline, {})).followed : undefined
    await publish(event, deadline)
    return undefined
  }
  const deliver = createDelivery({ features, send, enqueue, clock, later })

  const resync = createResync({
    ...{ features, connect, step, clock, newId, send, deliver },
    receive: (event) => functionFor(functions, event).receive(event, new Date(clock.now())),
    take: async (event, result, deadline) => (await takeAndTell(event, deadline, { run: async () => result })).followed,
    isOwnSink: publish === undefined,
  })

  return async (event, { only, authorization }) => {
    const deadline = clock.now() + timeoutMilliseconds
    const sender = await authenticate?.(connect(deadline, traceOf(event)), authorization)
    const { handled, followed } = await takeAndTell(event, deadline, { only, sender })
    if (followed === undefined) {
      const { effects } = handled
      return effects ? { ...handled, effects: await visibleTo(sender, effects, (step) => step) } : handled
    }
    const delivered = await deliver(followed.next, deadline)
    return withDelivered(handled, { ...delivered, effects: await visibleTo(sender, delivered.effects, (step) => step) })
  }
}

const translated = async (
  kubernetes: Kubernetes,
  event: Event,
  sender: Sender | undefined,
): Promise<Event | Ignored> => {
  const reference = referenceIn(event)
  if (!reference) return fromKnative(event, await holderOf(kubernetes, event, sender))
  // the application of an object is unknown before it is read, so the sender needs permission for the whole namespace
  await sender?.authorize({ namespace: reference.namespace })
  const object = await kubernetes.find(reference)
  return object ? fromKnative(withObject(event, object)) : { ignored: `${nameOf(reference)} is gone` }
}

/** Reads the pod that holds the Lease of an event. If the event does not name the pod's application, the sender needs permission for the whole namespace. */
const holderOf = async (
  kubernetes: Kubernetes,
  event: Event,
  sender: Sender | undefined,
): Promise<KubernetesObject | undefined> => {
  const holder = holderIn(event)
  if (!holder) return undefined
  if (!holder.isLabelled) await sender?.authorize({ namespace: holder.pod.namespace })
  return await kubernetes.find(holder.pod)
}

const functionFor = (
  functions: readonly EventFunction[],
  { type }: Event,
  only?: string | undefined,
): EventFunction => {
  const candidates = only === undefined ? functions : functions.filter(({ name }) => name === only)
  if (candidates.length === 0)
    throw new Refused(
      400,
      `/${only}: no such function is served here, but ${functions.map(({ name }) => name).join(', ')}`,
    )
  const found = candidates.find((candidate) => candidate.type === type)
  if (found) return found
  throw new Refused(
    400,
    `type: expected ${candidates.map((candidate) => candidate.type).join(', ')}, got ${JSON.stringify(type.slice(0, 100))}`,
  )
}
