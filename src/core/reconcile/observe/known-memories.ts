import { createBoundedMap } from '../../../platform/base/bounded-map.ts'
import { type Subject, subjectName } from '../../../platform/base/subject.ts'
import type { Memories, Memory } from '../../state/memory.ts'

/** Memories, and what they were when this process read or saved them last. */
export type KnownMemories = Memories & {
  /** Undefined where that was nothing, or long ago. */
  known(subject: Subject): Memory | undefined
}

/** Remembers the memories of the last applications, of `characters` in all, as they are read and saved. */
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

/** About what a memory takes beside its texts. Also one that is not there takes a place. */
const LEAST_SIZE = 1_024

const sizeOf = ({ stored }: Memory): number =>
  Object.values(stored?.data ?? {}).reduce((sum, text) => sum + text.length, LEAST_SIZE)
