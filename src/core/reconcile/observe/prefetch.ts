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

/** A client that reads each object once, with two readings in progress: the cluster, and the surroundings. */
export type Prefetch = {
  readonly once: Kubernetes
  readonly early: Promise<Observed>
  readonly finding: Promise<Surroundings>
}

/**
 * Starts to read the surroundings, and the parts of the cluster that the memory needs. Most of these are needed after the changes as well.
 */
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

/** The known memory of an application, and the change to be taken. */
export type PrefetchInput = { readonly known: Memory; readonly change: Change }

/**
 * Starts to read in parallel with the memory, if the memory is known. The returned function selects this reading for the same memory and
 * change. For any other memory, or for more changes, it starts a new reading.
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

/** Resolves the relations of a state with the memories of its peers, or recalls an equal result. */
export const recallResolved = (
  recall: Recall,
  name: 'own side' | 'both sides',
  subject: Subject,
  about: Resolvable,
): ResolvedRelations => recall(name, ({ state, peers }: Resolvable) => resolveRelations(subject, state, peers), about)

/**
 * Tells if a memory has the known version. Then nobody has saved it since, and objects read meanwhile are as new as objects read
 * afterwards. A resourceVersion identifies one version of an object (kubernetes.io/docs/reference/using-api/api-concepts).
 */
const isUnsaved = ({ stored: known }: Memory, { stored }: Memory): boolean =>
  stored !== undefined &&
  known?.metadata.uid === stored.metadata.uid &&
  known?.metadata.resourceVersion === stored.metadata.resourceVersion
