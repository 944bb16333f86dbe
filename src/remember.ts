import { derived } from './derive.ts'
import { labelsOf, ownedKinds } from './desire.ts'
import { Refused } from './errors.ts'
import type { Kubernetes } from './kubernetes/client.ts'
import {
  type Content,
  FULL_BYTES,
  isInherited,
  isStored,
  loadMemory,
  type Memory,
  memoryObject,
  saveMemory,
  sizeOf,
} from './memory.ts'
import { at } from './record.ts'
import { type State, type Subject, targetsOf, withFormer } from './state.ts'

/** What an event means for the memory: a pure function of it. */
export type Fold = (state: State) => Folded

/** `stale` says why the event was overtaken, and then `state` is the one given. */
export type Folded = { state: State; stale?: string }

/**
 * An event on its way into the memory. An observation (a pod, a leader, a resync), and what another application published, which
 * is published again to whom has not heard it, is no reason to take an application over from the
 * charm library, which may well be running it still. What is only noted changes nothing that is desired.
 */
export type Change = { fold: Fold; observation: boolean; published?: boolean; note?: boolean }

/** What became of one change: why it failed, or that it is in the memory, with what there is to say of it. */
export type Taken = Error | { stale?: string | undefined; message?: string | undefined }

export type Remembered = {
  memory: Memory
  taken: readonly Taken[]
  /** Names of the objects written. */
  written: readonly string[]
  /** Nothing is left to do: no change was taken, or just a note. */
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
  if (isInherited(memory) && changes.every(({ observation, published }) => observation || published))
    return { memory, taken: changes.map(() => ({ message: LIBRARY_KEEPS_IT })), written: [], isDone: true }
  const { next, taken } = foldAll(memory, subject, changes, now)
  const isNote = changes.every(({ note }) => note === true)
  const isRefused = taken.every((one) => one instanceof Error)
  if (isRefused || isStored(memory, next)) return { memory, taken, written: [], isDone: isRefused || isNote }
  const saved = await saveMemory(kubernetes, subject, memory, next, now.getTime())
  return { memory: saved, taken, written: [memoryObject(subject)], isDone: isNote }
}

const LIBRARY_KEEPS_IT =
  'the charm library keeps the labels of this application: its first relation or config event moves it over'

/** One change after another; one that fails, or that would not fit, leaves the others as they are. */
const foldAll = (
  memory: Memory,
  subject: Subject,
  changes: readonly Change[],
  now: Date,
): { next: Content; taken: Taken[] } => {
  const aheadOf = ahead(memory, subject, now)
  let { state } = memory
  let next = aheadOf(state)
  const taken = changes.map(({ fold, observation }): Taken => {
    try {
      const { state: after, stale } = fold(state)
      const folded = derived(subject, state, after, now)
      const candidate = aheadOf(folded)
      const size = sizeOf(candidate)
      // what makes room is always taken, and what is only observed is not worth a refusal
      const isTooLarge = size > FULL_BYTES && size > sizeOf(next)
      if (isTooLarge && observation) return { message: 'the memory is full: this event is not remembered' }
      if (isTooLarge) throw new Refused(413, tooLarge(subject.application, size))
      state = folded
      next = candidate
      return { stale }
    } catch (error) {
      return error instanceof Error ? error : new Error(String(error))
    }
  })
  return { next, taken }
}

const tooLarge = (application: string, bytes: number): string =>
  `the memory of ${application} would have ${bytes} bytes, at most ${FULL_BYTES} fit into a ConfigMap: send less relation data or config`

const withOwned = (state: State): State => {
  const kinds = [...new Set([...(state.owned ?? []), ...ownedKinds(state)])].toSorted()
  return kinds.length === 0 ? state : { ...state, owned: kinds }
}

/**
 * What is written before anything is done: besides what is held, the labels that are newly desired, the places of before that are none
 * any more, and the kinds of the objects that may be made. What was desired before and is not held is somebody else's.
 */
const ahead = (memory: Memory, subject: Subject, now: Date): ((state: State) => Content) => {
  const { application } = subject
  const since = now.toISOString()
  const places = targetsOf(application, memory.state.config).map((target) => ({ ...target, since }))
  const desired = labelsOf(subject, memory.state).labels
  return (state) => {
    const added = Object.entries(labelsOf(subject, state).labels).filter(([key, value]) => at(desired, key) !== value)
    const former = [...(state.former ?? []), ...places]
    return {
      // as it will be read back: JSON has no -0 and no Infinity
      state: JSON.parse(JSON.stringify(withOwned(withFormer(state, former, targetsOf(application, state.config))))),
      labels: { ...memory.labels, ...Object.fromEntries(added) },
    }
  }
}
