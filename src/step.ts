import type { Clock } from './clock.ts'
import type { Environment } from './cluster/desire.ts'
import { isDue } from './derive.ts'
import { Unavailable } from './errors.ts'
import { isStale } from './kubernetes/api-error.ts'
import type { Kubernetes } from './kubernetes/client.ts'
import { loadMemory, type Memory } from './memory.ts'
import { type Outcome, outcomeOf } from './outcome.ts'
import { type Publication, publicationsDue } from './publications.ts'
import { type Change, remember } from './remember.ts'
import { type Settled, settle } from './settle.ts'
import type { Subject } from './state.ts'

export type StepDependencies = {
  /** A client whose calls end at the deadline, in milliseconds since the epoch. */
  connect(deadline: number): Kubernetes
  clock: Clock
  environment: Environment
}

/** The outcome of each change, in their order, or why it failed; and what remote applications are to be told yet. */
export type Stepped = { outcomes: readonly (Outcome | Error)[]; due: readonly Publication[] }

/**
 * Takes the changes into the memory and brings the cluster to it. Rejects with Unavailable when it is not done by the
 * deadline, in milliseconds since the epoch.
 */
export type Step = (subject: Subject, changes: readonly Change[], deadline: number) => Promise<Stepped>

/** Says nothing new: the pods that were seen may have brought a leader back, and so what waited for one is done. */
const LOOK_AGAIN: Change = { observation: true, fold: (state) => ({ state }) }

const FIRST_DELAY_MILLISECONDS = 20
const LONGEST_DELAY_MILLISECONDS = 1_000

/**
 * One reconciliation step for one application: the changes go into its memory by compare-and-swap, the cluster is brought to what the
 * memory desires, and if the memory moved meanwhile, that starts over. A step that runs to its end leaves the cluster as the
 * memory desires it; after a crash at any point, so does the next one.
 */
export const createStep =
  ({ connect, clock, environment }: StepDependencies): Step =>
  async (subject, changes, deadline) => {
    const kubernetes = connect(deadline)

    /** Starts `action` over for as long as others are faster: it answers undefined then, or rejects with an error that isStale. */
    const untilWon = async <T>(action: () => Promise<T | undefined>): Promise<T> => {
      let lost: unknown
      for (let delay = FIRST_DELAY_MILLISECONDS; ; delay = Math.min(2 * delay, LONGEST_DELAY_MILLISECONDS)) {
        const won = await action().catch((error: unknown) => {
          if (!isStale(error)) throw error
          lost = error
        })
        if (won !== undefined) return won
        const wait = delay * (0.5 + clock.random())
        if (clock.now() + wait >= deadline) throw lostRace(subject, lost)
        await clock.sleep(wait)
      }
    }

    const { memory, taken, written, isDone } = await untilWon(() =>
      remember(kubernetes, subject, changes, new Date(clock.now())),
    )
    if (isDone) return { outcomes: taken.map((one) => outcomeOf(subject, one)), due: [] }
    // The changes are in the memory from here on: starting over must not fold them in a second time.
    const names = new Set(written)
    const settleFrom = async (first: Memory): Promise<Settled> => {
      let current: Memory | undefined = first
      return await untilWon(async () => {
        const newest = current ?? (await loadMemory(kubernetes, subject))
        current = undefined
        return await settle({ kubernetes, clock, environment }, subject, newest, (name) => names.add(name))
      })
    }
    let settled = await settleFrom(memory)
    if (isDue(subject, settled.state)) {
      const again = await untilWon(() => remember(kubernetes, subject, [LOOK_AGAIN], new Date(clock.now())))
      settled = await settleFrom(again.memory)
    }
    return {
      outcomes: taken.map((one) => outcomeOf(subject, one, { ...settled, written: [...names] })),
      due: publicationsDue(subject, settled.state, environment),
    }
  }

const lostRace = ({ namespace, application }: Subject, cause: unknown): Unavailable => {
  const last = cause instanceof Error ? ` (${cause.message})` : ''
  return new Unavailable(`${namespace}/${application} is being written by others as well, every race was lost${last}`, {
    cause,
  })
}
