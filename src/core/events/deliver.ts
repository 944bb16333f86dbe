import pMap from 'p-map'
import type { Clock } from '../../platform/base/clock.ts'
import { Unavailable } from '../../platform/base/errors.ts'
import type { Subject } from '../../platform/base/subject.ts'
import type { Event } from '../../platform/cloudevents/cloud-event.ts'
import { causedBy, traceOf } from '../../platform/cloudevents/trace.ts'
import type { Features } from '../feature/combine.ts'
import type { Announcement } from '../feature/feature.ts'
import type { Change } from '../reconcile/change.ts'
import type { Outbox } from '../reconcile/outbox.ts'
import type { Delivered, FollowedStep, Outcome } from '../reconcile/outcome.ts'
import type { Nudge } from '../relations/nudges.ts'
import { noteDelivered } from '../relations/progress.ts'
import type { State } from '../state/state.ts'
import type { Enqueue } from './queue.ts'

/** The messages due to others because of one application, and the event that its step was for. */
export type OutboxOf = { readonly subject: Subject; readonly due: Outbox; readonly cause: Event }

/** A step that was taken in this process, and what its application has to tell in turn. */
export type Followed = { readonly outcome: Outcome; readonly next: OutboxOf }

/** Hands an event over; answers with the step of its receiver, where the process is its own sink. */
export type Send = (event: Event, deadline: number) => Promise<Followed | undefined>

/** Delivers what is due, and all that follows from it; rejects with Unavailable when a receiver does not accept by the deadline. */
export type Deliver = (first: OutboxOf, deadline: number) => Promise<Delivered>

/** Takes work that an answer need not wait for; resolves when the answer may be given. */
export type Later = (work: Promise<unknown>) => Promise<unknown>

type Dependencies = { features: Pick<Features, 'announced'>; send: Send; enqueue: Enqueue; clock: Clock; later: Later }

const AT_ONCE = 8

/** The time limit for noting deliveries. They are noted even after the event's deadline, so that the next event need not repeat them. */
const NOTE_MILLISECONDS = 5_000

/**
 * Delivers outside the turns of an application, as two that tell each other something would deadlock. What one receiver refuses is
 * reported, and stops nothing else.
 */
export const createDelivery = ({ features, send, enqueue, clock, later }: Dependencies): Deliver => {
  const sending: Sending = new Map()
  const deliver: Deliver = async (first, deadline) => {
    const delivered: Delivered = { published: [], refused: [], effects: [] }
    const unavailable: Error[] = []
    const waiting = [first]
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
      const { subject, due, cause } = next
      const messages = messagesOf(due)
      // a step tells what follows from it for one of its events
      if (messages.length === 0) continue
      const caused = (event: Event) => ({ ...event, extensions: { ...causedBy(cause), ...event.extensions } })
      const sharing = sendingOnce(sending, (event) => send(caused(event), deadline))
      const results = await sendAll(messages, sharing.send, clock)
      const note = noteOf(features, results)
      const until = clock.now() + NOTE_MILLISECONDS
      const noting = note && enqueue(subject, { ...note, trace: traceOf(cause) }, until)
      const noted = Promise.resolve(noting).finally(sharing.end)
      // what is lost with a note is told again; what follows from its step has no other sender
      await later(noted.then(async (taken) => taken && (await deliver({ subject, due: taken.due, cause }, until))))
      if (next === first)
        delivered.published.push(...results.flatMap(({ message, error }) => (error ? [] : [message.name])))
      const errors = results.flatMap(({ message, error }) => (error ? [{ message, error }] : []))
      unavailable.push(...errors.flatMap(({ error }) => (error instanceof Unavailable ? [error] : [])))
      delivered.refused.push(
        ...errors.flatMap(({ message, error }) =>
          error instanceof Unavailable ? [] : [{ name: message.name, reason: error.message }],
        ),
      )
      const followed = results.flatMap(({ more }) => more ?? [])
      delivered.effects.push(...followed.flatMap(effectOf))
      waiting.push(...followed.map((one) => one.next))
    }
    delivered.published.sort()
    if (unavailable[0]) throw unavailable[0]
    return delivered
  }
  return deliver
}

/** Nudges that carry their data, on their way or not noted as sent yet, by the event's id. */
type Sending = Map<string, Promise<Followed | undefined>>

/**
 * Sends a nudge that carries its data once until it is noted: steps that come meanwhile find it due as well, and wait for the first one's.
 * Any other nudge asks its receiver to read, which it may have done too early: it is sent each time.
 */
const sendingOnce = (sending: Sending, send: (event: Event) => Promise<Followed | undefined>) => {
  const own: string[] = []
  return {
    send: async ({ event, nudge }: Message): Promise<Followed | undefined> => {
      if (!nudge?.isRemembered) return await send(event)
      const isSent = await sending.get(event.id)?.then(
        () => true,
        () => false,
      )
      if (isSent) return undefined
      own.push(event.id)
      const sent = send(event)
      sending.set(event.id, sent)
      return await sent
    },
    end: () => {
      for (const id of own) sending.delete(id)
    },
  }
}

/** Reports a step that followed: nothing if it wrote no more than its memory. */
export const effectOf = ({ outcome, next: { subject } }: Followed): FollowedStep[] => {
  const { status, written, removed, conflicts, messages, drift } = outcome
  const isQuiet = status === 'unchanged' && messages.length === 0
  return isQuiet
    ? []
    : [{ ...subject, status, written, ...(removed && { removed }), conflicts, messages, ...(drift && { drift }) }]
}

type Message = {
  readonly name: string
  readonly event: Event
  readonly nudge?: Nudge
  readonly announcement?: Announcement
}

const messagesOf = ({ nudges, announcements }: Outbox): Message[] => [
  ...nudges.map((nudge) => ({ name: nudge.name, event: nudge.event, nudge })),
  ...announcements.map((announcement) => ({
    name: `${announcement.event.type.replace(/^dev\.meshstep\.(.*)\.v1$/, '$1')} of ${announcement.event.subject}`,
    event: announcement.event,
    announcement,
  })),
]

/**
 * Returns the change that remembers deliveries; undefined for none. Announcements are remembered also if they were refused for good, and
 * nudges to those that have no memory.
 */
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
    fold: (state) => ({ state: withSent(features.announced(state, numbers), sent) }),
  }
}

const withSent = (state: State, sent: readonly Nudge[]): State =>
  sent.reduce((before, { key, shows }) => noteDelivered(before, key, shows), state)

type Sent = { message: Message; more?: Followed | undefined; error?: Error }

/** In an order of chance: where time is not enough for all, it is not always the same ones that are left. */
const sendAll = async (
  messages: readonly Message[],
  send: (message: Message) => Promise<Followed | undefined>,
  clock: Clock,
): Promise<Sent[]> => {
  const left = messages
    .map((message) => ({ message, order: message.nudge ? clock.random() : 1 }))
    .toSorted((one, other) => one.order - other.order)
    .map(({ message }) => message)
  return await pMap(left, (message) => send(message).then(withMore(message), withError(message)), {
    concurrency: AT_ONCE,
  })
}

const withMore = (message: Message) => (more: Followed | undefined) => ({ message, more })

const withError = (message: Message) => (error: Error) => ({ message, error })
