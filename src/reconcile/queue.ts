import { breathe } from '../base/breathe.ts'
import type { Subject } from '../base/subject.ts'
import type { Change } from './remember.ts'
import type { Outcome } from './result.ts'
import type { Due, Step } from './step.ts'

/** The outcome of one change, and what others are to be told after it. */
export type Result = { outcome: Outcome; due: Due }

type Waiting = { change: Change; deadline: number; resolve(result: Result): void; reject(error: unknown): void }

/** Hands a change to a step, and answers with what became of it by the deadline, in milliseconds since the epoch. */
export type Enqueue = (subject: Subject, change: Change, deadline: number) => Promise<Result>

/**
 * One step at a time for each application; the changes that come meanwhile wait, and are taken together by the next one. What waits here
 * is not acknowledged yet: a crash loses nothing that its sender does not send again. Those whose changes were taken together send their next
 * ones at about the same time: `gather` is a moment to wait for these.
 */
export const createQueue = (step: Step, gather = async (): Promise<void> => undefined): Enqueue => {
  const queues = new Map<string, Waiting[]>()

  const take = async (subject: Subject, batch: readonly Waiting[]): Promise<void> => {
    const changes = batch.map(({ change }) => change)
    const deadline = Math.min(...batch.map((waiting) => waiting.deadline))
    const failed = (error: unknown) => ({
      outcomes: batch.map(() => asError(error)),
      due: { nudges: [], announcements: [] },
    })
    const { outcomes, due } = await step(subject, changes, deadline).catch(failed)
    const first = outcomes.findIndex((outcome) => !(outcome instanceof Error))
    for (const [index, waiting] of batch.entries()) {
      if (index > 0) await breathe()
      // what follows from a step is sent once, whichever event it was for
      answer(waiting, outcomes[index], index === first ? due : NOTHING_DUE)
    }
  }

  const drain = async (key: string, subject: Subject, waiting: Waiting[]): Promise<void> => {
    while (waiting.length > 0) {
      const batch = waiting.splice(0)
      await take(subject, batch)
      if (batch.length > 1) await gather()
    }
    queues.delete(key)
  }

  return (subject, change, deadline) =>
    new Promise((resolve, reject) => {
      const key = `${subject.namespace}/${subject.application}`
      const arrived = { change, deadline, resolve, reject }
      const waiting = queues.get(key)
      if (waiting) {
        waiting.push(arrived)
        return
      }
      const first = [arrived]
      queues.set(key, first)
      void drain(key, subject, first)
    })
}

const answer = ({ resolve, reject }: Waiting, outcome: Outcome | Error | undefined, due: Due): void =>
  outcome === undefined || outcome instanceof Error ? reject(outcome) : resolve({ outcome, due })

const NOTHING_DUE: Due = { nudges: [], announcements: [] }

const asError = (error: unknown): Error => (error instanceof Error ? error : new Error(String(error)))
