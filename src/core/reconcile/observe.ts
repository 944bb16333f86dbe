import { Unavailable } from '../../platform/base/errors.ts'
import type { Subject } from '../../platform/base/subject.ts'
import { isVersionConflict } from '../../platform/kubernetes/api-error.ts'
import type { Kubernetes } from '../../platform/kubernetes/client.ts'
import type { Features } from '../feature/combine.ts'
import type { ResolvedRelations } from '../relations/resolve-relations.ts'
import { type Memory, savedAt } from '../state/memory.ts'
import type { State } from '../state/state.ts'
import type { StepProgress } from './attempts.ts'
import { type Change, isAboutPods } from './change.ts'
import type { Context } from './context.ts'
import { withAuthors } from './observe/authorized-documents.ts'
import { type Observed, observeCluster } from './observe/cluster.ts'
import { recoverLostMemory, withLostMemory } from './observe/lost-memory.ts'
import { type Prefetch, recallResolved } from './observe/prefetch.ts'
import type { Surroundings } from './observe/surroundings.ts'
import { dependsOnUnits, withUnits } from './observe/units.ts'

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
  const found = await withAuthors(features, authorizeAuthor, subject, changes, await finding)
  const now = new Date(clock.now())
  const lost = await withLostMemory(memory, subject, early)
  const state = await withPodsOfNow(features, subject, lost, early, changes)
  return { memory, state, found, once, now }
}

/** The folded state, with recovered content of a lost memory; its resolved relations; and the observed cluster. */
export type FoldedObservation = {
  readonly state: State
  readonly resolved: ResolvedRelations
  readonly observed: Observed
}

/** Observes the parts of the cluster that the folded state needs. If that fails, the state is saved and the problem is thrown. */
export const observeFolded = async (
  context: Context,
  { memory, found, once }: Observation,
  state: State,
  changes: readonly Change[],
): Promise<FoldedObservation> => {
  const { subject, features, recall } = context
  const resolved = recallResolved(recall, 'both sides', subject, { state, peers: found.peers })
  const observed = await observeCluster(features, once, subject, state, resolved, isAboutPods(changes)).catch(
    (error: unknown) => saveUnobserved(context, memory, state, error),
  )
  return { ...recoverLostMemory(features, memory, subject, { state, resolved }, { observed, found }), observed }
}

/** Saves a state whose cluster cannot be observed, and throws the problem. The changes are remembered, and take effect once the problem is repaired. */
const saveUnobserved = async (
  { subject, features: { memories }, kubernetes }: Context,
  memory: Memory,
  state: State,
  problem: unknown,
): Promise<never> => {
  const content = { state, labels: memory.labels }
  const isPassing = isVersionConflict(problem) || problem instanceof Unavailable
  if (!isPassing && !memories.isStored(memory, content)) await memories.save(kubernetes, subject, memory, content)
  throw problem
}

/** Updates the units from the live pods, because an event about a removed pod may be lost. Units decide on the leader, and on the right to publish. */
const withPodsOfNow = async (
  features: Features,
  subject: Subject,
  state: State,
  early: Promise<Observed>,
  changes: readonly Change[],
): Promise<State> => {
  const isClaimed = changes.some(({ look }) => look?.isClaim === true)
  if (!isClaimed && !dependsOnUnits(features, state)) return state
  // a failed observation fails again later, once the event is remembered
  const running = await early.then(
    (observed) => observed.running,
    () => ({}),
  )
  return withUnits(features, subject, state, running, isClaimed)
}

/** A step that has not ended for so long after it saved has probably died. */
const ABANDONED_MILLISECONDS = 3_000
const FIRST_LOOK_MILLISECONDS = 60
const LONGEST_LOOK_MILLISECONDS = 500
const MOST_LOOKS = 10

/**
 * Reads the memory. While another step is writing, it waits until that one ends, so that two processes do not overtake each other, and pods
 * restart once. A step that takes longer than some seconds has probably died: then its writes are fenced.
 */
export const loadMemory = async (
  { subject, features: { memories }, kubernetes, clock }: Context,
  { writeToken: own }: Pick<StepProgress, 'writeToken'> = {},
): Promise<Memory> => {
  let memory = await memories.load(kubernetes, subject)
  for (let looks = 0; looks < MOST_LOOKS && isBeingWritten(memory, own, clock.now()); looks += 1) {
    await clock.sleep(
      Math.min(FIRST_LOOK_MILLISECONDS * 1.5 ** looks, LONGEST_LOOK_MILLISECONDS) * (0.5 + clock.random()),
    )
    memory = await memories.load(kubernetes, subject)
  }
  return memory
}

const isBeingWritten = (memory: Memory, own: string | undefined, now: number): boolean => {
  const { writeToken } = memory.state
  return writeToken !== undefined && writeToken !== own && now - (savedAt(memory) ?? 0) < ABANDONED_MILLISECONDS
}
