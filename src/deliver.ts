import { Refused } from './errors.ts'
import type { Event } from './events/cloud-event.ts'
import type { Publication } from './publications.ts'
import type { Enqueue } from './queue.ts'
import type { Change } from './remember.ts'
import type { State, Subject } from './state.ts'

/** Publications of one application. */
export type Due = { readonly subject: Subject; readonly due: readonly Publication[] }

/** Hands an event over; answers with what its receiver has to publish in turn, where the process is its own sink. */
export type Send = (event: Event, deadline: number) => Promise<Due | undefined>

/** What was told to whom, and what a receiver will not take as it is. */
export type Delivered = { published: string[]; refused: string[] }

/** Delivers publications, and all that follows from them; rejects when a sink does not accept by the deadline. */
export type Deliver = (first: Due, deadline: number) => Promise<Delivered>

type Dependencies = { send: Send; enqueue: Enqueue }

const AT_ONCE = 8

/**
 * Delivers outside the turns of an application, as two that publish to each other would wait for each other for ever. What was accepted is
 * remembered before anything else is delivered: so the answer to a publication finds it known.
 */
export const createDelivery = ({ send, enqueue }: Dependencies): Deliver => {
  /** Events that wait for one step share what follows from it: it is sent once. */
  const inFlight = new Map<string, Promise<Due | undefined>>()

  const sendOnce = (event: Event, deadline: number): Promise<Due | undefined> => {
    const sending = inFlight.get(event.id) ?? send(event, deadline).finally(() => inFlight.delete(event.id))
    inFlight.set(event.id, sending)
    return sending
  }

  return async (first, deadline) => {
    const delivered: Delivered = { published: [], refused: [] }
    const waiting = [first]
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
      const { subject, due } = next
      const results = await sendAll(due, (event) => sendOnce(event, deadline))
      const done = results.filter(isDone).map(({ publication }) => publication)
      if (done.length > 0) await enqueue(subject, noteOf(done), deadline)
      const left = results.filter((result) => !isDone(result))
      const failures = left.flatMap(({ publication, error }) => (error ? [{ publication, error }] : []))
      const lasting = failures.find(({ error }) => !(error instanceof Refused))
      if (lasting) throw lasting.error
      if (next === first) {
        const told = results.filter(({ error }) => error === undefined)
        delivered.published.push(...told.map(({ publication }) => publication.name))
        delivered.refused.push(...failures.map(({ publication, error }) => `${publication.name}: ${error.message}`))
      }
      waiting.push(...results.flatMap(({ more }) => more ?? []))
    }
    return delivered
  }
}

const noteOf = (accepted: readonly Publication[]): Change => ({
  observation: true,
  note: true,
  fold: (state) => ({ state: accepted.reduce((before: State, { accept }) => accept(before), state) }),
})

type Sent = { publication: Publication; more?: Due | undefined; error?: Error }

const sendAll = async (
  due: readonly Publication[],
  send: (event: Event) => Promise<Due | undefined>,
): Promise<Sent[]> => {
  const left = [...due]
  const sent: Sent[] = []
  const work = async () => {
    for (let publication = left.shift(); publication !== undefined; publication = left.shift())
      sent.push(await send(publication.event).then(withMore(publication), withError(publication)))
  }
  await Promise.all(Array.from({ length: AT_ONCE }, work))
  return sent
}

/** Whoever will not hear that a relation is over, as its namespace is gone, need not be told again. */
const isDone = ({ publication, error }: Sent): boolean =>
  error === undefined || (error instanceof Refused && publication.event.type === 'dev.meshstep.relation-broken.v1')

const withMore = (publication: Publication) => (more: Due | undefined) => ({ publication, more })

const withError = (publication: Publication) => (error: Error) => ({ publication, error })
