import type { Outcome } from './outcome.ts'
import type { Change } from './remember.ts'
import type { Subject } from './state.ts'
import type { Step } from './step.ts'

type Waiting = { change: Change; resolve(outcome: Outcome): void; reject(error: unknown): void }

/** Hands a change to a step, and answers with its outcome. */
export type Enqueue = (subject: Subject, change: Change) => Promise<Outcome>

/**
 * One step at a time for each application; the changes that come meanwhile wait, and are taken together by the next one. What waits here
 * is not acknowledged yet: a crash loses nothing that its sender does not send again.
 */
export const createQueue = (step: Step): Enqueue => {
  const queues = new Map<string, Waiting[]>()

  const drain = async (key: string, subject: Subject, waiting: Waiting[]): Promise<void> => {
    while (waiting.length > 0) {
      const batch = waiting.splice(0)
      try {
        const results = await step(
          subject,
          batch.map(({ change }) => change),
        )
        batch.forEach(({ resolve, reject }, index) => {
          const result = results[index]
          if (result === undefined || result instanceof Error) reject(result)
          else resolve(result)
        })
      } catch (error) {
        for (const { reject } of batch) reject(error)
      }
    }
    queues.delete(key)
  }

  return (subject, change) =>
    new Promise((resolve, reject) => {
      const key = `${subject.namespace}/${subject.application}`
      const waiting = queues.get(key)
      if (waiting) {
        waiting.push({ change, resolve, reject })
        return
      }
      const first = [{ change, resolve, reject }]
      queues.set(key, first)
      void drain(key, subject, first)
    })
}
