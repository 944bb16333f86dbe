import type { Clock } from '../../src/base/clock.ts'
import { createMemo } from '../../src/base/memo.ts'
import { createRecalls } from '../../src/base/recall.ts'
import type { Event } from '../../src/cloudevents/cloud-event.ts'
import { features } from '../../src/features.ts'
import { failureOf } from '../../src/http/failure.ts'
import { createKubernetes, type Transport } from '../../src/kubernetes/client.ts'
import { createHandler } from '../../src/reconcile/handle.ts'
import { createQueue } from '../../src/reconcile/queue.ts'
import { type KnownMemories, remembering } from '../../src/reconcile/reading.ts'
import { createStep } from '../../src/reconcile/step.ts'
import { functions } from '../helpers/functions.ts'

export type { Event } from '../../src/cloudevents/cloud-event.ts'
export type { Transport, TransportAnswer, TransportRequest } from '../../src/kubernetes/client.ts'
export type { KubernetesObject } from '../../src/kubernetes/objects.ts'
export type { KnownMemories } from '../../src/reconcile/reading.ts'

export type ProcessOptions = {
  event: Event
  transport: Transport
  clock: Clock
  publish(event: Event): void
  newId(): string
  memories: KnownMemories
}

export const createMemories = (): KnownMemories => remembering(features.memories)

/** The HTTP status of an event's answer, and a text for people. */
export type Answer = { status: number; text: string }

/** What follows from a text, and what a step makes of the same, is so in all processes. */
const memo = createMemo()
const recalls = createRecalls()

/** Takes one event in a process of its own, and answers as its HTTP server would. The only place that knows the parts of a process. */
export const process = async ({
  event,
  transport,
  clock,
  publish,
  newId,
  memories,
}: ProcessOptions): Promise<Answer> => {
  const connect = (deadline: number) => createKubernetes({ transport, clock, deadline, memo })
  const step = createStep({ features, connect, clock, environment: { resolver: '10.96.0.10' }, recalls, memories })
  const handle = createHandler({
    features,
    functions,
    step,
    enqueue: createQueue(step),
    connect,
    publish: async (sent) => publish(sent),
    clock,
    timeoutMilliseconds: 60_000,
    newId,
  })
  try {
    const { status, messages } = await handle(event, {})
    return { status: 200, text: [status, ...messages].join('; ') }
  } catch (error) {
    const { status, body } = failureOf(error)
    return { status, text: body }
  }
}
