import { createBounded } from '../base/bounded.ts'
import type { Recall } from '../base/recall.ts'
import { type Subject, subjectName } from '../base/subject.ts'
import type { Features } from '../feature/combine.ts'
import { type Kubernetes, readingOnce } from '../kubernetes/client.ts'
import { type Effective, effective } from '../relations/effective.ts'
import { listRemotes, type Peers, readPeers } from '../relations/peers.ts'
import type { Memories, Memory } from '../state/memory.ts'
import type { State } from '../state/state.ts'
import { type Observed, observeCluster } from './observed.ts'

/** A client that reads each object once, and what it observes of what a memory desires. */
export type Reading = { readonly once: Kubernetes; readonly early: Promise<Observed> }

/** Begins to read what a memory desires something of: mostly it is what is desired after the event as well. */
export const beginReading = (
  features: Features,
  kubernetes: Kubernetes,
  recall: Recall,
  subject: Subject,
  { state }: Memory,
): Reading => {
  const once = readingOnce(kubernetes)
  const own = resolve(recall, 'own side', subject, { state, peers: new Map() })
  const early = observeCluster(features, once, subject, state, own)
  early.catch(() => undefined)
  return { once, early }
}

/**
 * Begins to read beside the memory where one is known, with the memories of its remote applications. The answer selects that reading for the
 * known memory, and begins another one for any other, or where `isAlone` says that something was told meanwhile.
 */
export const readAhead = (
  begin: (memory: Memory) => Reading,
  subject: Subject,
  known: Memory | undefined,
): ((memory: Memory, isAlone: boolean) => Reading) => {
  const ahead = known && begin(known)
  if (ahead) readPeers(ahead.once, listRemotes(subject, known.state)).catch(() => undefined)
  return (memory, isAlone) => (ahead && isAlone && isUnsaved(known, memory) ? ahead : begin(memory))
}

type Resolvable = { readonly state: State; readonly peers: Peers }

/** Resolves the relations of a state with the memories of its remote applications, or recalls what was so. */
export const resolve = (
  recall: Recall,
  name: 'own side' | 'both sides',
  subject: Subject,
  about: Resolvable,
): Effective => recall(name, ({ state, peers }: Resolvable) => effective(subject, state, peers), about)

/** Memories, and what they were when this process read or saved them last. */
export type KnownMemories = Memories & {
  /** Undefined where that was nothing, or long ago. */
  known(subject: Subject): Memory | undefined
}

/** Remembers the memories of the last applications, of `characters` in all, as they are read and saved. */
export const remembering = (memories: Memories, characters = 4 * 1024 * 1024): KnownMemories => {
  const kept = createBounded<Memory | undefined>(characters)
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

const sizeOf = ({ stored }: Memory): number =>
  Object.values(stored?.data ?? {}).reduce((sum, text) => sum + text.length, 0)

/**
 * Tells if a memory is the version that was known: nobody has saved it since, and what was read since is as new as what is read after it.
 * No other version of an object has its resourceVersion (kubernetes.io/docs/reference/using-api/api-concepts).
 */
const isUnsaved = ({ stored: known }: Memory, { stored }: Memory): boolean =>
  stored !== undefined &&
  known?.metadata.uid === stored.metadata.uid &&
  known?.metadata.resourceVersion === stored.metadata.resourceVersion
