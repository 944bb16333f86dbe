import type { Subject } from '../base/subject.ts'
import type { Features } from '../feature/combine.ts'
import type { Kubernetes } from '../kubernetes/client.ts'
import type { Memory } from '../state/memory.ts'
import type { State } from '../state/state.ts'
import type { Carried } from './attempts.ts'
import type { Change } from './change.ts'
import type { Context } from './context.ts'
import { withLostMemory } from './fold/lost-memory.ts'
import { withAuthors } from './observe/authorized-documents.ts'
import type { Observed } from './observe/cluster.ts'
import type { Prefetch } from './observe/prefetch.ts'
import type { Surroundings } from './observe/surroundings.ts'
import { dependsOnUnits, withUnits } from './observe/units.ts'

/** The observation of an attempt before its changes are folded in. */
export type Observation = {
  /** The memory as it was read. */
  readonly memory: Memory
  /** The state of it with the units that run now. */
  readonly state: State
  readonly found: Surroundings
  /** Reads each object once. */
  readonly once: Kubernetes
  readonly now: Date
}

/** Observes what peers and documents say, and the units that run. What the changes concern in the cluster is observed once they are folded in. */
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

/** Updates the units by the live pods, which decide who leads and may publish. An event about a removed pod may be lost. */
const withPodsOfNow = async (
  features: Features,
  subject: Subject,
  state: State,
  early: Promise<Observed>,
  changes: readonly Change[],
): Promise<State> => {
  const isClaimed = changes.some(({ look }) => look?.isClaim === true)
  if (!isClaimed && !dependsOnUnits(features, state)) return state
  // what cannot be observed is met again once the event is remembered
  const running = await early.then(
    (observed) => observed.running,
    () => ({}),
  )
  return withUnits(features, subject, state, running, isClaimed)
}

const LOOK_MILLISECONDS = 60
const MOST_LOOKS = 8

/**
 * Reads the memory. While somebody else is writing what this step has saved as well, to wait for that restarts fewer pods than to write it
 * again; whoever does not end may have died.
 */
export const loadMemory = async (
  { subject, features: { memories }, kubernetes, clock }: Context,
  { taken, writeToken: own }: Pick<Carried, 'taken' | 'writeToken'> = {},
): Promise<Memory> => {
  let memory = await memories.load(kubernetes, subject)
  const { writeToken } = memory.state
  const isOthers = taken !== undefined && writeToken !== undefined && writeToken !== own
  for (let looks = 0; isOthers && memory.state.writeToken === writeToken && looks < MOST_LOOKS; looks += 1) {
    await clock.sleep(LOOK_MILLISECONDS * (0.5 + clock.random()))
    memory = await memories.load(kubernetes, subject)
  }
  return memory
}
