import type { Clock } from '../../platform/base/clock.ts'
import { type Subject, subjectName } from '../../platform/base/subject.ts'
import type { Change } from '../reconcile/change.ts'
import { EMPTY_OUTBOX, type Outbox } from '../reconcile/outbox.ts'
import type { Outcome } from '../reconcile/outcome.ts'
import type { Step } from '../reconcile/step.ts'

/** The outcome of one change, and the messages that are due after it. */
export type Result = { outcome: Outcome; due: Outbox }

type Waiting = { change: Change; deadline: number; resolve(result: Result): void; reject(error: unknown): void }

/** Hands a change to a step. Resolves with its outcome by the deadline, in milliseconds since the epoch. */
export type Enqueue = (subject: Subject, change: Change, deadline: number) => Promise<Result>

/** The changes that wait for a step of one application. `arrived` is called with each new one. */
type Queue = { waiting: Waiting[]; arrived(one: Waiting): void }

/**
 * Creates a queue that runs one step at a time for each application. Changes that arrive meanwhile wait, and the next step takes them
 * together. Waiting changes are not acknowledged yet, so after a crash their senders send them again. Senders whose changes were taken
 * together tend to send the next ones together too. With a clock, the queue waits for these.
 */
export const createQueue = (step: Step, clock?: Pick<Clock, 'now' | 'sleep' | 'yieldTurn'>): Enqueue => {
  const queues = new Map<string, Queue>()

  /** Runs a step, and answers the changes that it took. Resolves with the next arrival of their senders, which may begin before all are answered. */
  const take = async (subject: Subject, queue: Queue): Promise<Next> => {
    const { length: first } = queue.waiting
    const deadline = Math.min(...queue.waiting.map((one) => one.deadline))
    const trace = queue.waiting.find(({ change }) => change.trace !== undefined)?.change.trace
    let batch: readonly Waiting[] = []
    const join = (): readonly Change[] => {
      const all = queue.waiting
      batch = all.filter((one, index) => index < first || isJoining(one))
      queue.waiting = all.filter((one, index) => index >= first && !isJoining(one))
      return batch.map(({ change }) => change)
    }
    const failed = (error: unknown) => {
      if (batch.length === 0) join()
      return { outcomes: batch.map(() => asError(error)), due: EMPTY_OUTBOX }
    }
    const { outcomes, due } = await step(subject, { take: join, deadline, trace }).catch(failed)
    const senders = batch.filter(isSent).length
    const next = { senders, arrival: arrivalOf(queue, senders) }
    const taken = batch.filter((_, index) => !(outcomes[index] instanceof Error))
    // the messages of a step go to one sender, before it is answered; no sender waits for a note
    const told = taken.find(isSent) ?? taken[0]
    for (const [index, waiting] of batch.entries()) {
      if (index > 0) await clock?.yieldTurn()
      answer(waiting, outcomes[index], waiting === told ? due : EMPTY_OUTBOX)
    }
    return next
  }

  const drain = async (key: string, subject: Subject, queue: Queue): Promise<void> => {
    while (queue.waiting.length > 0) {
      const began = clock?.now() ?? 0
      const { senders, arrival } = await take(subject, queue)
      if (clock && senders > 1) await Promise.race([arrival, clock.sleep(gatheringFor(clock.now() - began))])
    }
    queues.delete(key)
  }

  return (subject, change, deadline) =>
    new Promise((resolve, reject) => {
      const key = subjectName(subject)
      const known = queues.get(key)
      const queue = known ?? { waiting: [], arrived: () => undefined }
      const arrived = { change, deadline, resolve, reject }
      queue.waiting.push(arrived)
      queue.arrived(arrived)
      if (known) return
      queues.set(key, queue)
      void drain(key, subject, queue)
    })
}

/** Tells if a change may join a step that has begun. An observation may not: the cluster has to be read after it. */
const isJoining = ({ change }: Waiting): boolean => !change.observation

/** Tells if a change has a sender. A note comes from this process. */
const isSent = ({ change }: Waiting): boolean => change.note !== true

/** The limits of the time that the queue waits for senders. Within them, it is as long as the step took. */
const LEAST_GATHERING_MILLISECONDS = 20
const MOST_GATHERING_MILLISECONDS = 200

const gatheringFor = (took: number): number =>
  Math.min(Math.max(took, LEAST_GATHERING_MILLISECONDS), MOST_GATHERING_MILLISECONDS)

/** The number of senders of a batch. `arrival` resolves once as many events have arrived. */
type Next = { readonly senders: number; readonly arrival: Promise<void> }

const arrivalOf = (queue: Queue, senders: number): Promise<void> =>
  new Promise((resolve) => {
    let left = senders
    queue.arrived = (one) => {
      left -= isSent(one) ? 1 : 0
      if (left === 0) resolve()
    }
  })

const answer = ({ resolve, reject }: Waiting, outcome: Outcome | Error | undefined, due: Outbox): void =>
  outcome === undefined || outcome instanceof Error ? reject(outcome) : resolve({ outcome, due })

const asError = (error: unknown): Error => (error instanceof Error ? error : new Error(String(error)))
