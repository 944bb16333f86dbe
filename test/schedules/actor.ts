import { nextTick } from 'node:process'
import type { Clock } from '../../src/base/clock.ts'
import {
  type Answer,
  type Event,
  type KnownMemories,
  process,
  type TransportAnswer,
  type TransportRequest,
} from './process.ts'

/** A call that a crashed actor left behind: nobody hears the answer. */
export type Call = {
  actor: string
  application: string
  /** The serial number of the actor's start. */
  started: number
  request: TransportRequest
}

/** A process that takes one event. */
export type Actor = {
  name: string
  application: string
  event: Event
  /** The serial number of its start. */
  started: number
  /** Calls that wait for the schedule. */
  pending: Pending[]
  answer?: Answer
}

/** A call that waits for the schedule. */
type Pending = {
  request: TransportRequest
  make(): void
  /** The process gets another answer than the API server's, or none. */
  answer(other: TransportAnswer | Error): void
}

type Options = {
  event: Event
  name: string
  application: string
  started: number
  clock: Clock
  handle(request: TransportRequest): TransportAnswer
  publish(event: Event): void
  newId(): string
  memories: KnownMemories
}

/** Starts a process; each of its calls waits in `pending` until the schedule makes it. */
export const startActor = ({ event, name, application, started, handle, ...others }: Options): Actor => {
  const actor: Actor = { name, application, event, started, pending: [] }
  const transport = (request: TransportRequest) =>
    new Promise<TransportAnswer>((resolve, reject) => {
      const answer = (other: TransportAnswer | Error) => (other instanceof Error ? reject(other) : resolve(other))
      actor.pending.push({ request, make: () => resolve(handle(request)), answer })
    })
  void process({ event, transport, ...others }).then((answer) => {
    actor.answer = answer
  })
  return actor
}

/** Waits until every actor has come to its next call, or to its end: nothing that they do takes more than microtasks. */
export const settle = (): Promise<void> => new Promise((resolve) => nextTick(resolve))
