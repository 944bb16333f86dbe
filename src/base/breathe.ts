import { setImmediate as nextTurn } from 'node:timers/promises'

/** Bounds the work between two turns of the event loop. */
const SLICE_MILLISECONDS = 20
const MOST_PIECES = 32

/** Resolves at once while the turn is young, and else in a later one: work of many pieces asks before each, so that others have a turn. */
export type Breathe = () => Promise<void>

/** Creates a breath for all work of a process: what asks in one turn shares its time. */
export const createBreathe = (
  now: () => number = () => performance.now(),
  turn: () => Promise<unknown> = nextTurn,
): Breathe => {
  let slice: { readonly until: number; pieces: number } | undefined
  const begin = () => {
    void turn().then(() => {
      slice = undefined
    })
    return { until: now() + SLICE_MILLISECONDS, pieces: 0 }
  }
  return async () => {
    for (slice ??= begin(); slice.pieces === MOST_PIECES || now() >= slice.until; slice ??= begin()) await turn()
    slice.pieces += 1
  }
}
