import type { Recall } from '../../../platform/base/recall.ts'
import type { Subject } from '../../../platform/base/subject.ts'
import { type Kubernetes, readingOnce } from '../../../platform/kubernetes/client.ts'
import type { Peers } from '../../relations/peers.ts'
import { type ResolvedRelations, resolveRelations } from '../../relations/resolve-relations.ts'
import type { Memory } from '../../state/memory.ts'
import type { State } from '../../state/state.ts'
import { type Change, isAboutPods } from '../change.ts'
import type { Context } from '../context.ts'
import { type Observed, observeCluster } from './cluster.ts'
import { readSurroundings, type Surroundings } from './surroundings.ts'

/** A client that reads each object once; what it observes of what a memory desires, and what it finds of others. */
export type Prefetch = {
  readonly once: Kubernetes
  readonly early: Promise<Observed>
  readonly finding: Promise<Surroundings>
}

/** Begins to read what a memory desires something of, mostly that is desired after the changes as well, and what others say. */
export const prefetch = (
  { subject, features, kubernetes, recall }: Context,
  { stored, state }: Memory,
  changes: readonly Change[],
): Prefetch => {
  const once = readingOnce(kubernetes)
  const own = recallResolved(recall, 'own side', subject, { state, peers: new Map() })
  const early = observeCluster(features, once, subject, state, own, isAboutPods(changes))
  const finding = readSurroundings(features, once, subject, stored && state, changes)
  for (const reading of [early, finding]) reading.catch(() => undefined)
  return { once, early, finding }
}

/** The memory of an application as it is known, and the change that is to be taken. */
export type PrefetchInput = { readonly known: Memory; readonly change: Change }

/**
 * Begins to read beside the memory where that is known. The answer selects that reading for the known memory and the same change, and begins
 * another one for any other memory, or where more was told meanwhile.
 */
export const prefetchForKnown = (
  begin: (memory: Memory, changes: readonly Change[]) => Prefetch,
  ahead: PrefetchInput | undefined,
): typeof begin => {
  const begun = ahead && { ...ahead, reading: begin(ahead.known, [ahead.change]) }
  return (memory, changes) =>
    begun && changes.length === 1 && changes[0] === begun.change && isUnsaved(begun.known, memory)
      ? begun.reading
      : begin(memory, changes)
}

type Resolvable = { readonly state: State; readonly peers: Peers }

/** Resolves the relations of a state with the memories of its remote applications, or recalls what was so. */
export const recallResolved = (
  recall: Recall,
  name: 'own side' | 'both sides',
  subject: Subject,
  about: Resolvable,
): ResolvedRelations => recall(name, ({ state, peers }: Resolvable) => resolveRelations(subject, state, peers), about)

/**
 * Tells if a memory is the version that was known: nobody has saved it since, and what was read since is as new as what is read after it.
 * No other version of an object has its resourceVersion (kubernetes.io/docs/reference/using-api/api-concepts).
 */
const isUnsaved = ({ stored: known }: Memory, { stored }: Memory): boolean =>
  stored !== undefined &&
  known?.metadata.uid === stored.metadata.uid &&
  known?.metadata.resourceVersion === stored.metadata.resourceVersion
