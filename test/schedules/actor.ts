import { nextTick } from 'node:process'
import {
  type Answer,
  type Event,
  type ProcessOptions,
  startProcess,
  type TransportAnswer,
  type TransportRequest,
} from './process.ts'

/** A call that a crashed actor left behind: nobody hears the answer. */
export type Call = {
  actor: string
  /** The applications that the actor had taken events of. */
  applications: readonly string[]
  /** The serial number of the actor's start. */
  started: number
  request: TransportRequest
}

/** An event that an actor has taken, and its answer once there is one. */
export type Taken = { event: Event; application: string; started: number; answer?: Answer }

/** A process that takes events: one alone, or as many as it is given until it is killed. */
export type Actor = {
  name: string
  isLasting: boolean
  /** The events that are not answered. */
  taken: Taken[]
  /** The serial number at which it took the first of them. */
  started: number
  /** The events that it tells itself, as its own sink, and is taking. */
  own: Set<Event>
  /** Calls that wait for the schedule. */
  pending: Pending[]
  take(event: Event, application: string, started: number): Taken
}

/** A call that waits for the schedule. */
export type Pending = {
  request: TransportRequest
  make(): void
  /** The process gets another answer than the API server's, or none. */
  answer(other: TransportAnswer | Error): void
}

type Options = Omit<ProcessOptions, 'transport' | 'watch'> & {
  name: string
  handle(request: TransportRequest): TransportAnswer
  /** Hears of each event that the actor tells itself. */
  told(event: Event): void
}

/** Starts a process; each of its calls waits in `pending` until the schedule makes it. */
export const startActor = ({ name, handle, told, ...options }: Options): Actor => {
  const { sink, isLasting } = options
  const transport = (request: TransportRequest) =>
    new Promise<TransportAnswer>((resolve, reject) => {
      const answer = (other: TransportAnswer | Error) => (other instanceof Error ? reject(other) : resolve(other))
      actor.pending.push({ request, make: () => resolve(handle(request)), answer })
    })
  const watch = (event: Event) => {
    if (sink !== 'own' || actor.taken.some((one) => one.event === event)) return () => undefined
    actor.own.add(event)
    told(event)
    return () => void actor.own.delete(event)
  }
  const process = startProcess({ ...options, transport, watch })
  const actor: Actor = {
    ...{ name, isLasting, taken: [], started: 0, own: new Set<Event>(), pending: [] },
    take: (event, application, started) => {
      if (actor.taken.length === 0) actor.started = started
      const taken: Taken = { event, application, started }
      actor.taken.push(taken)
      void process(event).then((answer) => {
        taken.answer = answer
      })
      return taken
    },
  }
  return actor
}

/** The applications between which an actor is telling something itself. */
export const ownApplications = ({ own }: Actor): string[] =>
  [...own].flatMap(({ subject = '', source }) => [subject.split('/')[1] ?? '', source.split('/').at(-1) ?? ''])

/** The applications that an actor is busy with. */
export const applicationsOf = (actor: Actor): string[] => [
  ...actor.taken.map(({ application }) => application),
  ...ownApplications(actor),
]

/** Waits until every actor has come to its next call, or to its end: nothing that they do takes more than microtasks. */
export const settle = (): Promise<void> => new Promise((resolve) => nextTick(resolve))
