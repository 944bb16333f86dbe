import { createBoundedMap } from '../../../platform/base/bounded-map.ts'
import { type Subject, subjectName } from '../../../platform/base/subject.ts'
import type { Memories, Memory } from '../../state/memory.ts'

/** Memories, as this process read or saved them last. */
export type KnownMemories = Memories & {
  /** Undefined if the memory was never read, did not exist, or was dropped for lack of room. */
  known(subject: Subject): Memory | undefined
}

/** Remembers the memories that were read and saved last, up to `characters` in total. */
export const withKnownMemories = (memories: Memories, characters = 4 * 1024 * 1024): KnownMemories => {
  const kept = createBoundedMap<Memory | undefined>(characters)
  const keep = (subject: Subject, memory: Memory): Memory => {
    kept.set(subjectName(subject), memory.stored && memory, sizeOf(memory))
    return memory
  }
  return {
    ...memories,
    known: (subject) => kept.get(subjectName(subject)),
    load: async (kubernetes, subject) => keep(subject, await memories.load(kubernetes, subject)),
    save: async (kubernetes, subject, memory, next) =>
      keep(subject, await memories.save(kubernetes, subject, memory, next)),
  }
}

/** The approximate size of a memory besides its texts. A missing memory counts too. */
const LEAST_SIZE = 1_024

const sizeOf = ({ stored }: Memory): number =>
  Object.values(stored?.data ?? {}).reduce((sum, text) => sum + text.length, LEAST_SIZE)
