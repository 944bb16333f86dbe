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

type Resolvable = { readonly state: State; readonly peers: Peers }

/** Resolves the relations of a state with the memories of its peers, or recalls an equal result. */
export const recallResolved = (
  recall: Recall,
  name: 'own side' | 'both sides',
  subject: Subject,
  about: Resolvable,
): ResolvedRelations => recall(name, ({ state, peers }: Resolvable) => resolveRelations(subject, state, peers), about)
