import { setImmediate as nextTurn } from 'node:timers/promises'

/** Bounds the work between two turns of the event loop. */
const SLICE_MILLISECONDS = 20
const MOST_PIECES = 32

/**
 * Resolves at once while the turn is young, and else in a later one, first come, first served: work of many pieces asks before each, so that
 * others have a turn.
 */
export type YieldTurn = () => Promise<void>

type Slice = { readonly until: number; pieces: number }

/** Creates the turns of all work of a process: what asks in one turn shares its time. */
export const createYieldTurn = (
  now: () => number = () => performance.now(),
  turn: () => Promise<unknown> = nextTurn,
): YieldTurn => {
  let slice: Slice | undefined
  const waiting: (() => void)[] = []
  const begin = (): Slice => {
    void turn().then(goOn)
    return { until: now() + SLICE_MILLISECONDS, pieces: 0 }
  }
  const isYoung = ({ until, pieces }: Slice): boolean => pieces < MOST_PIECES && now() < until
  const goOn = async (): Promise<void> => {
    slice = waiting.length > 0 ? begin() : undefined
    while (slice && waiting.length > 0 && isYoung(slice)) {
      slice.pieces += 1
      waiting.shift()?.()
      // its piece of work is done before the time is looked at again
      await undefined
    }
  }
  return () => {
    slice ??= begin()
    if (waiting.length > 0 || !isYoung(slice)) return new Promise((resolve) => waiting.push(resolve))
    slice.pieces += 1
    return Promise.resolve()
  }
}
