import type { Clock } from '../../platform/base/clock.ts'
import { Unavailable } from '../../platform/base/errors.ts'
import { type Subject, subjectName } from '../../platform/base/subject.ts'
import { type Memory, savedAt } from '../state/memory.ts'
import type { State } from '../state/state.ts'
import type { Change, ChangeResult } from './change.ts'
import type { Context } from './context.ts'
import type { Drift } from './decide/drift.ts'

/** One written object: its changes, and whether it was deleted. */
export type ObjectWrite = { readonly name: string; readonly drift: readonly Drift[]; readonly isGone: boolean }

/** Another writer was faster. `cause` is the API server's answer, if there was one. */
export type Overtaken = { readonly cause?: unknown }

/** The part of an attempt that outlives it when another writer was faster: its changes, and everything written for them. */
export type StepProgress = {
  readonly changes: readonly Change[]
  /** The state before the first attempt. */
  readonly before: State
  /** The results of the changes, once the memory contains them. A step that starts over must not fold them in again. */
  readonly taken?: readonly ChangeResult[] | undefined
  /** Dropped data of units that did not become leader, a sentence each. */
  readonly dropped: readonly string[]
  readonly writes: readonly ObjectWrite[]
  /** The write token of the last attempt. */
  readonly writeToken?: string | undefined
  /** This step replaced another step's token. Until an attempt ends, every object that the other step could still write is fenced. */
  readonly isFencing?: boolean
  /** Other steps are writing as well. */
  readonly wasOvertaken?: boolean
}

/** The progress of one attempt. `overtaken` is set if another writer was faster. */
export type AttemptProgress = {
  readonly writes: readonly ObjectWrite[]
  /** With a write token, the memory is saved and contains the changes. */
  readonly writeToken?: string | undefined
  readonly overtaken?: Overtaken | undefined
}

/** The end of an attempt. Without `attempted`, another writer was faster. */
export type AttemptEnd<T> = {
  readonly carried: StepProgress
  readonly attempted?: T | undefined
  readonly cause?: unknown
}

/** Returns the write token of another step, or of an attempt that has not had all its answers. Their late writes are to be fenced. */
export const foreignToken = (
  { state: { writeToken } }: Memory,
  own: Pick<StepProgress, 'writeToken' | 'isFencing'>,
): string | undefined => (own.isFencing || writeToken !== own.writeToken ? writeToken : undefined)

/** The progress that the next attempt starts from. */
export const carryOn = (
  carried: StepProgress,
  { taken, dropped }: { readonly taken: readonly ChangeResult[]; readonly dropped: readonly string[] },
  { writes, writeToken, overtaken }: AttemptProgress,
  memory: Memory,
): StepProgress => ({
  ...carried,
  taken: writeToken !== undefined || overtaken === undefined ? taken : carried.taken,
  dropped: [...carried.dropped, ...dropped],
  writes: [...carried.writes, ...writes],
  ...(writeToken !== undefined && { writeToken, isFencing: foreignToken(memory, carried) !== undefined }),
})

/** A step that has not ended for so long after it saved has probably died. */
const ABANDONED_MILLISECONDS = 3_000
const FIRST_LOOK_MILLISECONDS = 60
const LONGEST_LOOK_MILLISECONDS = 500

/**
 * Reads the memory. While another step is writing, it waits until that one ends, so that two processes do not overtake each other, and pods
 * restart once. It waits some seconds at most, and not for a step that saved before that: then the writes of that one are fenced.
 */
export const loadMemory = async (
  { subject, features: { memories }, kubernetes, clock }: Context,
  { writeToken: own }: Pick<StepProgress, 'writeToken'> = {},
): Promise<Memory> => {
  const began = clock.now()
  const isBeingWritten = (memory: Memory): boolean => {
    const { writeToken } = memory.state
    const since = Math.min(began, savedAt(memory) ?? 0)
    return writeToken !== undefined && writeToken !== own && clock.now() - since < ABANDONED_MILLISECONDS
  }
  let memory = await memories.load(kubernetes, subject)
  for (
    let look = FIRST_LOOK_MILLISECONDS;
    isBeingWritten(memory);
    look = Math.min(1.5 * look, LONGEST_LOOK_MILLISECONDS)
  ) {
    await clock.sleep(look * (0.5 + clock.random()))
    memory = await memories.load(kubernetes, subject)
  }
  return memory
}

const FIRST_DELAY_MILLISECONDS = 20
const LONGEST_DELAY_MILLISECONDS = 1_000

type Attempts<T> = {
  readonly subject: Subject
  readonly clock: Pick<Clock, 'now' | 'random' | 'sleep'>
  /** In milliseconds since the epoch. */
  readonly deadline: number
  /** The first attempt of a step carries nothing. */
  attempt(carried: StepProgress | undefined): Promise<AttemptEnd<T>>
}

/** Repeats attempts until no other writer is faster. Rejects with Unavailable if that does not happen before the deadline. */
export const retryWhenOvertaken = async <T>(
  { subject, clock, deadline, attempt }: Attempts<T>,
  before?: StepProgress,
): Promise<{ readonly carried: StepProgress; readonly attempted: T }> => {
  let [carried, cause]: [StepProgress | undefined, unknown] = [before, undefined]
  for (let delay = FIRST_DELAY_MILLISECONDS; ; delay = Math.min(2 * delay, LONGEST_DELAY_MILLISECONDS)) {
    const end = await attempt(carried)
    if (end.attempted !== undefined) return { carried: end.carried, attempted: end.attempted }
    carried = { ...end.carried, wasOvertaken: true }
    cause = end.cause ?? cause
    const wait = delay * (0.5 + clock.random())
    if (clock.now() + wait >= deadline) throw everOvertaken(subject, cause)
    await clock.sleep(wait)
  }
}

const everOvertaken = (subject: Subject, cause: unknown): Unavailable => {
  const last = cause instanceof Error ? ` (${cause.message})` : ''
  return new Unavailable(`${subjectName(subject)} is being written by others as well, every race was lost${last}`, {
    cause,
  })
}
