import pMap from 'p-map'
import type { Clock } from '../base/clock.ts'
import { Unavailable } from '../base/errors.ts'
import type { Subject } from '../base/subject.ts'
import type { Event } from '../cloudevents/cloud-event.ts'
import type { Features } from '../feature/combine.ts'
import type { Announcement } from '../feature/feature.ts'
import type { Nudge } from '../relations/nudges.ts'
import type { State } from '../state/state.ts'
import type { Enqueue } from './queue.ts'
import type { Change } from './remember.ts'
import type { Due } from './step.ts'

/** What others are to be told of one application. */
export type DueOf = { readonly subject: Subject; readonly due: Due }

/** Hands an event over; answers with what its receiver has to tell in turn, where the process is its own sink. */
export type Send = (event: Event, deadline: number) => Promise<DueOf | undefined>

/** What was told to whom, and what could not be told: a sentence each. */
export type Delivered = { published: string[]; refused: string[] }

/** Delivers what is due, and all that follows from it; rejects with Unavailable when a receiver does not accept by the deadline. */
export type Deliver = (first: DueOf, deadline: number) => Promise<Delivered>

type Dependencies = { features: Pick<Features, 'announced'>; send: Send; enqueue: Enqueue; clock: Clock }

const AT_ONCE = 8

/** What was sent is noted also when the time for the event is over: the next one need not send it again. */
const NOTE_MILLISECONDS = 5_000

/**
 * Delivers outside the turns of an application, as two that tell each other something would deadlock. What one receiver refuses is
 * reported, and stops nothing else.
 */
export const createDelivery =
  ({ features, send, enqueue, clock }: Dependencies): Deliver =>
  async (first, deadline) => {
    const delivered: Delivered = { published: [], refused: [] }
    const unavailable: Error[] = []
    const waiting = [first]
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
      const { subject, due } = next
      const results = await sendAll(messagesOf(due), (event) => send(event, deadline), clock)
      const note = noteOf(features, results)
      if (note) await enqueue(subject, note, clock.now() + NOTE_MILLISECONDS)
      if (next === first)
        delivered.published.push(...results.flatMap(({ message, error }) => (error ? [] : [message.name])))
      const errors = results.flatMap(({ message, error }) => (error ? [{ message, error }] : []))
      unavailable.push(...errors.flatMap(({ error }) => (error instanceof Unavailable ? [error] : [])))
      delivered.refused.push(
        ...errors.flatMap(({ message, error }) =>
          error instanceof Unavailable ? [] : [`${message.name}: ${error.message}`],
        ),
      )
      waiting.push(...results.flatMap(({ more }) => more ?? []))
    }
    delivered.published.sort()
    if (unavailable[0]) throw unavailable[0]
    return delivered
  }

type Message = {
  readonly name: string
  readonly event: Event
  readonly nudge?: Nudge
  readonly announcement?: Announcement
}

const messagesOf = ({ nudges, announcements }: Due): Message[] => [
  ...nudges.map((nudge) => ({ name: nudge.name, event: nudge.event, nudge })),
  ...announcements.map((announcement) => ({
    name: `${announcement.event.type.replace(/^dev\.meshstep\.(.*)\.v1$/, '$1')} of ${announcement.event.subject}`,
    event: announcement.event,
    announcement,
  })),
]

/** What is to be remembered of what was sent: announcements, also those that are refused for good, and nudges to whom has no memory. */
const noteOf = (features: Pick<Features, 'announced'>, results: readonly Sent[]): Change | undefined => {
  const over = results.filter(({ error }) => !(error instanceof Unavailable))
  const numbers = over.flatMap(({ message }) => message.announcement?.number ?? [])
  const sent = over.flatMap(({ message: { nudge }, error }) =>
    nudge?.isRemembered && error === undefined ? [nudge] : [],
  )
  if (numbers.length === 0 && sent.length === 0) return undefined
  return {
    observation: true,
    note: true,
    fold: (state) => ({ state: sent.reduce(withSent, features.announced(state, numbers)) }),
  }
}

const withSent = (state: State, { key, shows }: Nudge): State => {
  const { [key]: entry, ...others } = state.relations
  return entry === undefined || entry.sent === shows
    ? state
    : { ...state, relations: { ...others, [key]: { ...entry, sent: shows } } }
}

type Sent = { message: Message; more?: DueOf | undefined; error?: Error }

/** In an order of chance: where time is not enough for all, it is not always the same ones that are left. */
const sendAll = async (
  messages: readonly Message[],
  send: (event: Event) => Promise<DueOf | undefined>,
  clock: Clock,
): Promise<Sent[]> => {
  const left = messages
    .map((message) => ({ message, order: message.nudge ? clock.random() : 1 }))
    .toSorted((one, other) => one.order - other.order)
    .map(({ message }) => message)
  return await pMap(left, (message) => send(message.event).then(withMore(message), withError(message)), {
    concurrency: AT_ONCE,
  })
}

const withMore = (message: Message) => (more: DueOf | undefined) => ({ message, more })

const withError = (message: Message) => (error: Error) => ({ message, error })
