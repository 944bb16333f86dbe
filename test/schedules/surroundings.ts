import type { Sink } from './process.ts'
import type { Random } from './random.ts'

/** What surrounds the steps of a history. */
export type Surroundings = {
  /** Whether processes take events until they are killed, several at once, and those of one application together. */
  isLasting: boolean
  /** A process that is its own sink lasts. */
  sink: Sink
}

/** One process for each event, and a sink that takes what it is sent. */
export const PLAIN: Surroundings = { isLasting: false, sink: 'prompt' }

/** Half of all histories are plain, so that small races stay small. */
export const createSurroundings = (random: Random): Surroundings => {
  if (random.chance(0.5)) return PLAIN
  const sink = random.pick(['prompt', 'called', 'own'] as const)
  return { isLasting: sink === 'own' || random.chance(0.7), sink }
}
