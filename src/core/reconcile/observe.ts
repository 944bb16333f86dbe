import type { Subject } from '../../platform/base/subject.ts'
import type { Kubernetes } from '../../platform/kubernetes/client.ts'
import type { Features } from '../feature/combine.ts'
import type { ResolvedRelations } from '../relations/resolve-relations.ts'
import type { Memory } from '../state/memory.ts'
import type { State } from '../state/state.ts'
import { type Change, isAboutPods } from './change.ts'
import type { Context } from './context.ts'
import { withoutRivals } from './fold/fold-documents.ts'
import { withAuthors } from './observe/authorized-documents.ts'
import { type Observed, observeCluster } from './observe/cluster.ts'
import { type Prefetch, recallResolved } from './observe/prefetch.ts'
import type { Surroundings } from './observe/surroundings.ts'
import { dependsOnUnits, withUnits } from './observe/units.ts'
import { withLostMemory } from './recover.ts'

/** The observation of an attempt before its changes are folded in. */
export type Observation = {
  /** The memory as it was read. */
  readonly memory: Memory
  /** Its state, with the units that run now. */
  readonly state: State
  readonly found: Surroundings
  /** Reads each object once. */
  readonly once: Kubernetes
  readonly now: Date
}

/** Observes peers, documents and running units. The cluster is observed for the changes after they are folded in. */
export const observe = async (
  { subject, features, clock, authorizeAuthor }: Context,
  memory: Memory,
  changes: readonly Change[],
  { once, early, finding }: Prefetch,
): Promise<Observation> => {
  const { peers, documents } = await withAuthors(features, authorizeAuthor, subject, changes, await finding)
  // one that has no effect stands in nobody's way
  const found = { peers, documents: { ...documents, found: withoutRivals(documents.found, subject, memory.state) } }
  const now = new Date(clock.now())
  const lost = await withLostMemory(memory, subject, early, peers)
  const state = await withPodsOfNow(features, subject, lost, early, changes)
  return { memory, state, found, once, now }
}

/** The folded state, its resolved relations, and the observed cluster. */
export type FoldedObservation = {
  readonly state: State
  readonly resolved: ResolvedRelations
  readonly observed: Observed
}

/** Observes the parts of the cluster that the folded state needs. */
export const observeFolded = async (
  { subject, features, recall }: Context,
  { found, once }: Observation,
  state: State,
  changes: readonly Change[],
): Promise<FoldedObservation> => {
  const resolved = recallResolved(recall, 'both sides', subject, { state, peers: found.peers })
  return {
    state,
    resolved,
    observed: await observeCluster(features, once, subject, state, resolved, isAboutPods(changes)),
  }
}

/** Updates the units from the live pods, because an event about a removed pod may be lost. Units decide on the leader, and on the right to publish. */
const withPodsOfNow = async (
  features: Features,
  subject: Subject,
  state: State,
  early: Promise<Observed>,
  changes: readonly Change[],
): Promise<State> => {
  const mayLead = changes.some(({ look }) => look?.mayLead === true)
  if (!mayLead && !dependsOnUnits(features, state)) return state
  // a failed observation fails again later, once the event is remembered
  const running = await early.then(
    (observed) => observed.running,
    () => ({}),
  )
  return withUnits(features, subject, state, running, mayLead)
}
