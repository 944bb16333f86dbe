import { Refused } from './errors.ts'
import type { Kubernetes } from './kubernetes/client.ts'
import { desiredLabels } from './labels/desired.ts'
import { checkSize, isInherited, isStored, loadMemory, type Memory, memoryObject, saveMemory } from './memory.ts'
import { at } from './record.ts'
import { type State, type Subject, targetsOf, withFormer } from './state.ts'

/** What an event means for the memory: a pure function of it. Throws Refused for an event that cannot be taken. */
export type Fold = (state: State) => Folded

/** `stale` says why the event was overtaken, and then `state` is the one given. */
export type Folded = { state: State; stale?: string }

/**
 * An event on its way into the memory. An observation (a pod, a leader, a resync) is no reason to take an application over from the
 * charm library, which may well be running it still.
 */
export type Change = { fold: Fold; observation: boolean }

/** What became of one change: it was refused, it was overtaken, or it is in the memory. */
export type Taken = Refused | { stale?: string | undefined; message?: string | undefined }

export type Remembered = {
  memory: Memory
  taken: readonly Taken[]
  /** Names of the objects written. */
  written: readonly string[]
  /** Nothing is left to do: no change was taken. */
  isDone: boolean
}

/** Folds the changes into the memory and saves it with compare-and-swap; rejects with an error that isStale when it lost. */
export const remember = async (
  kubernetes: Kubernetes,
  subject: Subject,
  changes: readonly Change[],
  now: Date,
): Promise<Remembered> => {
  const memory = await loadMemory(kubernetes, subject)
  if (isInherited(memory) && changes.every(({ observation }) => observation))
    return { memory, taken: changes.map(() => ({ message: LIBRARY_KEEPS_IT })), written: [], isDone: true }
  const { state, taken } = foldAll(memory.state, subject.application, changes)
  if (taken.every((one) => one instanceof Refused)) return { memory, taken, written: [], isDone: true }
  const next = ahead(memory, state, subject.application, now)
  if (isStored(memory, next)) return { memory, taken, written: [], isDone: false }
  return {
    memory: await saveMemory(kubernetes, subject, memory, next),
    taken,
    written: [memoryObject(subject)],
    isDone: false,
  }
}

const LIBRARY_KEEPS_IT =
  'the charm library keeps the labels of this application: its first relation or config event moves it over'

const foldAll = (before: State, application: string, changes: readonly Change[]): { state: State; taken: Taken[] } => {
  let state = before
  const taken = changes.map(({ fold }) => {
    try {
      const folded = fold(state)
      checkSize(application, folded.state)
      state = folded.state
      return { stale: folded.stale }
    } catch (error) {
      if (error instanceof Refused) return error
      throw error
    }
  })
  return { state, taken }
}

/**
 * What is written before anything is done: besides what is held, the labels that are newly desired, and the places of before that are
 * none any more. What was desired before and is not held is somebody else's.
 */
const ahead = (memory: Memory, state: State, application: string, now: Date): Pick<Memory, 'state' | 'labels'> => {
  const since = now.toISOString()
  const before = targetsOf(application, memory.state.config).map((target) => ({ ...target, since }))
  const desiredBefore = desiredLabels(memory.state).labels
  const added = Object.entries(desiredLabels(state).labels).filter(([key, value]) => at(desiredBefore, key) !== value)
  return {
    state: withFormer(state, [...(state.former ?? []), ...before], targetsOf(application, state.config)),
    labels: { ...memory.labels, ...Object.fromEntries(added) },
  }
}
