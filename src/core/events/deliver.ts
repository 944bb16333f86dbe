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
import { type Delivered, type FollowedStep, isWithinMemory, type Outcome } from '../reconcile/outcome.ts'
import { type Nudge, noteSent } from '../relations/offers/nudges.ts'
import type { Enqueue } from './queue.ts'

/** The messages that are due because of one application, and the event of its step. */
export type OutboxOf = { readonly subject: Subject; readonly due: Outbox; readonly cause: Event }

/** A step that was taken in this process, and the messages that follow from it. */
export type Followed = { readonly outcome: Outcome; readonly next: OutboxOf }

/** Sends an event. Resolves with the step of its receiver if the process is its own sink. */
export type Send = (event: Event, deadline: number) => Promise<Followed | undefined>

/** Delivers due messages, and all that follow from them. Rejects with Unavailable if a receiver does not accept by the deadline. */
export type Deliver = (first: OutboxOf, deadline: number) => Promise<Delivered>

/** Takes work that an answer need not wait for. Resolves when the answer may be given. */
export type Later = (work: Promise<unknown>) => Promise<unknown>

type Dependencies = { features: Pick<Features, 'announced'>; send: Send; enqueue: Enqueue; clock: Clock; later: Later }

const AT_ONCE = 8

/** The time limit of notes about deliveries. They are saved even after the event's deadline, so that the next event need not repeat the deliveries. */
const NOTE_MILLISECONDS = 5_000

/**
 * Creates the delivery of messages. It runs outside the queue of an application, because two applications that notify each other would
 * deadlock. The refusal of one receiver is reported, and stops nothing else.
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
      // a step gives its messages to only one of its events
      if (messages.length === 0) continue
      const sharing = sendingOnce(sending, (event) => send(withCause(event, cause), deadline))
      const results = await sendAll(messages, sharing.send, clock)
      const note = noteOf(features, results)
      const until = clock.now() + NOTE_MILLISECONDS
      const noting = note && enqueue(subject, { ...note, trace: traceOf(cause) }, until)
      const noted = Promise.resolve(noting).finally(sharing.end)
      // messages of a lost note are sent again; messages that follow from the note's own step have no other sender
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

/** Adds the cause of an event. */
export const withCause = (event: Event, cause: Event): Event => ({
  ...event,
  extensions: { ...causedBy(cause), ...event.extensions },
})

/** Nudges with data that are on their way, or not noted as sent yet, by the event's id. */
type Sending = Map<string, Promise<Followed | undefined>>

/**
 * Sends a nudge with data only once until it is noted: steps that start meanwhile find it due as well, and wait for the first one. Any
 * other nudge is sent each time: it asks its receiver to read, and the receiver may have read too early.
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

/** Reports a step that followed. Empty if it wrote only its memory, without messages. */
export const effectOf = ({ outcome, next: { subject } }: Followed): FollowedStep[] => {
  const { status, written, removed, conflicts, messages, drift } = outcome
  const isQuiet = isWithinMemory(status) && messages.length === 0
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
 * Returns the change that records deliveries. Undefined if there are none. Announcements are recorded even if they were refused for good,
 * and nudges if their receiver has no memory.
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
    fold: (state) => ({
      state: sent.reduce((before, { key, shows }) => noteSent(before, key, shows), features.announced(state, numbers)),
    }),
  }
}

type Sent = { message: Message; more?: Followed | undefined; error?: Error }

/** Sends nudges in random order: if time runs out, it is not always the same receivers that are left out. */
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
