import type { Outcome } from './outcome.ts'
import type { Publication } from './publications.ts'
import type { Change } from './remember.ts'
import type { Subject } from './state.ts'
import type { Step } from './step.ts'

/** The outcome of one change, and what remote applications are to be told after it. */
export type Result = { outcome: Outcome; due: readonly Publication[] }

type Waiting = { change: Change; deadline: number; resolve(result: Result): void; reject(error: unknown): void }

/** Hands a change to a step, and answers with what became of it by the deadline, in milliseconds since the epoch. */
export type Enqueue = (subject: Subject, change: Change, deadline: number) => Promise<Result>

/**
 * One step at a time for each application; the changes that come meanwhile wait, and are taken together by the next one. What waits here
 * is not acknowledged yet: a crash loses nothing that its sender does not send again.
 */
export const createQueue = (step: Step): Enqueue => {
  const queues = new Map<string, Waiting[]>()

  const take = async (subject: Subject, batch: readonly Waiting[]): Promise<void> => {
    const changes = batch.map(({ change }) => change)
    const deadline = Math.min(...batch.map((waiting) => waiting.deadline))
    const failed = (error: unknown) => ({ outcomes: batch.map(() => asError(error)), due: [] })
    const { outcomes, due } = await step(subject, changes, deadline).catch(failed)
    for (const [index, { resolve, reject }] of batch.entries()) {
      const outcome = outcomes[index]
      if (outcome === undefined || outcome instanceof Error) reject(outcome)
      else resolve({ outcome, due })
    }
  }

  const drain = async (key: string, subject: Subject, waiting: Waiting[]): Promise<void> => {
    while (waiting.length > 0) await take(subject, waiting.splice(0))
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

const asError = (error: unknown): Error => (error instanceof Error ? error : new Error(String(error)))
