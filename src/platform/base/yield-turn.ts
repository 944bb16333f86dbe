import { setImmediate as nextTurn } from 'node:timers/promises'

/** The limit of work between two turns of the event loop. */
const SLICE_MILLISECONDS = 20
const MOST_PIECES = 32

/**
 * Resolves at once while the current turn is short, else in a later turn, in the order of calls. Long work awaits it before each piece, so that other work
 * can run.
 */
export type YieldTurn = () => Promise<void>

type Slice = { readonly until: number; pieces: number }

/** Creates the scheduler for all work of a process. All callers in one turn share its time. */
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
      // the piece of work runs before the time is checked again
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
